import type { ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Log } from '@steeple/contracts'
import { callersNetwork } from '../es9/peers.ts'
import type { TlsMaterial, TlsWishes } from '../parts.ts'
import { exchange, type Handler } from './exchange.ts'

/** What a client says of itself before TLS begins: RFC 6066 §3 and §6, RFC 8422 §5.1.1. */
export interface ClientHello extends TlsWishes {
  /** IANA numbers of its signature schemes. RFC 8446 §4.2.3. */
  readonly signatures: readonly number[]
}

/** Larger than any that is sent: those with keys of lattices have 2 KiB. */
const MAX_OCTETS = 16_384
const HANDSHAKE = 22
const CLIENT_HELLO = 1

/**
 * Reads the first octets of a connection: the client's words, `more` while they are not whole, undefined for what is no
 * TLS. Never throws. RFC 8446 §4.1.2, §5.1.
 */
export function readClientHello(octets: Uint8Array): ClientHello | 'more' | undefined {
  const message = handshakeOf(Buffer.from(octets.buffer, octets.byteOffset, octets.length))
  if (!(message instanceof Uint8Array)) return message
  try {
    return parsed(message)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The first handshake message, put together from its records. */
function handshakeOf(octets: Buffer): Buffer | 'more' | undefined {
  const content = contentOf(octets)
  if (content === undefined || (content[0] ?? CLIENT_HELLO) !== CLIENT_HELLO) return undefined
  const whole = content.length < 4 ? undefined : 4 + content.readUIntBE(1, 3)
  if ((whole ?? 0) > MAX_OCTETS || octets.length > 2 * MAX_OCTETS) return undefined
  return whole === undefined || content.length < whole ? 'more' : content.subarray(4, whole)
}

/** What is in the handshake records at the beginning, as far as it has come; undefined when something else is there. */
function contentOf(octets: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at < octets.length; ) {
    // Behind the client's first words there may be others of its.
    if (octets[at] !== HANDSHAKE) return at === 0 ? undefined : Buffer.concat(parts)
    const length = at + 5 > octets.length ? undefined : octets.readUInt16BE(at + 3)
    if (length === undefined) break
    if (length === 0 || length > MAX_OCTETS) return undefined
    parts.push(octets.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return Buffer.concat(parts)
}

/** Throws `RangeError` where it ends too early. */
function parsed(message: Buffer): ClientHello {
  // Version and random, session id, cipher suites, compression.
  let at = 34
  at += 1 + message.readUInt8(at)
  at += 2 + message.readUInt16BE(at)
  at += 1 + message.readUInt8(at)
  const found = new Map<number, Buffer>()
  const end = at < message.length ? at + 2 + message.readUInt16BE(at) : at
  for (at += 2; at < end; ) {
    const length = message.readUInt16BE(at + 2)
    found.set(message.readUInt16BE(at), message.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return {
    host: hostIn(found.get(0)),
    groups: numbersIn(found.get(10)),
    signatures: numbersIn(found.get(13)),
    trustedKeys: keysIn(found.get(3)),
  }
}

function hostIn(extension: Buffer | undefined): string | undefined {
  if (extension === undefined || extension.length < 5 || extension[2] !== 0) return undefined
  return extension.toString('latin1', 5, 5 + extension.readUInt16BE(3)).toLowerCase()
}

function numbersIn(extension: Buffer | undefined): readonly number[] {
  if (extension === undefined) return []
  const numbers: number[] = []
  for (let at = 2; at + 2 <= extension.length; at += 2) numbers.push(extension.readUInt16BE(at))
  return numbers
}

/** Of the ways to name an authority the one by SHA-1 of its key alone. */
function keysIn(extension: Buffer | undefined): readonly string[] {
  if (extension === undefined) return []
  const keys: string[] = []
  for (let at = 2; at + 21 <= extension.length && extension[at] === 1; at += 21)
    keys.push(extension.toString('hex', at + 1, at + 21))
  return keys
}

/** The open connections of a listener, by network. */
interface ConnectionLimiter {
  readonly size: number
  /** A connection has come. False: it is one too many of its network, whose others are all at work, and closed. */
  admit(socket: Socket): boolean
  /** A request of the connection of that peer (`peerOf`) begins. False: it has too many under way, and should be closed. */
  begin(peer: string): boolean
  over(peer: string): void
  /** Ends all connections, or those without a request alone. */
  end(which: 'idle' | 'all'): void
}

/** Phones send a request when they have the answer to the one before. */
const MOST_UNDER_WAY = 4

/**
 * At most `most` connections, of which one network has at most `ofOne`; beyond these its own oldest one that nobody waits on
 * goes, since many phones may be behind one address. When the house is full, room is made by the network that has most, with
 * its oldest connection that nobody waits on: strangers who hold connections keep no phone out.
 */
export function createConnectionLimiter(most: number, ofOne: number): ConnectionLimiter {
  const byNetwork = new Map<string, Set<Socket>>()
  const busy = new Map<string, number>()
  const isIdle = (socket: Socket): boolean => !busy.has(peerOf(socket))
  let size = 0
  const forget = (network: string, socket: Socket): void => {
    const own = byNetwork.get(network)
    if (own?.delete(socket) !== true) return
    size -= 1
    if (own.size === 0) byNetwork.delete(network)
  }
  const end = (network: string, socket: Socket): void => {
    forget(network, socket)
    socket.destroy()
  }
  const makeRoom = (): void => {
    const [network, sockets] = [...byNetwork].toSorted(([, a], [, b]) => b.size - a.size)[0] ?? []
    if (network === undefined || sockets === undefined) return
    const first = [...sockets].find(isIdle) ?? [...sockets][0]
    if (first !== undefined) end(network, first)
  }
  return {
    get size() {
      return size
    },
    admit: (socket) => {
      const address = socket.remoteAddress ?? ''
      const network = callersNetwork(address) || address
      const own = byNetwork.get(network) ?? new Set()
      if (own.size >= ofOne) {
        const idle = [...own].find(isIdle)
        if (idle === undefined) {
          socket.destroy()
          return false
        }
        end(network, idle)
      }
      if (size >= most) makeRoom()
      byNetwork.set(network, (byNetwork.get(network) ?? new Set()).add(socket))
      size += 1
      socket.once('close', () => forget(network, socket))
      return true
    },
    begin: (peer) => {
      const now = (busy.get(peer) ?? 0) + 1
      busy.set(peer, now)
      return now <= MOST_UNDER_WAY
    },
    over: (peer) => {
      const left = (busy.get(peer) ?? 1) - 1
      if (left === 0) busy.delete(peer)
      else busy.set(peer, left)
    },
    end: (which) => {
      for (const sockets of byNetwork.values())
        for (const socket of sockets) if (which === 'all' || isIdle(socket)) socket.destroy()
    },
  }
}

/** Names a connection; the socket of the TCP connection and that of the TLS inside of it alike, while it is open. */
export function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}

export interface ListenerLimits {
  readonly connections: number
  readonly ofOneNetwork: number
  /** For the handshake, and for the head of a request, ms. */
  readonly headMs: number
  /** For a whole request, ms. */
  readonly requestMs: number
  readonly keepAliveMs: number
  /** For requests under way when it stops, ms. */
  readonly drainMs: number
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** By what the client says. Asked at each handshake, so that a renewed one is used at once. */
  material(hello: ClientHello): TlsMaterial | undefined
  /** Authorities (PEM) of clients: with them only clients with a certificate come in. */
  readonly clientCa?: string
  readonly handlers: ReadonlyMap<string, Handler>
  readonly log: Log
  readonly limits?: Partial<ListenerLimits>
}

export interface TlsListener {
  readonly port: number
  readonly connections: number
  /** Takes no more, lets requests under way end, closes everything. Idempotent. */
  stop(): Promise<void>
}

/** Some hundred phones at once, behind one address of an operator too. */
const LIMITS: ListenerLimits = {
  connections: 1_024,
  ofOneNetwork: 256,
  headMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 15_000,
  drainMs: 5_000,
}
/** ecdsa_brainpoolP256r1tls13_sha256. RFC 8734 §3. */
const BRAINPOOL_TLS13 = 0x081a
const CHECK_MS = 1_000
const HEADER_OCTETS = 8_192
/** The curve of a certificate must be among the groups, too. */
const GROUPS = 'X25519:prime256v1:secp384r1:brainpoolP256r1'

/** Listens with TLS (1.2 or later) and HTTP/1.1. Rejects with the system's error when it cannot. */
export async function listenTls(options: ListenerOptions): Promise<TlsListener> {
  const limits = { ...LIMITS, ...options.limits }
  const limiter = createConnectionLimiter(limits.connections, limits.ofOneNetwork)
  const underWay = new Set<ServerResponse>()
  let isStopping = false
  const server = createServer(
    {
      minVersion: 'TLSv1.2',
      ecdhCurve: GROUPS,
      requestCert: options.clientCa !== undefined,
      rejectUnauthorized: options.clientCa !== undefined,
      ...(options.clientCa !== undefined && { ca: options.clientCa }),
      handshakeTimeout: limits.headMs,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headMs),
      maxHeaderSize: HEADER_OCTETS,
      noDelay: true,
    },
    (incoming, outgoing) => {
      const { socket } = incoming
      const peer = peerOf(socket)
      underWay.add(outgoing)
      if (isStopping) outgoing.shouldKeepAlive = false
      outgoing.once('close', () => {
        underWay.delete(outgoing)
        limiter.over(peer)
        if (isStopping) socket.destroySoon()
      })
      if (!limiter.begin(peer)) {
        socket.destroy()
        return
      }
      exchange(options.handlers, incoming, outgoing, (error) => {
        options.log.error({ err: String(error) }, 'request of the eSIM listener failed')
      }).catch(() => socket.destroy())
    },
  )
  // Nothing moves on it: neither more of a request nor anybody who reads the answer.
  server.setTimeout(2 * limits.requestMs)
  chooseByHello(server, options, limiter, limits.headMs)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, resolve)
  })
  let stopped: Promise<void> | undefined
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return limiter.size
    },
    stop: () => {
      isStopping = true
      for (const outgoing of underWay) outgoing.shouldKeepAlive = false
      stopped ??= closed(server, limiter, limits.drainMs)
      return stopped
    },
  }
}

