import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ANONYMOUS } from '../pipeline/authenticate.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** An answer is looked at so often within the time that it may lie unread. */
const LOOKS = 4

/** The open connections of a listener. */
export interface Connections {
  readonly size: number
  /** A connection has come. When there are too many, another one that nobody needs is closed for it. */
  add(socket: Socket): void
  /** The connection speaks TLS from here on: requests know it by this socket. */
  secure(socket: Socket): void
  /** Ends connections whose clients read no further, from now until the returned function is called. */
  watch(): () => void
}

/**
 * The connections of a listener: at most `most`, and none on which an answer lies unread for `stallMs`.
 *
 * Strangers who hold connections cannot keep others out: room is made at the address that has most of them, by the
 * oldest without a request under way.
 */
export function createConnections(most: number, stallMs: number, queues: ConnectionQueues): Connections {
  const byAddress = new Map<string, Set<Socket>>()
  const byPeer = new Map<string, Socket>()
  const secured = new WeakMap<Socket, Socket>()
  let size = 0
  const forget = (socket: Socket, address: string, peer: string): void => {
    const own = byAddress.get(address)
    if (own?.delete(socket) !== true) return
    size -= 1
    if (own.size === 0) byAddress.delete(address)
    byPeer.delete(peer)
  }
  const makeRoom = (): void => {
    let waitingTotal: ReadonlySet<Socket> = new Set()
    for (const sockets of byAddress.values()) if (sockets.size > waitingTotal.size) waitingTotal = sockets
    let first: Socket | undefined
    for (const socket of waitingTotal) {
      first ??= socket
      if (!queues.isIdle(secured.get(socket) ?? socket)) continue
      first = socket
      break
    }
    if (first === undefined) return
    forget(first, addressOf(first), peerOf(first))
    first.destroy()
  }
  return {
    get size() {
      return size
    },
    add: (socket) => {
      if (size >= most) makeRoom()
      const [address, peer] = [addressOf(socket), peerOf(socket)]
      const own = byAddress.get(address) ?? new Set()
      byAddress.set(address, own.add(socket))
      byPeer.set(peer, socket)
      size += 1
      socket.once('close', () => forget(socket, address, peer))
    },
    secure: (socket) => {
      const plain = byPeer.get(peerOf(socket))
      if (plain !== undefined) secured.set(plain, socket)
    },
    watch: () => {
      const timer = setInterval(() => {
        for (const queue of queues.open) queue.endIfUnread(LOOKS)
      }, stallMs / LOOKS).unref()
      return () => clearInterval(timer)
    },
  }
}

