import type { RunningRadio } from './running-radio.ts'

/** A radio says within so long which frequency it uses, ms after it says that it is on. */
const CARRIER_BOUND_MS = 5_000
/** How long a radio may take to come up, ms: the firmware of an SDR is loaded meanwhile; a virtual one has none. */
const START_BOUND_MS = 60_000
const VIRTUAL_START_BOUND_MS = 30_000
/** A radio that does nothing for so long is shown as such, and then started again, ms. */
const STALL_SHOWN_MS = 3_000
const STALL_BOUND_MS = 10_000

/** What has to be done about a radio: nothing, another start, or no more starts. */
export type Overdue =
  | undefined
  | { readonly fault: string; readonly restart?: undefined }
  | { readonly restart: string; readonly fault?: undefined }

/** Why a radio that says that it is on air is not believed; undefined while its work goes on. */
export function stallOf(running: RunningRadio, nowMs: number): string | undefined {
  const stillMs = stillMsOf(running, nowMs)
  if (!running.process.facts().isStarted || stillMs < STALL_SHOWN_MS) return undefined
  return running.start.hasVirtualDevice && !hasMoved(running)
    ? 'no samples flow: nothing is connected to its ZeroMQ ports'
    : `it has made no progress for ${Math.floor(stillMs / 1_000)} s: it hangs, or its device gives no samples`
}

/** What a running radio should have said by now, or has said that only another start mends. */
export function overdue(running: RunningRadio, nowMs: number): Overdue {
  const { process: radio, sinceMs, start } = running
  const { startedAtMs, carrier, hasGivenUp, lossReason } = radio.facts()
  if (startedAtMs !== undefined && carrier === undefined && nowMs - startedAtMs > CARRIER_BOUND_MS) {
    return { fault: 'the radio does not say which frequency it uses' }
  }
  if (radio.isHalting) return undefined
  const boundMs = start.isVirtual ? VIRTUAL_START_BOUND_MS : START_BOUND_MS
  if (startedAtMs === undefined && nowMs - sinceMs > boundMs) {
    return { restart: `the radio did not come up within ${boundMs / 1_000} s` }
  }
  // A virtual radio may wait for its other end as long as it likes.
  const isStalled = startedAtMs !== undefined && stillMsOf(running, nowMs) >= STALL_BOUND_MS
  if (isStalled && (hasMoved(running) || !start.hasVirtualDevice))
    return { restart: stallOf(running, nowMs) ?? '' }
  return hasGivenUp ? { restart: lossReason ?? 'the radio has given up its core' } : undefined
}

/**
 * For how long it has done nothing. A gnb whose device gives no samples goes on looking for them, thousands of times a second;
 * but slots do not pass, and while its cell is active it tells when they do.
 */
function stillMsOf({ process: radio, progress, start }: RunningRadio, nowMs: number): number {
  const { isConnected, connectedAtMs = 0, startedAtMs = nowMs, tickedAtMs = 0 } = radio.facts()
  const isActive = start.command.program === 'gnb' && isConnected
  const silentMs = isActive ? nowMs - Math.max(startedAtMs, connectedAtMs, tickedAtMs) : 0
  return Math.max(progress.stillMs(nowMs), silentMs)
}

/** Whether samples have flowed since its start. */
function hasMoved({ process: radio, progress, start }: RunningRadio): boolean {
  return start.command.program === 'gnb' ? radio.facts().tickedAtMs !== undefined : progress.hasMoved
}
