import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { freeOctets } from '@steeple/contracts'
import { ANONYMOUS } from '../pipeline/authenticate.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** Requests of one connection that are worked for or whose answers are not read yet. */
const MOST_BEGUN = 4
/** So many more may wait; the last of them closes the connection. */
const MOST_WAITING = 128
/**
 * The same before anybody was admitted on the connection: who sends a credential, and who sends none. What a stranger pipelines costs
 * others their turn, and a client that was cut sends the rest on its next connection.
 */
const MOST_WAITING_UNKNOWN = 8
const MOST_WAITING_STRANGER = 1
/** Waiting requests of all connections together. */
const MOST_WAITING_IN_ALL = 8_192
/** Octets of strangers that are parsed at a time, some twenty requests of the shortest: what comes behind one that closes the connection is not. */
const PIECE = 1_024
/** Less than this is not worth giving back at once. */
const SMALL_BYTES = 16_384

interface Waiting {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

type Chunk = string | Buffer

interface Written {
  readonly chunk: Chunk
  readonly encoding: BufferEncoding
}

/** What serves now; nothing while the edge closes. */
interface Live {
  readonly generation: { handle(incoming: IncomingMessage, outgoing: ServerResponse): void } | undefined
}

/** Requests of all connections together. */
interface Total {
  /** Behind others on their connections. */
  waiting: number
  begun: number
  onIdle: (() => void) | undefined
}

/**
 * A connection between its socket and node's HTTP server, which reads and writes here. The answers of its requests go out in the order
 * in which they came (RFC 9112 §9.3.2).
 *
 * A client may send any number of requests without reading an answer: few are begun at a time, and the last of those that
 * may wait closes the connection. A read of a socket can hold thousands, and node parses all that it is given: it is given a little at a time.
 */
export class Connection extends Duplex {
  readonly socket: Socket
  /** One of its answers closes the connection: what comes behind is not begun. */
  isEnding = false
  readonly #total: Total
  readonly #live: Live
  readonly #begun: RequestContext[] = []
  #waiting: Waiting[] = []
  #newest: IncomingMessage | undefined
  /** What was read and not parsed yet. */
  #unparsed: Buffer | undefined
  /** A request of this connection was somebody's. */
  #isKnown = false
  #hasAsked = false
  #afterwards: (() => void) | undefined
  #hasSaidClose = false

