import { isServiceError, southboundUnavailable } from '@steeple/contracts'
import { httpExchange } from '@steeple/southbound'

/** The core prints at most 512 KiB; what is longer is not its answer. */
const BODY_MAX_BYTES = 1_048_576

/** An answer. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/** How long to wait for one answer, ms. The daemon answers from its main loop, between two messages of phones. */
export const ANSWER_MS = 3_000

/**
 * Asks a daemon's own HTTP server, one connection per request (it closes each).
 *
 * `who` names it in errors. Throws `southbound_unavailable`, or the signal's reason.
 */
export async function httpGet(
  who: string,
  url: string,
  signal: AbortSignal,
  limitMs: number = ANSWER_MS,
): Promise<Answer> {
  signal.throwIfAborted()
  const limit = AbortSignal.timeout(limitMs)
  try {
    // Behind a proxy of the operator's it may be HTTPS.
    const request = { method: 'GET', url: new URL(url) }
    const { status, text } = await httpExchange(request, BODY_MAX_BYTES, AbortSignal.any([signal, limit]))
    return { status, body: text }
  } catch (error) {
    signal.throwIfAborted()
    const why = limit.aborted ? `no answer within ${limitMs} ms` : reasonOf(error)
    throw southboundUnavailable(`${who} cannot be asked: ${why}`, { cause: error })
  }
}

/** The code of a system error, or its words: neither holds anything of a subscriber. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  return 'code' in error && typeof error.code === 'string' && !isServiceError(error)
    ? error.code
    : error.message
}