/**
 * Chooses the certificate by all that the client says and not by its name alone, for which node has no hook: the words are
 * read before the connection is given to TLS. The context of a server is taken when a connection is given to it, so that one
 * server serves all certificates, and setting another touches no connection that stands.
 */
function chooseByHello(
  server: Server,
  { material, clientCa, log }: ListenerOptions,
  limiter: ReturnType<typeof createConnectionLimiter>,
  withinMs: number,
): void {
  const begin = server.rawListeners('connection')
  server.removeAllListeners('connection')
  // What breaks in a handshake is the client's business, and there are many ways to do so.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  let present: TlsMaterial | undefined
  let isPresentOld = false
  const take = async (socket: Socket): Promise<void> => {
    const hello = await peekHello(socket, withinMs)
    const chosen = hello && material(hello)
    if (hello === undefined || chosen === undefined || socket.destroyed) {
      socket.destroy()
      return
    }
    const isOld = isOldOnly(chosen, hello)
    if (chosen !== present || isOld !== isPresentOld) {
      server.setSecureContext({ ...credentials(chosen, clientCa), ...(isOld && { maxVersion: 'TLSv1.2' }) })
      present = chosen
      isPresentOld = isOld
    }
    for (const listener of begin) listener.call(server, socket)
  }
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    if (!limiter.admit(socket)) return
    take(socket).catch((error: unknown) => {
      log.error({ err: String(error) }, 'connection of the eSIM listener failed')
      socket.destroy()
    })
  })
}

