import type { Log } from '@steeple/contracts'
import type { RadioFacts } from '../stream/radio-facts.ts'
import type { DesiredRadio } from './desired-radio.ts'
import type { RunningRadio } from './running-radio.ts'

/** No start has it: what cannot be used has no fingerprint. */
const UNUSABLE = ''

/**
 * A start that must not be repeated by itself: what it is made of would fail again.
 *
 * It is over with another fingerprint, and when a person has acted: a disarm, or settings that were read anew.
 */
export class Refusal {
  readonly #log: Log
  #held: { readonly fingerprint: string; readonly reason: string } | undefined
  /** The reason of the last line on an unusable configuration: it is found again every second. */
  #told: string | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** Why nothing is started; undefined when it may be. */
  get reason(): string | undefined {
    return this.#held?.reason
  }

  /** The program refused that start, or was not what was permitted. */
  refuse(fingerprint: string, reason: string): void {
    this.#held = { fingerprint, reason }
    this.#log.error({ reason }, 'radio is not started again until a new arm or new settings')
  }

  /** No start can be made of the settings. One line per reason. */
  unusable(reason: string): void {
    this.#held = { fingerprint: UNUSABLE, reason }
    if (reason !== this.#told) this.#log.warn({ reason }, 'configuration of the radio cannot be used')
    this.#told = reason
  }

  /** The settings make that start: only its own refusal counts. */
  forgetUnless(fingerprint: string): void {
    this.#told = undefined
    if (this.#held?.fingerprint !== fingerprint) this.#held = undefined
  }

  /** It may be tried again. */
  forget(): void {
    this.#told = undefined
    this.#held = undefined
  }
}

/** Every state that a radio can be in, for metrics. */
export const RADIO_STATES = [
  'off',
  'waiting',
  'starting',
  'radio_up',
  's1_up',
  's1_down',
  'stalled',
  'stopping',
  'refused',
  'not_permitted',
] as const

/**
 * - `off`: nothing is wanted on air. `waiting`: until the next start. `refused`: not started until something changes.
 * - `radio_up`: on air, nothing heard of the core yet. `s1_up`, `s1_down`: S1, or NG of a gnb.
 * - `stalled`: it says that it is on air, and does nothing; of an external cell: nobody can say what it does.
 * - `not_permitted`: an external cell is on although it must be off.
 */
export type RadioState = (typeof RADIO_STATES)[number]

/** What the supervisor shows of itself. Times are ms of the monotonic clock. */
export interface RadioSnapshot {
  readonly state: RadioState
  readonly desired: DesiredRadio | undefined
  /** What the process that runs was started as; undefined when none runs. */
  readonly running: RunningAs | undefined
  readonly pid: number | undefined
  readonly facts: RadioFacts | undefined
  /** Why it does not run, or what is wrong with it; undefined when nothing is. */
  readonly problem: string | undefined
  /** The radio has no device any more: the last program could not open it, and none has since. */
  readonly isDeviceGone?: boolean
  /** What the running program has complained of in the last minute. */
  readonly complaints: string | undefined
  /** Why a radio of an earlier run could not be ended: it may be on air. */
  readonly leftBehind: string | undefined
  readonly restarts: number
  /** Why the one that runs was started anew, for an hour; undefined for one that was not. */
  readonly again?: string | undefined
  /** The one before was not to end. */
  readonly hasFailed?: boolean
}

/** The permitted carrier of a running process, MHz, and the profile that it is of. */
interface RunningAs {
  readonly profileId: string
  readonly isVirtual: boolean
  readonly downlinkMhz: number
}

/** What a snapshot says of the process while there is none. */
export const NOTHING_RUNS = {
  running: undefined,
  pid: undefined,
  facts: undefined,
  complaints: undefined,
} as const

/** What a snapshot says of a process besides its facts. */
export function runningOf({
  start,
  process,
}: RunningRadio): Pick<RadioSnapshot, 'running' | 'pid' | 'complaints'> {
  const { profileId, isVirtual, plan } = start
  return {
    running: { profileId, isVirtual, downlinkMhz: plan.cell.downlinkMhz },
    pid: process.pid,
    complaints: process.complaints(),
  }
}

/** The state of a running process by what it has said. S1 comes before the device is open: that is no proof of air. */
export function stateOf(facts: RadioFacts, isHalting: boolean, isStalled: boolean): RadioState {
  if (isHalting) return 'stopping'
  if (!facts.isStarted) return 'starting'
  if (isStalled) return 'stalled'
  if (facts.isConnected) return 's1_up'
  return facts.lossReason === undefined ? 'radio_up' : 's1_down'
}
