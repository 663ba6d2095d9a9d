import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { southboundUnavailable } from '@steeple/contracts'

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

/** What came back. */
export interface HttpAnswer {
  readonly status: number
  readonly text: string
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
const CONNECTIONS = 16

/** Makes a client with connections of its own; `close` it. */
export function createHttpClient(limits: Partial<HttpLimits> = {}): HttpClient {
  const { answerMs, bodyBytes } = { ...DEFAULT_LIMITS, ...limits }
  const kept = { keepAlive: true, maxSockets: CONNECTIONS }
  const plain = new HttpAgent(kept)
  const secure = new HttpsAgent(kept)

  const once = (call: HttpCall, url: URL, signal: AbortSignal, isRetry = false): Promise<IncomingMessage> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const isSecure = url.protocol === 'https:'
    const options = {
      ...urlToHttpOptions(url),
      method: call.method,
      agent: isSecure ? secure : plain,
      headers: headersOf(call),
      signal,
    }
    const sent = isSecure ? requestHttps(options) : requestHttp(options)
    sent.on('error', (error) => {
      // A connection that was kept while the function restarted; every call here may be made twice.
      const isStale = sent.reusedSocket && causeCode(error) === 'ECONNRESET' && !isRetry
      if (isStale) once(call, url, signal, true).then(resolve, reject)
      else reject(error)
    })
    sent.on('response', resolve)
    sent.end(call.body?.text)
    return promise
  }

  const answered = async (call: HttpCall, url: URL, signal: AbortSignal): Promise<HttpAnswer> => {
    const response = await once(call, url, signal)
    const text = await bodyOf(response, bodyBytes)
    const status = response.statusCode ?? 0
    const next = status === 301 && call.method === 'GET' ? response.headers.location : undefined
    // gin sends a path with a slash too many to the one without, and nowhere else.
    const target = next === undefined ? null : URL.parse(next, url.href)
    if (target === null || target.origin !== url.origin || target.href === url.href) return { status, text }
    const moved = await once(call, target, signal)
    return { status: moved.statusCode ?? 0, text: await bodyOf(moved, bodyBytes) }
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
    close: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

function headersOf({ token, body }: HttpCall): Record<string, string> {
  return {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': body.type, 'content-length': String(Buffer.byteLength(body.text)) }),
  }
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response) {
    // A response without an encoding gives buffers.
    const chunk = part as Buffer
    bytes += chunk.length
    if (bytes > maxBytes) {
      response.destroy()
      throw southboundUnavailable(`the answer is larger than ${maxBytes} bytes`)
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
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
  const code = causeCode(error)
  if (code === southboundUnavailable.code && error instanceof Error) return error.message
  return WORDS[code] ?? (code === '' ? 'the answer makes no sense' : code)
}

/** The code of an error or of its cause, `ECONNREFUSED`; empty when it has none. */
export function causeCode(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown } // checked below
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? causeCode(errors[0]) : ''
}
