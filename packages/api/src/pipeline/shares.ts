import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { networkOf, networkScope, overLimit, plainAddress, type Request } from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'
import { ANONYMOUS } from './authenticate.ts'
import { ClientLeft } from './body-space.ts'
import { type Concern, concern } from './concern.ts'
import type { RequestContext } from './request-context.ts'

/** What one principal, or one address (of IPv6 one /64) without a credential, may use of the edge at a time. */
export interface ShareLimits {
  /** Requests that are worked for. */
  readonly running: number
  /** Requests that wait until others of theirs are done; beyond them 429. */
  readonly waiting: number
  /** Bytes of answers that are made and not read. */
  readonly unreadBytes: number
  /** The same of everybody together. */
  readonly unreadBytesInAll: number
}

/** Longest time for which requests are begun in one turn of the event loop. */
const TURN_MS = 8

interface Waiting {
  readonly context: RequestContext
  readonly begin: () => void
}

/** One principal's, or one address's. */
export interface Share {
  readonly owner: string
  running: number
  unreadBytes: number
  isReady: boolean
  readonly waiting: Waiting[]
}

/**
 * Lets requests begin: within the share of whoever asks, one asker after the other when several wait, and for no
 * longer than a few ms in one turn of the event loop, so that whatever may not wait gets its turn.
 */
export class Shares {
  readonly #limits: ShareLimits
  readonly #shares = new Map<string, Share>()
  /** Those that have somebody waiting who could begin. */
  #ready: Share[] = []
  #unreadBytes = 0
  #isFull = false
  #turnMs = 0
  #isInTurn = false
  readonly #nowMs: () => number

