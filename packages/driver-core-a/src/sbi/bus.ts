import { type ClientHttp2Session, connect } from 'node:http2'
import { type H2Answer, requestOn } from './h2-request.ts'

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
