import { southboundUnavailable } from '@steeple/contracts'
import { AnswerTooLong, codeOf, type HttpAnswer, httpClient } from '@steeple/http-client'

/** A field of an object; undefined when there is no such object or field. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name] // an object with that field, by the check above
}

/** A text field; empty when it is missing or none. */
export function textOf(value: unknown, name: string): string {
  const field = fieldOf(value, name)
  return typeof field === 'string' ? field : ''
}

/** One call of a network function. */
export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Absolute. Not shown in errors beyond its origin: a path can name a subscriber. */
  readonly url: string
  /** Whom a failure is put down to: `AMF`. */
  readonly peer: string
  readonly token?: string | undefined
  readonly body?: { readonly type: string; readonly text: string } | undefined
}

/** Calls network functions over HTTP/1.1, which free5GC serves beside HTTP/2. */
export interface HttpClient {
  /**
   * Throws `southbound_unavailable`, with the socket's error as its cause, when nothing usable comes back in time, and
   * the signal's reason when it fires.
   */
  call(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer>
  /** Ends every connection. */
  close(): void
}

/** Bounds of one call. */
export interface HttpLimits {
  readonly answerMs: number
  /** A list of 100,000 phones takes about 40 MB. */
  readonly bodyBytes: number
}

const DEFAULT_LIMITS: HttpLimits = { answerMs: 8_000, bodyBytes: 128 * 1024 * 1024 }
const IDLE_MS = 60_000

/** Makes a client with connections of its own; `close` it. */
export function createHttpClient(limits: Partial<HttpLimits> = {}): HttpClient {
  const { answerMs, bodyBytes } = { ...DEFAULT_LIMITS, ...limits }
  const client = httpClient({ maxBytes: bodyBytes, idleMs: IDLE_MS })

  const answered = async (call: HttpCall, url: URL, signal: AbortSignal): Promise<HttpAnswer> => {
    const ask = (at: URL): Promise<HttpAnswer> => {
      const request = { method: call.method, url: at, headers: headersOf(call), body: call.body?.text }
      // A connection may have been kept while the function restarted; every call here may be made twice.
      return client.request({ ...request, mayRepeat: true }, signal)
    }
    const answer = await ask(url)
    const { status, headers } = answer
    const next = status === 301 && call.method === 'GET' ? headers.location : undefined
    // gin sends a path with a slash too many to the one without, and nowhere else.
    const target = next === undefined ? null : URL.parse(next, url.href)
    if (target === null || target.origin !== url.origin || target.href === url.href) return answer
    return await ask(target)
  }

  return {
    call: async (call, signal) => {
      signal.throwIfAborted()
      const url = URL.parse(call.url)
      if (url === null) throw southboundUnavailable(`the URL of the ${call.peer} is none`)
      const limit = AbortSignal.timeout(answerMs)
      try {
        return await answered(call, url, AbortSignal.any([signal, limit]))
      } catch (cause) {
        signal.throwIfAborted()
        const why = limit.aborted ? `no answer within ${answerMs} ms` : reasonOf(cause)
        throw southboundUnavailable(`the ${call.peer} at ${url.origin} cannot be asked: ${why}`, { cause })
      }
    },
    close: client.close,
  }
}

function headersOf({ token, body }: HttpCall): Record<string, string> {
  return {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': body.type }),
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there (a function opens its port only once the NRF has taken it in)',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name cannot be looked up now',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
}

function reasonOf(error: unknown): string {
  if (error instanceof AnswerTooLong) return error.message
  const code = codeOf(error)
  return WORDS[code] ?? (code === '' ? 'the answer makes no sense' : code)
}
