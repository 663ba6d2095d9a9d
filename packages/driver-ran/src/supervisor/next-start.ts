import type { Backoff } from './backoff.ts'

/** How long it is told why a radio was started anew, ms. */
const AGAIN_TOLD_MS = 3_600_000

/** When a radio may be started after the one before, and why there was one before. Times are monotonic, ms. */
export class NextStart {
  readonly #backoff: Backoff
  readonly #now: () => number
  #atMs = 0
  /** Why the process before was ended, or ended by itself, while it should have gone on. */
  #again: { readonly why: string; readonly atMs: number } | undefined

  constructor(backoff: Backoff, now: () => number) {
    this.#backoff = backoff
    this.#now = now
  }

  /** How long to wait yet; not above 0 when it may be now. */
  get waitMs(): number {
    return this.#atMs - this.#now()
  }

  /** Why the radio was started anew in the last hour. */
  get again(): string | undefined {
    if (this.#again === undefined || this.#now() - this.#again.atMs > AGAIN_TOLD_MS) return undefined
    return this.#again.why
  }

  /** A person has acted: the next start waits for nothing that was before. */
  reset(): void {
    this.#backoff.reset()
    this.#atMs = 0
    this.#again = undefined
  }

  /** The radio is to be another one: it is started at once. */
  changed(why: string): void {
    this.#again = { why, atMs: this.#now() }
    this.#atMs = 0
  }

  /** The radio has failed after it was on air for `upMs`. */
  failed(why: string, upMs: number): void {
    this.#again = { why, atMs: this.#now() }
    this.#atMs = this.#now() + this.#backoff.next(upMs)
  }
}