/**
 * Whether a client takes that certificate in TLS 1.2 alone: brainpool has schemes of its own in 1.3, which hardly a client has.
 * RFC 8734 §3.
 */
function isOldOnly({ curve }: TlsMaterial, { signatures }: ClientHello): boolean {
  return curve === 'brainpoolP256r1' && !signatures.includes(BRAINPOOL_TLS13)
}

function credentials({ cert, key }: TlsMaterial, clientCa: string | undefined): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ecdhCurve: GROUPS,
    ...(clientCa !== undefined && { ca: clientCa }),
  }
}

async function closed(
  server: Server,
  limiter: ReturnType<typeof createConnectionLimiter>,
  drainMs: number,
): Promise<void> {
  const over = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  limiter.end('idle')
  const timer = setTimeout(() => limiter.end('all'), drainMs)
  await over
  clearTimeout(timer)
}

/**
 * The first words of a client, which stay in the socket to be read again; undefined for whoever says none within the time, or
 * none of TLS. Never rejects.
 */
function peekHello(socket: Socket, withinMs: number): Promise<ClientHello | undefined> {
  return new Promise((resolve) => {
    let octets = Buffer.alloc(0)
    const over = (hello: ClientHello | undefined): void => {
      clearTimeout(timer)
      socket.removeListener('readable', look)
      socket.removeListener('close', leave)
      if (hello !== undefined) socket.unshift(octets)
      resolve(hello)
    }
    const leave = (): void => over(undefined)
    const look = (): void => {
      const part: Buffer | null = socket.read()
      if (part === null) return
      octets = Buffer.concat([octets, part])
      const hello = readClientHello(octets)
      if (hello !== 'more') over(hello)
    }
    const timer = setTimeout(leave, withinMs)
    socket.on('readable', look)
    socket.once('close', leave)
  })
}
