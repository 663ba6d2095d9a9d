import type { Log } from '@steeple/contracts'

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
