import {
  type Clock,
  type Log,
  type RadioProfile,
  type RanDriver,
  type TxGate,
  txNotArmed,
} from '@steeple/contracts'
import type { Launch, RadioProcess } from './radio-process.ts'

/** What the driver works with. */
export interface RanDriverOptions {
  readonly gate: TxGate
  readonly launch: Launch
  readonly clock: Clock
  readonly log: Log
}

/** The driver, and the look that brings a crashed radio back. */
export interface SupervisedRan {
  readonly driver: RanDriver
  /** Call it every `SUPERVISE_MS`. */
  supervise(signal: AbortSignal): Promise<void>
}

/** How often the radio process is looked at. */
export const SUPERVISE_MS = 1000
const FIRST_BACKOFF_MS = 1000
const LAST_BACKOFF_MS = 60_000

/**
 * Supervises one radio process.
 *
 * The gate is asked before every spawn, also when a crashed radio is brought back: it is on air half a second later.
 * Starts, stops and looks wait for each other, so there is never a second process.
 */
export function ranDriver(options: RanDriverOptions): SupervisedRan {
  const { gate, launch, clock, log } = options
  let radio: RadioProcess | undefined
  let wanted: RadioProfile | undefined
  let backoffMs = FIRST_BACKOFF_MS
  let nextTryMs = 0
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work)
    turn = result.catch(() => undefined)
    return result
  }
  const begin = async (profile: RadioProfile, signal: AbortSignal): Promise<void> => {
    await permit(gate, profile)
    signal.throwIfAborted()
    radio = await launch(profile)
    log.info({ pid: radio.pid }, 'radio started')
  }
  const end = async (): Promise<void> => {
    wanted = undefined
    const leaving = radio
    radio = undefined
    await leaving?.end()
  }
  const bringBack = async (signal: AbortSignal): Promise<void> => {
    if (wanted === undefined || radio?.isRunning() === true || clock.monotonicMs() < nextTryMs) return
    log.warn({ backoffMs }, 'radio is gone, starting it again')
    nextTryMs = clock.monotonicMs() + backoffMs
    backoffMs = Math.min(backoffMs * 2, LAST_BACKOFF_MS)
    await begin(wanted, signal)
  }
  const driver: RanDriver = {
    observe: async (signal) => {
      signal.throwIfAborted()
      const isRunning = radio?.isRunning() === true
      return {
        pid: isRunning ? radio?.pid : undefined,
        // The stand-in has no S1 or NG connection and no phones; a driver of a real radio asks it.
        isConnected: false,
        isWanted: wanted !== undefined,
        attachedUes: 0,
        mode: isRunning ? (wanted?.technology ?? 'none') : 'none',
      }
    },
    start: (profile, signal) =>
      inTurn(async () => {
        signal.throwIfAborted()
        if (radio?.isRunning() === true) await radio.end()
        await begin(profile, signal)
        wanted = profile
        backoffMs = FIRST_BACKOFF_MS
        nextTryMs = 0
      }),
    // An aborted signal does not keep a radio on the air: the process is gone within its patience either way.
    stop: () => inTurn(end),
  }
  return { driver, supervise: (signal) => inTurn(() => bringBack(signal)) }
}

/**
 * Throws `tx_not_armed` or what the gate says of the carrier. The permit comes last: with it the gate knows that something may
 * be on air, and has it stopped whatever becomes of this plugin.
 */
async function permit(gate: TxGate, profile: RadioProfile): Promise<void> {
  const { armed, profile: armedId } = await gate.state()
  if (!armed || armedId === undefined) throw txNotArmed('the radio stays off: arm TX first')
  await gate.permitCarrier({
    technology: profile.technology,
    channel: profile.channel,
    bandwidthMhz: profile.bandwidth_mhz,
    ...(profile.band === undefined ? {} : { band: profile.band }),
    ...(profile.eirp_dbm === undefined ? {} : { eirpDbm: profile.eirp_dbm }),
  })
  await gate.permit(armedId)
}