  constructor(socket: Socket, total: Total, live: Live) {
    super({ readableHighWaterMark: 1, decodeStrings: false })
    this.socket = socket
    this.#total = total
    this.#live = live
    socket.on('data', (octets) => {
      this.#unparsed = octets
      // Node's parser copies what it hands on, and a collection of garbage may be far.
      if (this.#parse() && octets.length > SMALL_BYTES) freeOctets(octets)
    })
    socket.on('end', () => {
      this.push(null)
      if (this.#isOver) this.resume()
    })
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
    socket.on('timeout', () => this.emit('timeout'))
  }

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress
  }

  get isTls(): boolean {
    return 'encrypted' in this.socket
  }

  /** As `net.Socket` has it; node's HTTP server asks for it. The event `timeout` follows. */
  setTimeout(ms: number): this {
    this.socket.setTimeout(ms)
    return this
  }

  /** As `net.Socket` has it: what node's HTTP server does behind the last answer. */
  destroySoon(): void {
    this.end(() => this.destroy())
  }

  /** A request has come: it is begun now, or when those before it are out. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Its connection closes with an answer before it: who sent it must send it again.
    if (this.isEnding) return
    // Behind a request with Upgrade node reads nothing more of what came with it.
    this.isEnding = !outgoing.shouldKeepAlive || incoming.headers.upgrade !== undefined
    this.#newest = incoming
    if (this.#waiting.length === 0 && this.#begun.length < MOST_BEGUN) this.#begin(incoming, outgoing)
    else this.#keep({ incoming, outgoing })
  }

  /** The answer that goes out next closes the connection. */
  endNext(): void {
    this.isEnding = true
    this.#drop()
  }

  /** A request was begun. */
  enter(context: RequestContext): void {
    this.#begun.push(context)
    this.#hasAsked = true
    this.#total.begun += 1
  }

  /** Its answer is out, or nobody wants it any more. */
  leave(context: RequestContext): void {
    this.#begun.splice(this.#begun.indexOf(context), 1)
    if (context.principal !== ANONYMOUS) this.#isKnown = true
    if (saysClose(context)) this.#hasSaidClose = true
    if (this.#newest === context.incoming) this.#newest = undefined
    this.#goOn()
    if (this.#ahead === 0) this.#afterwards?.()
    this.#total.begun -= 1
    if (this.#total.begun === 0) this.#total.onIdle?.()
  }

  /** Whether no request has come after this one. */
  endsWith(context: RequestContext): boolean {
    return this.#newest === context.incoming
  }

  /** An answer that closes the connection is out, or on its way: there is none behind it. */
  get hasSaidClose(): boolean {
    return this.#hasSaidClose || this.#begun.some(saysClose)
  }

  /** Whether nobody waits for anything here. */
  get isIdle(): boolean {
    return this.#begun.length === 0
  }

  /** Whether it has asked, and all that it asked is answered: the first request of one that is new may be on its way. */
  get isAnswered(): boolean {
    return this.#hasAsked && this.isIdle
  }

  /** Nothing has come and nothing has gone for a while: closes the connection unless an answer is still being made. */
  timedOut(): void {
    const answer = this.#begun[0]?.outgoing
    if (answer === undefined || answer.writableEnded || answer.writableNeedDrain) this.destroy()
  }

  /** Does the work once everything that came whole is answered: now, if that is so. The first work alone is done. */
  afterAnswers(work: () => void): void {
    if (this.#afterwards !== undefined) return
    this.#afterwards = work
    if (this.#ahead === 0) work()
  }

  override _read(): void {
    if (this.#parse()) this.socket.resume()
  }

  override _write(chunk: Chunk, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, encoding, done)
  }

  override _writev(chunks: readonly Written[], done: (error?: Error | null) => void): void {
    this.socket.cork()
    for (const { chunk, encoding } of chunks.slice(0, -1)) this.socket.write(chunk, encoding)
    for (const { chunk, encoding } of chunks.slice(-1)) this.socket.write(chunk, encoding, done)
    this.socket.uncork()
  }

  override _final(done: () => void): void {
    this.socket.end(done)
  }

  /** Node tells the answer that was being sent that the connection is gone, none of those behind it. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy()
    this.#unparsed = undefined
    this.#drop()
    done(error)
    for (const context of [...this.#begun]) context.over()
  }

  /** Requests that came whole and are not answered. */
  get #ahead(): number {
    return this.#begun.length + this.#waiting.length - (this.#newest?.complete === false ? 1 : 0)
  }

  /** Whether nothing that may still come is of any use: it is read, so that the client reads its answers, and parsed no more. */
  get #isOver(): boolean {
    return this.#afterwards !== undefined || (this.isEnding && this.#newest?.complete !== false)
  }

  /** Whether what comes now is of somebody who was not admitted, neither before nor with the request that it belongs to. */
  get #isOfStranger(): boolean {
    const last = this.#begun.at(-1)
    return !this.#isKnown && (last === undefined || last.incoming.complete || last.principal === ANONYMOUS)
  }

  /** Says whether all that was read is parsed, or will never be. */
  #parse(): boolean {
    while (this.#unparsed !== undefined && !this.#isOver) {
      const size = this.#isOfStranger ? PIECE : this.#unparsed.length
      const piece = this.#unparsed.subarray(0, size)
      this.#unparsed = this.#unparsed.length > size ? this.#unparsed.subarray(size) : undefined
      if (!this.push(piece)) {
        this.socket.pause()
        return false
      }
    }
    this.#unparsed = undefined
    return true
  }

  #begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { generation } = this.#live
    if (generation === undefined) this.destroy()
    else generation.handle(incoming, outgoing)
  }

  #keep(request: Waiting): void {
    if (this.#total.waiting >= MOST_WAITING_IN_ALL) {
      this.endNext()
      this.destroy()
      return
    }
    this.#waiting.push(request)
    this.#total.waiting += 1
    if (this.#waiting.length >= this.#most(request.incoming) && !this.isEnding) {
      this.isEnding = true
      request.outgoing.shouldKeepAlive = false
    }
  }