function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? ''
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`
}

/** Requests of one connection that are worked for or whose answers are not read yet. */
const MOST_BEGUN = 4
/** So many more may wait before nothing more is read from the socket. */
const PAUSE_AT = 32
const RESUME_AT = 8
/** The last of so many closes the connection: one read of a socket can hold thousands. */
const MOST_WAITING = 128
/**
 * The same before anybody was admitted on the connection: who sends a credential, and who sends none. What a stranger pipelines costs
 * others their turn, and a client that was cut sends the rest on its next connection.
 */
const MOST_WAITING_UNKNOWN = 8
const MOST_WAITING_STRANGER = 1
/** Waiting requests of all connections together. */
const MOST_WAITING_IN_ALL = 8_192
/** Requests behind one that closes the connection; none of them is begun. */
const MOST_DROPPED = 64

interface Waiting {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/** Begins a request. */
export type Begin = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** Requests that wait behind others on their connections, over all connections. */
interface WaitingTotal {
  waiting: number
}

/**
 * The requests of one connection, whose answers go out in the order in which they came (RFC 9112 §9.3.2).
 *
 * A client may send any number of them without reading an answer: only a few are begun at a time, and from one that
 * has sent many nothing more is read.
 */
export class ConnectionQueue {
  /** One of its answers closes the connection: what comes behind is not begun. */
  isEnding = false
  readonly #socket: Socket
  readonly #crowd: WaitingTotal
  readonly #begin: Begin
  readonly #begun: RequestContext[] = []
  #waiting: Waiting[] = []
  #newest: IncomingMessage | undefined
  #dropped = 0
  #isPaused = false
  /** A request of this connection was somebody's. */
  #isKnown = false
  #afterwards: (() => void) | undefined
  /** How often in a row the answer that goes out first was seen unread. */
  #looks = 0
  #queuedBytes = 0

  constructor(socket: Socket, waitingTotal: WaitingTotal, begin: Begin) {
    this.#socket = socket
    this.#crowd = waitingTotal
    this.#begin = begin
    socket.once('close', () => this.#abandon())
  }

  /** A request has come: it is begun now, or when those before it are out. */
  take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Its connection closes with an answer before it: who sent it must send it again.
    if (this.isEnding) {
      this.#dropped += 1
      if (this.#dropped > MOST_DROPPED) this.#socket.destroy()
      return
    }
    // Behind a request with Upgrade node reads nothing more of what came with it.
    this.isEnding = !outgoing.shouldKeepAlive || incoming.headers.upgrade !== undefined
    this.#newest = incoming
    if (this.#waiting.length === 0 && this.#begun.length < MOST_BEGUN) this.#begin(incoming, outgoing)
    else this.#keep({ incoming, outgoing })
  }

  /** The answer that goes out next closes the connection. */
  end(): void {
    this.isEnding = true
    this.#drop()
  }

  /** A request was begun. */
  enter(context: RequestContext): void {
    this.#begun.push(context)
  }

  /** Its answer is out, or nobody wants it any more. */
  leave(context: RequestContext): void {
    this.#begun.splice(this.#begun.indexOf(context), 1)
    if (context.principal !== ANONYMOUS) this.#isKnown = true
    if (this.#newest === context.incoming) this.#newest = undefined
    this.#goOn()
    if (this.#ahead === 0) this.#afterwards?.()
  }

  /** Whether no request has come after this one. */
  endsWith(context: RequestContext): boolean {
    return this.#newest === context.incoming
  }

  /** Whether nobody waits for anything here. */
  get isIdle(): boolean {
    return this.#begun.length === 0
  }

  /** Closes the connection when an answer lies unread and nothing of it has left for so many looks in a row. */
  endIfUnread(mostLooks: number): void {
    const [first] = this.#begun
    const queued = queuedBytes(this.#socket)
    const isStuck = first?.outgoing.writableEnded === true && queued === this.#queuedBytes
    this.#queuedBytes = queued
    this.#looks = isStuck ? this.#looks + 1 : 0
    if (this.#looks >= mostLooks) this.#socket.destroy()
  }

  /** Does the work once everything that came whole is answered: now, if that is so. The first work alone is done. */
  afterAnswers(work: () => void): void {
    if (this.#afterwards !== undefined) return
    this.#afterwards = work
    if (this.#ahead === 0) work()
  }

  /** Requests that came whole and are not answered. */
  get #ahead(): number {
    return this.#begun.length + this.#waiting.length - (this.#newest?.complete === false ? 1 : 0)
  }

  #keep(request: Waiting): void {
    if (this.#crowd.waiting >= MOST_WAITING_IN_ALL) {
      this.end()
      parseNoMore(this.#socket)
      this.#socket.destroy()
      return
    }
    this.#waiting.push(request)
    this.#crowd.waiting += 1
    if (this.#waiting.length >= this.#most(request.incoming) && !this.isEnding) {
      this.isEnding = true
      request.outgoing.shouldKeepAlive = false
      parseNoMore(this.#socket)
    }
    if (this.#waiting.length < PAUSE_AT || this.#isPaused) return
    this.#isPaused = true
    this.#socket.pause()
  }

  /** How many may wait. A client certificate may come with any request over TLS. */
  #most({ headers, socket }: IncomingMessage): number {
    if (this.#isKnown) return MOST_WAITING
    const mayBeKnown = headers.authorization !== undefined || 'encrypted' in socket
    return mayBeKnown ? MOST_WAITING_UNKNOWN : MOST_WAITING_STRANGER
  }

  #goOn(): void {
    while (this.#begun.length < MOST_BEGUN && !this.#socket.destroyed) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#crowd.waiting -= 1
      this.#begin(next.incoming, next.outgoing)
    }
    if (!this.#isPaused || this.#waiting.length > RESUME_AT) return
    this.#isPaused = false
    this.#socket.resume()
  }

  /** The connection is gone. Node says so to the answer that was being sent, to none of those behind it. */
  #abandon(): void {
    this.#drop()
    for (const context of [...this.#begun]) context.over()
  }

  #drop(): void {
    this.#crowd.waiting -= this.#waiting.length
    this.#waiting = []
  }
}

/**
 * Has the parser leave the rest of what it was given alone: thousands of requests that nobody begins would cost as much
 * as serving some. The answer 2 to a head is its word for "what follows is not HTTP".
 */
function parseNoMore(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming?: unknown } | null }
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => 2
}

/** Bytes that the system has not taken yet; also a part of a large piece counts as progress. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } }
  return handle?.writeQueueSize ?? socket.writableLength
}

/** The queues of connections, forgotten with them. */
export interface ConnectionQueues {
  of(socket: Socket): ConnectionQueue
  /** Whether nobody waits for anything on the connection. */
  isIdle(socket: Socket): boolean
  readonly open: ReadonlySet<ConnectionQueue>
}

/** The queues of a listener. */
export function createConnectionQueues(begin: Begin): ConnectionQueues {
  const queues = new WeakMap<Socket, ConnectionQueue>()
  const open = new Set<ConnectionQueue>()
  const waitingTotal: WaitingTotal = { waiting: 0 }
  return {
    open,
    isIdle: (socket) => queues.get(socket)?.isIdle !== false,
    of: (socket) => {
      const known = queues.get(socket)
      if (known !== undefined) return known
      const queue = new ConnectionQueue(socket, waitingTotal, begin)
      queues.set(socket, queue)
      open.add(queue)
      socket.once('close', () => open.delete(queue))
      return queue
    },
  }
}
