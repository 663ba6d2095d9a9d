import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { Agent } from 'undici'

/** How a client connects, and what bounds it. */
export interface HttpClientOptions {
  /** Octets of the body of an answer; -1: as many as it has. */
  readonly maxBytes: number
  /** Connections to one origin; 16 when absent. */
  readonly connections?: number
  /** How long a connection without a request is kept, ms; 0: each request has a connection of its own. */
  readonly idleMs: number
  /** How long a connection may take to come about, ms; 10,000 when absent, 0: as long as the request. */
  readonly connectMs?: number
  /** How long a server may be silent while nothing is sent, ms: before its answer, and between two pieces of it. Absent: the signal says. */
  readonly silenceMs?: number
  /** Where connections go, who is believed there and as whom. */
  readonly connect?: Pick<
    ConnectionOptions,
    'ca' | 'cert' | 'checkServerIdentity' | 'key' | 'lookup' | 'rejectUnauthorized' | 'servername'
  >
}

/** One request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** What comes piece by piece is sent once, by `open`. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** It may be asked twice: it is sent once more when its connection breaks, as a kept one does whose server has gone. */
  readonly mayRepeat?: boolean
  /** Its status and headers say all: what is read of the body is dropped, and whatever becomes of it is no error. */
  readonly isBodyUnread?: boolean
}

/** What came back. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** What comes back, while it comes. */
export interface HttpOpened extends Omit<HttpAnswer, 'text'> {
  readonly body: Readable
}

/** Sends requests over connections of its own. */
export interface HttpClient {
  /**
   * Sends a request and reads its answer; no redirect is followed. Rejects with the error of the socket, of TLS or of undici, with
   * `AnswerTooLong`, or with the signal's reason.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>
  /** The same for a body that is read by the caller, to its end. */
  open(request: HttpRequest, signal: AbortSignal): Promise<HttpOpened>
  /** Ends every connection. */
  close(): void
}

/** An answer is longer than the client takes; its message says so and nothing of the request. */
export class AnswerTooLong extends Error {}

/** A kept connection that its server ended, as the request finds it that meets the end. */
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** How long a body is read that nobody looks at. */
const UNREAD_MS = 2_000

/** Makes one; `close` it. */
export function httpClient(options: HttpClientOptions): HttpClient {
  const { maxBytes, connections = 16, idleMs, connectMs = 10_000, silenceMs = 0, connect } = options
  const agent = new Agent({
    connections,
    pipelining: idleMs === 0 ? 0 : 1,
    ...(idleMs > 0 && { keepAliveTimeout: idleMs }),
    maxResponseSize: maxBytes,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    allowH2: false,
    connect: {
      minVersion: 'TLSv1.2',
      // Said here, so that no variable of the environment switches it off.
      rejectUnauthorized: true,
      // A resumed session is not checked again.
      maxCachedSessions: 0,
      timeout: connectMs,
      ...connect,
    },
  })
  const open = async (request: HttpRequest, signal: AbortSignal) => {
    const { method, url, headers = {}, body: given = null } = request
    const path = `${url.pathname}${url.search}`
    const body =
      typeof given === 'object' && given !== null && Symbol.asyncIterator in given
        ? Readable.from(given)
        : given
    const answer = await agent.request({ origin: url.origin, path, method, headers, body, signal })
    return { status: answer.statusCode, headers: answer.headers, body: answer.body }
  }
  const sent = async (request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> => {
    const { status, headers, body } = await open(request, signal)
    if (request.isBodyUnread !== true) return { status, headers, text: await body.text() }
    const dropped = body.dump({ limit: maxBytes, signal: AbortSignal.timeout(UNREAD_MS) })
    await dropped.catch(() => undefined)
    return { status, headers, text: '' }
  }
  return {
    open,
    request: async (request, signal) => {
      try {
        return await sent(request, signal).catch((error: unknown) => {
          if (request.mayRepeat !== true || !BROKEN.has(codeOf(error))) throw error
          return sent(request, signal)
        })
      } catch (cause) {
        signal.throwIfAborted()
        if (codeOf(cause) !== 'UND_ERR_RES_EXCEEDED_MAX_SIZE') throw cause
        throw new AnswerTooLong(`the answer is larger than ${maxBytes} bytes`, { cause })
      }
    },
    close: () => void agent.destroy(),
  }
}

/** Sends one request over a connection of its own, which its signal alone bounds. */
export async function requestOnce(
  options: Pick<HttpClientOptions, 'maxBytes' | 'connect'>,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const client = httpClient({ idleMs: 0, connectMs: 0, ...options })
  try {
    return await client.request(request, signal)
  } finally {
    client.close()
  }
}

/** What undici calls otherwise than the system does. */
const SYSTEM_CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'ECONNRESET',
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_HEADERS_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_BODY_TIMEOUT: 'ETIMEDOUT',
}

/** The code of an error, or of the first of several, as the system calls it: `ECONNREFUSED`; empty when it has none. */
export function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown } // checked below
  if (typeof code === 'string') return SYSTEM_CODES[code] ?? code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}
