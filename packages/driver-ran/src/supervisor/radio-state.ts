import type { RadioFacts } from '../stream/radio-facts.ts'
import type { DesiredRadio } from './desired-radio.ts'

/** Every state that a radio can be in, for metrics. */
export const RADIO_STATES = [
  'off',
  'waiting',
  'starting',
  'radio_up',
  's1_up',
  's1_down',
  'stopping',
  'refused',
] as const

/**
 * - `off`: nothing is wanted on air. `waiting`: until the next start. `refused`: not started until something changes.
 * - `radio_up`: on air, nothing heard of the core yet. `s1_up`, `s1_down`: S1, or NG of a gnb.
 */
export type RadioState = (typeof RADIO_STATES)[number]

/** What the supervisor shows of itself. Times are ms of the monotonic clock. */
export interface RadioSnapshot {
  readonly state: RadioState
  readonly desired: DesiredRadio | undefined
  readonly pid: number | undefined
  readonly facts: RadioFacts | undefined
  /** Why it does not run, or what is wrong with it; undefined when nothing is. */
  readonly problem: string | undefined
  readonly restarts: number
}

/** The state of a running process by what it has said. */
export function stateOf(facts: RadioFacts, isHalting: boolean): RadioState {
  if (isHalting) return 'stopping'
  if (facts.isConnected) return 's1_up'
  if (!facts.isStarted) return 'starting'
  return facts.lossReason === undefined ? 'radio_up' : 's1_down'
}