  /** How many may wait. A client certificate may come with any request over TLS. */
  #most({ headers }: IncomingMessage): number {
    if (this.#isKnown) return MOST_WAITING
    const mayBeKnown = headers.authorization !== undefined || this.isTls
    return mayBeKnown ? MOST_WAITING_UNKNOWN : MOST_WAITING_STRANGER
  }

  #goOn(): void {
    while (this.#begun.length < MOST_BEGUN && !this.destroyed) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#total.waiting -= 1
      this.#begin(next.incoming, next.outgoing)
    }
  }

  #drop(): void {
    this.#total.waiting -= this.#waiting.length
    this.#waiting = []
  }
}

function saysClose({ outgoing }: RequestContext): boolean {
  const isLast = !outgoing.shouldKeepAlive || outgoing.getHeader('connection') === 'close'
  return isLast && outgoing.headersSent
}

/** What the listeners do with a request. */
export function serveInTurn(incoming: IncomingMessage, outgoing: ServerResponse): void {
  connectionOf(incoming).serve(incoming, outgoing)
}

/** What a port has accepted; over TLS it is opened when the handshake is done. */
interface Accepted {
  readonly socket: Socket
  opened?: Connection
}

/**
 * The connections of the listeners, at most so many. Strangers who hold connections cannot keep others out: room is made at the address
 * that has most of them, by the oldest without a request under way.
 */
export class Connections {
  readonly #most: number
  readonly #live: Live
  readonly #byAddress = new Map<string, Map<string, Accepted>>()
  readonly #total: Total = { waiting: 0, begun: 0, onIdle: undefined }
  #size = 0

  constructor(most: number, live: Live) {
    this.#most = most
    this.#live = live
  }

  get size(): number {
    return this.#size
  }

  /** A connection has come. When there are too many, another one that nobody needs is closed for it. */
  accept(socket: Socket): void {
    if (this.#size >= this.#most) this.#makeRoom()
    const [address, peer] = peerOf(socket)
    const own = this.#byAddress.get(address) ?? new Map<string, Accepted>()
    this.#byAddress.set(address, own.set(peer, { socket }))
    this.#size += 1
    socket.once('close', () => this.#forget(socket, address, peer))
  }

  /** It may send requests from here on: over the socket that was accepted, or over TLS on that. */
  open(socket: Socket): Connection {
    const opened = new Connection(socket, this.#total, this.#live)
    const accepted = this.#find(socket)
    if (accepted !== undefined) accepted.opened = opened
    return opened
  }

  /** Resolves when no request is under way any more, or so many ms later. */
  async drained(withinMs: number): Promise<void> {
    if (this.#total.begun === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const bound = setTimeout(resolve, withinMs)
    this.#total.onIdle = resolve
    await promise
    clearTimeout(bound)
  }

  /** As `Connection.isAnswered`. */
  isAnswered(socket: Socket): boolean {
    return this.#find(socket)?.opened?.isAnswered !== false
  }

  #find(socket: Socket): Accepted | undefined {
    const [address, peer] = peerOf(socket)
    return this.#byAddress.get(address)?.get(peer)
  }

  #forget(socket: Socket, address: string, peer: string): void {
    const own = this.#byAddress.get(address)
    if (own?.get(peer)?.socket !== socket) return
    own.delete(peer)
    this.#size -= 1
    if (own.size === 0) this.#byAddress.delete(address)
  }

  #makeRoom(): void {
    let most: ReadonlyMap<string, Accepted> = new Map()
    for (const own of this.#byAddress.values()) if (own.size > most.size) most = own
    const all = [...most.values()]
    const { socket } = all.find(({ opened }) => opened?.isIdle !== false) ?? all[0] ?? {}
    if (socket === undefined) return
    this.#forget(socket, ...peerOf(socket))
    socket.destroy()
  }
}

/** Address, and the ports by which a connection is one of those of that address. */
function peerOf({ remoteAddress = '', remotePort, localPort }: Socket): [address: string, peer: string] {
  return [remoteAddress, `${remotePort} ${localPort}`]
}

/** The listeners have their requests of connections like this one alone. */
export function connectionOf({ socket }: IncomingMessage): Connection {
  return socket as unknown as Connection
}
