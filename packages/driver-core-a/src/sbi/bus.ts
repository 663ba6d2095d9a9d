import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2'
import { southboundUnavailable } from '@steeple/contracts'

const ANSWER_MS = 3_000
const BODY_MAX_BYTES = 1_048_576

/** A request on the service bus. */
interface H2Request {
  readonly method: 'GET' | 'POST'
  /** Can hold an IMSI: it is in no error. */
  readonly path: string
  readonly body?: string
}

export interface H2Answer {
  readonly status: number
  readonly body: string
}

/**
 * One request on the service bus: HTTP/2 in the clear with prior knowledge, on a connection of its own.
 *
 * No User-Agent is sent: one that is no type of a network function is refused. Errors hold neither path nor cause.
 * Throws `southbound_unavailable` or the signal's reason.
 */
export async function h2Request(
  who: string,
  origin: string,
  request: H2Request,
  signal: AbortSignal,
): Promise<H2Answer> {
  signal.throwIfAborted()
  const session = connect(origin)
  // A late error of a connection that is given up is nobody's any more.
  session.on('error', () => undefined)
  try {
    return await requestOn(session, who, request, signal)
  } finally {
    session.destroy()
  }
}

/** The same on a connection that is there, or is just made, whose late errors somebody else takes. */
async function requestOn(
  session: ClientHttp2Session,
  who: string,
  request: H2Request,
  signal: AbortSignal,
): Promise<H2Answer> {
  signal.throwIfAborted()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  const { promise, resolve, reject } = Promise.withResolvers<H2Answer>()
  const fail = (why: string): void => reject(southboundUnavailable(`${who} cannot be asked: ${why}`))
  const stop = (): void => fail(`no answer within ${ANSWER_MS} ms`)
  const failed = (error: NodeJS.ErrnoException): void => fail(codeOf(error))
  const closed = (): void => fail('the connection broke')
  // Not before: a stream that never was complains of itself and hides why.
  const begin = (): void => exchange(session, request, resolve, fail)
  limit.addEventListener('abort', stop, { once: true })
  session.on('error', failed)
  session.on('close', closed)
  try {
    if (session.connecting) session.on('connect', begin)
    else begin()
    return await promise
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    limit.removeEventListener('abort', stop)
    session.off('error', failed).off('close', closed).off('connect', begin)
  }
}

function exchange(
  session: ClientHttp2Session,
  request: H2Request,
  resolve: (answer: H2Answer) => void,
  fail: (why: string) => void,
): void {
  const stream = session.request(headersOf(request))
  let status = 0
  let bytes = 0
  const chunks: Buffer[] = []
  stream.on('error', (error) => fail(codeOf(error)))
  stream.on('response', (headers) => {
    status = Number(headers[constants.HTTP2_HEADER_STATUS])
  })
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) fail(`an answer of more than ${BODY_MAX_BYTES} bytes`)
    else chunks.push(chunk)
  })
  stream.on('end', () => {
    if (status > 0) resolve({ status, body: Buffer.concat(chunks).toString('utf8') })
    else fail('the connection broke')
  })
  stream.end(request.body)
}

function headersOf({ method, path, body }: H2Request): OutgoingHttpHeaders {
  return {
    [constants.HTTP2_HEADER_METHOD]: method,
    [constants.HTTP2_HEADER_PATH]: path,
    ...(body === undefined ? {} : { [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json' }),
  }
}

/** The code alone: the words can hold the path. */
function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? 'the connection broke'
}

/** The service bus of a core, for who looks again and again. */
export interface Bus {
  /** Whether the function at that origin turns: an HTTP/2 PING (RFC 9113 §6.7), which no function writes into its log. */
  isAlive(origin: string, limitMs: number, signal: AbortSignal): Promise<boolean>
  /** A GET. Throws as `h2Request` does. */
  get(who: string, origin: string, path: string, signal: AbortSignal): Promise<H2Answer>
}

/**
 * A bus whose connections are kept between looks: functions note each end of a connection, and a request for a path that
 * they do not have as an error. One that is silent once is given up, and the next look makes another.
 */
export function keptBus(retiring: AbortSignal): Bus {
  const kept = new Map<string, ClientHttp2Session>()
  const sessionTo = (origin: string): ClientHttp2Session => {
    const old = kept.get(origin)
    if (old !== undefined && !old.closed && !old.destroyed) return old
    const session = connect(origin)
    session.unref()
    // One for each request that is under way.
    session.setMaxListeners(0)
    session.on('error', () => kept.delete(origin))
    session.on('close', () => kept.delete(origin))
    kept.set(origin, session)
    return session
  }
  const giveUp = (origin: string): void => kept.get(origin)?.destroy()
  retiring.addEventListener('abort', () => {
    for (const session of kept.values()) session.destroy()
  })
  return {
    isAlive: async (origin, limitMs, signal) => {
      signal.throwIfAborted()
      const isAnswered = await pinged(
        sessionTo(origin),
        AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
      )
      signal.throwIfAborted()
      if (!isAnswered) giveUp(origin)
      return isAnswered
    },
    get: async (who, origin, path, signal) => {
      try {
        return await requestOn(sessionTo(origin), who, { method: 'GET', path }, signal)
      } catch (error) {
        giveUp(origin)
        throw error
      }
    },
  }
}

async function pinged(session: ClientHttp2Session, limit: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const fail = (): void => resolve(false)
  const ping = (): void => {
    if (session.destroyed || !session.ping((error) => resolve(error === null))) fail()
  }
  limit.addEventListener('abort', fail, { once: true })
  session.once('close', fail)
  if (session.connecting) session.once('connect', ping)
  else ping()
  try {
    return await promise
  } finally {
    limit.removeEventListener('abort', fail)
    session.off('close', fail)
    session.off('connect', ping)
  }
}