  constructor(limits: ShareLimits, nowMs: () => number) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  /**
   * Begins work for a request: at once (undefined), or when the promise resolves, which it also does when the request is
   * over before that. Throws `rate_limited`.
   */
  admit(context: RequestContext): Promise<void> | undefined {
    const share = this.#shareOf(context)
    context.share = share
    if (this.#ready.length === 0 && this.#mayBegin(share) && this.#hasTime(context.startedMs)) {
      share.running += 1
      context.isRunning = true
      return undefined
    }
    // While none of theirs is done, those that left are still in the queue.
    while (share.waiting[0]?.context.isOver === true) share.waiting.shift()
    if (share.waiting.length >= this.#limits.waiting) throw this.#tooMany(share)
    const { promise, resolve } = Promise.withResolvers<void>()
    share.waiting.push({ context, begin: resolve })
    context.onOver(resolve)
    this.#consider(share)
    return promise
  }

  /** The work is done; what is left to do is to send. Repeating it changes nothing. */
  done(context: RequestContext): void {
    const { share } = context
    if (share === undefined || !context.isRunning) return
    context.isRunning = false
    share.running -= 1
    this.#consider(share)
  }

  /** So many bytes of an answer were made that the client has not read. */
  owe(context: RequestContext, bytes: number): void {
    const { share } = context
    if (share === undefined) return
    context.unreadBytes += bytes
    share.unreadBytes += bytes
    this.#unreadBytes += bytes
    this.#isFull ||= this.#unreadBytes >= this.#limits.unreadBytesInAll
  }

  /** The answer was read, or nobody wants it any more. */
  leave(context: RequestContext): void {
    const { share } = context
    if (share === undefined) return
    if (context.isRunning) this.done(context)
    share.unreadBytes -= context.unreadBytes
    this.#unreadBytes -= context.unreadBytes
    context.unreadBytes = 0
    if (share.waiting.length > 0) this.#consider(share)
    else if (share.running === 0 && share.unreadBytes === 0) this.#shares.delete(share.owner)
    if (!this.#isFull || this.#unreadBytes >= this.#limits.unreadBytesInAll) return
    this.#isFull = false
    for (const other of this.#shares.values()) this.#consider(other)
  }

  #shareOf({ principal, peerAddress }: RequestContext): Share {
    const owner = principal === ANONYMOUS ? networkOf(peerAddress) : principal.id
    const known = this.#shares.get(owner)
    if (known !== undefined) return known
    const share: Share = { owner, running: 0, unreadBytes: 0, isReady: false, waiting: [] }
    this.#shares.set(owner, share)
    return share
  }

  #mayBegin(share: Share): boolean {
    const { running, unreadBytes } = this.#limits
    return share.running < running && share.unreadBytes < unreadBytes && !this.#isFull
  }

  #hasTime(nowMs: number): boolean {
    if (this.#isInTurn) return nowMs - this.#turnMs < TURN_MS
    this.#nextTurn(nowMs)
    return true
  }

  #nextTurn(nowMs: number): void {
    this.#turnMs = nowMs
    if (this.#isInTurn) return
    this.#isInTurn = true
    setImmediate(this.#turn)
  }

  #consider(share: Share): void {
    if (share.isReady || share.waiting.length === 0 || !this.#mayBegin(share)) return
    share.isReady = true
    this.#ready.push(share)
    if (!this.#isInTurn) this.#nextTurn(this.#nowMs())
  }

  readonly #turn = (): void => {
    this.#isInTurn = false
    if (this.#ready.length === 0) return
    // What was done since the last turn for others, reading them above all, is taken off this one.
    this.#nextTurn(this.#turnMs)
    this.#beginWaiting()
  }

  #beginWaiting(): void {
    // Node's ticks go on when no promise has anything left to do: all that can be done at once for this one is done.
    if (this.#beginNext()) queueMicrotask(() => process.nextTick(this.#goOn))
    else this.#turnMs = this.#nowMs()
  }

  readonly #goOn = (): void => {
    const nowMs = this.#nowMs()
    if (nowMs - this.#turnMs < TURN_MS) this.#beginWaiting()
    else this.#turnMs = nowMs
  }

  #beginNext(): boolean {
    const share = this.#ready.shift()
    if (share === undefined) return false
    share.isReady = false
    if (this.#mayBegin(share)) {
      let next = share.waiting.shift()
      while (next?.context.isOver === true) next = share.waiting.shift()
      if (next !== undefined) {
        share.running += 1
        next.context.isRunning = true
        next.begin()
      }
      this.#consider(share)
    }
    return true
  }

  #tooMany({ waiting, running }: Share): Error {
    const message = `${running + waiting.length} requests of yours are under way; wait for their answers`
    return overLimit(message, {
      name: 'requests',
      limit: this.#limits.running + this.#limits.waiting,
      resetS: 1,
      windowS: 1,
    })
  }
}

/** From where a request comes. */
interface Sender {
  /** Of the client: what the proxies say that are trusted, otherwise the other end of the connection. */
  readonly address: string
  /** The proxy at the other end of the connection, if it is one of `server.trusted_proxies`. */
  readonly proxy: Request['proxy']
}

/** Tells senders by the connection, and by `X-Forwarded-For` where `server.trusted_proxies` names its other end. */
export type SenderOf = (incoming: IncomingMessage) => Sender

/** Follows the configuration. With nobody trusted, the default, no header is looked at. */
export function createSenders(kernel: EdgeKernel): SenderOf {
  const read = () => networkScope(kernel.settings.server.trusted_proxies)
  let isAnybody = kernel.settings.server.trusted_proxies.length > 0
  let trusted = read()
  kernel.onSettings(() => {
    isAnybody = kernel.settings.server.trusted_proxies.length > 0
    trusted = read()
  })
  return ({ socket, headers }) => {
    const { remoteAddress = '' } = socket
    // A socket that listens on [::] tells an IPv4 address in its IPv6 form.
    const peer = remoteAddress.startsWith('::ffff:') ? plainAddress(remoteAddress) : remoteAddress
    if (!isAnybody || !trusted.has(peer)) return { address: peer, proxy: undefined }
    const address = clientOf(peer, listFrom(headers['x-forwarded-for']), (one) => trusted.has(one))
    return { address, proxy: { address: peer, isTls: isTlsBy(headers['x-forwarded-proto']) } }
  }
}

/**
 * The address behind a row of proxies: each has written the one that it was asked by to the end of the list, so what stands before the
 * last one that is no trusted proxy may be anybody's invention. The list ends where something is no address.
 */
export function clientOf(
  peer: string,
  list: readonly string[],
  isTrusted: (address: string) => boolean,
): string {
  let client = peer
  for (const entry of list.toReversed()) {
    const address = addressFrom(entry)
    if (address === undefined) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

/** The entries of a header, which may have been sent in several lines. */
function listFrom(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return []
  return (typeof header === 'string' ? header : header.join(',')).split(',').map((entry) => entry.trim())
}

/** Some proxies write the port too. An IPv4 address in IPv6 is told as IPv4. */
function addressFrom(entry: string): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(entry) ?? []
  const text = v6 ?? v4 ?? entry
  // Legacy forms (octal, fewer than four parts) are nobody's address.
  return isIP(text) === 0 ? undefined : plainAddress(text)
}

/** What the last proxy has written stands last. */
function isTlsBy(header: string | readonly string[] | undefined): boolean {
  return listFrom(header).at(-1)?.toLowerCase() === 'https'
}

/** Lets a request begin when it is its turn, and counts what of its answer is unread. */
export const admission: Concern = concern('admission', ['roles'], (app, { shares }) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    const { endpoint } = context
    context.onOver(() => shares.leave(context))
    const turn = endpoint === undefined || endpoint.route.urgent === true ? undefined : shares.admit(context)
    if (turn === undefined) done()
    // It may have left while it waited, or its plugin did.
    else void turn.then(() => done(context.isOver ? new ClientLeft('the client left') : undefined))
  })
  app.addHook('onSend', ({ context }, _reply, payload, done) => {
    shares.done(context)
    // Bytes are a document that all its readers share.
    if (typeof payload === 'string') shares.owe(context, payload.length)
    done()
  })
})
