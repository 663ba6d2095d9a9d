import {
  type Context,
  southboundUnavailable,
  type Transmitter,
  type TxGateState,
  transmitterRef,
  txGateClosed,
  untilAborted,
} from '@steeple/contracts'
import type { GateMemory, HeldTransmitter } from './gate-memory.ts'

/** Whatever can emit on this node, and what is known of it. */
export interface Transmitters {
  /** `off` only when each that was permitted, or told to stop, has itself reported that it is off. */
  state(): TxGateState['transmitter']
  /** Whether one was told to stop and has not reported that it did. */
  isAwaited(): boolean
  /** Whether all that were permitted have themselves reported that they are off for now. */
  areSilent(): boolean
  /** From now on the present provider may be on air. Throws `tx_gate_closed` when there is none: nothing could stop it. */
  permitted(): void
  /**
   * Tells all to stop, in the turn of the call: those that were permitted, wherever they are by now, and the provider of
   * now. Off the air, confirmed, when it resolves. Throws `southbound_unavailable` when that cannot be confirmed in time.
   */
  stop(): Promise<void>
  /**
   * Tells those once more that were told to stop and have not reported it, and those that were withdrawn. Before anything is
   * known of this process, all that are not permitted. Throws as `stop`; leaves alone what may be on air.
   */
  settle(): Promise<void>
}

/** How long a disarm waits for the confirmation before it answers that there is none. */
const STOP_BOUND_MS = 7_000

/**
 * The transmitters of this node. `changed` is called when their state may be another one, and not while they stop. One that was permitted is held by its own object until it has itself reported that it is
 * off: that nobody provides `ran.transmitter` any more proves nothing.
 */
export function transmittersOf(
  context: Pick<Context, 'provider'>,
  memory: GateMemory,
  changed: (state: TxGateState['transmitter']) => void = () => undefined,
  boundMs: number = STOP_BOUND_MS,
): Transmitters {
  const { held } = memory
  const isAwaited = (): boolean => [...held.values()].some(({ isToldToStop }) => isToldToStop)
  const mayComeBack = (): boolean => context.provider(transmitterRef)?.mayBeOn?.() === true
  const state = (): TxGateState['transmitter'] => {
    if (isAwaited()) return 'unconfirmed'
    if (held.size > 0) return 'on'
    if (mayComeBack()) return 'unconfirmed'
    return memory.isSilenceKnown ? 'off' : 'unconfirmed'
  }
  const tellOne = async (transmitter: Transmitter): Promise<void> => {
    const one: HeldTransmitter = held.get(transmitter) ?? { permits: 0, isToldToStop: true }
    const { permits } = one
    one.isToldToStop = true
    held.set(transmitter, one)
    const signal = AbortSignal.timeout(boundMs)
    // The stop begins in this very turn; one that ignores its signal is not waited for.
    await untilAborted(transmitter.stop(signal), signal)
    // One that was permitted again meanwhile may be on air again.
    if (one.permits === permits) held.delete(transmitter)
  }
  const tell = async (transmitters: Iterable<Transmitter>): Promise<void> => {
    const told = await Promise.allSettled([...transmitters].map(tellOne))
    const failure = told.find((each) => each.status === 'rejected')
    if (failure === undefined && held.size === 0) memory.isSilenceKnown = true
    changed(state())
    if (failure === undefined) return
    throw southboundUnavailable(
      `the transmitter may still be on air: it confirmed no stop in ${boundMs} ms (repeated every second); ` +
        'cut its power if it must be off',
      { cause: failure.reason },
    )
  }
  return {
    state,
    isAwaited,
    areSilent: () =>
      state() === 'on' && !mayComeBack() && [...held.keys()].every((one) => one.isSilent?.() === true),
    permitted: () => {
      const provider = context.provider(transmitterRef)
      if (provider === undefined) {
        throw txGateClosed(
          'TX may not go on air: no plugin provides ran.transmitter, so nothing could stop it',
        )
      }
      const one = held.get(provider) ?? { permits: 0, isToldToStop: false }
      one.permits += 1
      one.isToldToStop = false
      held.set(provider, one)
      changed(state())
    },
    stop: async () => {
      memory.stops += 1
      const provider = context.provider(transmitterRef)
      await tell(new Set([...held.keys(), ...(provider === undefined ? [] : [provider])]))
    },
    settle: async () => {
      const provider = context.provider(transmitterRef)
      const left = [...held].filter(([each, { isToldToStop }]) => isToldToStop || each !== provider)
      const isUnknown = !memory.isSilenceKnown && held.size === 0 && provider !== undefined
      if (left.length > 0) await tell(left.map(([each]) => each))
      else if (isUnknown) await tell([provider])
      else if (held.size === 0) memory.isSilenceKnown = true
    },
  }
}
