import type { RunningRadio } from './running-radio.ts'

/** A radio says within so long which frequency it uses, ms after it says that it is on. */
const CARRIER_BOUND_MS = 5_000
/** How long a radio may take to come up, ms: the firmware of an SDR is loaded meanwhile; a virtual one has none. */
const START_BOUND_MS = 60_000
const VIRTUAL_START_BOUND_MS = 15_000

/** What has to be done about a radio: nothing, another start, or no more starts. */
export type Overdue =
  | undefined
  | { readonly fault: string; readonly restart?: undefined }
  | { readonly restart: string; readonly fault?: undefined }

/** What a running radio should have said by now, or has said that only another start mends. */
export function overdue({ process: radio, sinceMs, start }: RunningRadio, nowMs: number): Overdue {
  const { startedAtMs, carrier, hasGivenUp, lossReason } = radio.facts()
  if (startedAtMs !== undefined && carrier === undefined && nowMs - startedAtMs > CARRIER_BOUND_MS) {
    return { fault: 'the radio does not say which frequency it uses' }
  }
  if (radio.isHalting) return undefined
  const boundMs = start.isVirtual ? VIRTUAL_START_BOUND_MS : START_BOUND_MS
  if (startedAtMs === undefined && nowMs - sinceMs > boundMs) {
    return { restart: `the radio did not come up within ${boundMs / 1_000} s` }
  }
  return hasGivenUp ? { restart: lossReason ?? 'the radio has given up its core' } : undefined
}
