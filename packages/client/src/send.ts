import type { Settings } from './client-options.ts'
import { attempt, type Exchange } from './exchange.ts'
import type { Problem, Result } from './types.ts'
import { backOff, wait } from './wait.ts'

/** How often an exchange may be repeated. */
export interface Repetition {
  readonly retries: number
  /** Nothing happens twice: it reads, or it has an `Idempotency-Key`; and its body is still there. */
  readonly isSafe: boolean
}

const UNAUTHENTICATED = 401
/** Too many; a proxy without its service; not now; a proxy that waited in vain. */
const PASSING: readonly number[] = [429, 502, 503, 504]
const PASSING_CODES: readonly string[] = ['connection_lost', 'no_answer_in_time', 'idempotency_in_progress']
const MS = 1_000

/** Sends until it is answered, may not be repeated, or has been often enough. Rejects for an aborted signal alone. */
export async function send<Data>(
  settings: Settings,
  exchange: Exchange<Data>,
  { retries, isSafe }: Repetition,
): Promise<Result<Data>> {
  let token = await settings.token(undefined)
  let isRenewed = false
  for (let tries = 0; ; ) {
    const result = await attempt(settings, exchange, token)
    if (result.ok) return result
    // What was refused for its token has not run.
    if (result.error.status === UNAUTHENTICATED && !isRenewed && !(exchange.body instanceof ReadableStream)) {
      isRenewed = true
      const next = await settings.token(token)
      if (next === token) return result
      token = next
      continue
    }
    const waitMs = waitFor(settings, result.error, tries)
    if (!isSafe || tries >= retries || waitMs > settings.longestWaitMs) return result
    tries += 1
    await wait(waitMs, exchange.signal)
    token = await settings.token(undefined)
  }
}

/** How long to wait before it is tried again; infinity when that would change nothing. */
function waitFor(
  { backOffMs, longestWaitMs }: Settings,
  { status, code, retryAfterS }: Problem,
  tries: number,
): number {
  if (!PASSING.includes(status) && !PASSING_CODES.includes(code)) return Number.POSITIVE_INFINITY
  const ownMs = backOff(backOffMs, tries, longestWaitMs)
  return retryAfterS === undefined ? ownMs : Math.max(ownMs, retryAfterS * MS)
}
