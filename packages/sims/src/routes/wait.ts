import {
  DURATION_PATTERN,
  type ImsiHash,
  type JsonSchema,
  msFromDuration,
  validationFailed,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'

/** How long an answer waits for phones to be off. */
export interface WaitQuery {
  readonly wait?: string
}

const MAX_WAIT_MS = 30_000

/** Schema of `wait`. */
export const WAIT_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: DURATION_PATTERN,
  maxLength: 16,
  description:
    'How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent.',
}

/** Ms to wait; 0 when nothing is waited for. Throws `validation_failed`. */
export function waitMsOf({ wait }: WaitQuery): number {
  if (wait === undefined) return 0
  const ms = msFromDuration(wait)
  if (ms !== undefined && ms <= MAX_WAIT_MS) return ms
  const message = 'must be more than zero and at most 30s'
  throw validationFailed(`/wait ${message}`, { details: [{ pointer: '/wait', message }] })
}

/** Those of many SIMs whose phones were on before they are cut off. */
export interface CutWatch {
  readonly on: ReadonlySet<string>
  /** How many of these, each of which was on, are off: once all are, or the time is over. */
  off(hashes: readonly string[]): Promise<number>
  /** Waits for nobody any more. */
  end(): void
}

/** Listens from now on, before the change, so that a quick cut is not missed. */
export function watchCuts(
  { attachedSet, detaches }: SimsParts,
  hashes: readonly string[],
  waitMs: number,
  left: AbortSignal,
): CutWatch {
  const present = attachedSet.now()?.hashes
  // Hashes, by the schema.
  const on = new Set(hashes.filter((hash) => present?.has(hash as ImsiHash) === true))
  const over = new AbortController()
  const signal = AbortSignal.any([left, over.signal])
  const cuts = new Map(
    waitMs === 0 ? [] : [...on].map((hash) => [hash, detaches.expect(hash, waitMs, signal)]),
  )
  return {
    on,
    off: async (changed) => {
      const ends = await Promise.all(changed.map((hash) => cuts.get(hash)))
      return ends.filter((how) => how === 'yes' || how === 'not_attached').length
    },
    end: () => over.abort(),
  }
}

/** Listens from now on for what the HSS is told of SIMs that are resumed. */
export function watchPushes(
  { pushes, hss }: SimsParts,
  hashes: readonly string[],
  waitMs: number,
  left: AbortSignal,
): { done(hashes: readonly string[]): Promise<void>; end(): void } {
  const over = new AbortController()
  const signal = AbortSignal.any([left, over.signal])
  const isWaiting = waitMs > 0 && hss.driver() !== undefined
  const ends = new Map(isWaiting ? hashes.map((hash) => [hash, pushes.expect(hash, waitMs, signal)]) : [])
  return {
    done: async (changed) => void (await Promise.all(changed.map((hash) => ends.get(hash)))),
    end: () => over.abort(),
  }
}
