import { type Context, southboundUnavailable, transmitterRef } from '@steeple/contracts'

/** Whatever can emit on this node, and whether it is known to be off. */
export interface Transmitters {
  /** Whether everything that can emit has confirmed that it is off since it was last allowed to be on. */
  isOff(): boolean
  /** From now on something may be on air. */
  allow(): void
  /** Off the air, confirmed, when it resolves. Throws `southbound_unavailable` when that cannot be confirmed in time. */
  stop(): Promise<void>
}

/** How long a disarm waits for the confirmation before it answers that there is none. */
const STOP_BOUND_MS = 7_000

/** The transmitters of this node: the provider of `ran.transmitter`, asked anew each time. None at all is off. */
export function transmittersOf(
  context: Pick<Context, 'maybe'>,
  boundMs: number = STOP_BOUND_MS,
): Transmitters {
  let allowances = 0
  let confirmed: number | undefined
  return {
    isOff: () => confirmed === allowances,
    allow: () => {
      allowances += 1
    },
    stop: async () => {
      const asked = allowances
      confirmed = undefined
      try {
        await bounded(boundMs, async (signal) => context.maybe(transmitterRef)?.stop(signal))
      } catch (error) {
        throw southboundUnavailable(
          `TX is disarmed, but the transmitter has not confirmed that it is off (${boundMs} ms at most): it may still ` +
            'be on air. Cut its power if it must be off now; another disarm asks it again',
          { cause: error },
        )
      }
      confirmed = asked
    },
  }
}

/** Rejects when the time is over even if the work ignores its signal. */
async function bounded(boundMs: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const signal = AbortSignal.timeout(boundMs)
  const timeout = Promise.withResolvers<never>()
  const onAbort = (): void => timeout.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work(signal), timeout.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
