import type { TransportAnswer } from './client-options.ts'
import type { ClientCode, Failure, Problem, Result } from './types.ts'

/** The longest text of another's answer that is told. */
const TOLD_CHARACTERS = 200

/**
 * The error that an answer of status 300 and above tells: of the service (`error.code`), or of what stands before it, which may speak
 * RFC 9457 (`application/problem+json`) or anything.
 */
export function problemFrom(response: TransportAnswer, text: string): Problem {
  const told = parsed(text)
  const about = {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterS: secondsFrom(response.headers.get('retry-after')),
  }
  const error = isRecord(told) ? told.error : undefined
  if (isRecord(error) && typeof error.code === 'string' && typeof error.message === 'string')
    return { ...about, code: error.code, message: error.message, details: detailsFrom(error.details) }
  const said = isRecord(told) ? (told.detail ?? told.title) : undefined
  const message = typeof said === 'string' ? said : `${response.status} ${response.statusText}`.trim()
  const code: ClientCode = 'answer_of_another'
  return { ...about, code, message: message.slice(0, TOLD_CHARACTERS), details: [] }
}

/** A failure without an answer. */
export function withoutAnswer(code: ClientCode, message: string, status = 0, cause?: unknown): Failure {
  return {
    ok: false,
    error: { code, message, details: [], status, requestId: undefined, retryAfterS: undefined, cause },
  }
}

/** The data of a result. Throws for a failure: an Error with its `message`, and the problem as `cause`. */
export function dataOf<Data>(result: Result<Data>): Data {
  if (result.ok) return result.data
  const { code, message } = result.error
  throw new Error(`${code}: ${message}`, { cause: result.error })
}

/** Seconds of a `Retry-After`, which is a number or a date. RFC 9110 §10.2.3. */
function secondsFrom(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, (atMs - Date.now()) / 1_000)
}

function detailsFrom(details: unknown): Problem['details'] {
  if (!Array.isArray(details)) return []
  return details.flatMap((one: unknown) => {
    if (!isRecord(one) || typeof one.pointer !== 'string' || typeof one.message !== 'string') return []
    const { pointer, message, rule, limit } = one
    const isSaid = typeof limit === 'number' || typeof limit === 'string'
    return [{ pointer, message, ...(typeof rule === 'string' ? { rule } : {}), ...(isSaid ? { limit } : {}) }]
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
