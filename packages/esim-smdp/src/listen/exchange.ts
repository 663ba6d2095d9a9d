import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'

/** One call as a handler gets it. */
interface ListenedCall {
  readonly octets: Uint8Array
  /** The address at the other end. */
  readonly peerAddress: string
  /** With mutual TLS: who the client is by its certificate. */
  readonly client: ListenedClient | undefined
}

export interface ListenedClient {
  /** Its whole subject, one attribute a line. */
  readonly subject: string
  /** Of the certificate, hexadecimal. */
  readonly sha256: string
  /** SHA-256 (hex) of the public key of the authority that has certified it; empty when it is not known. */
  readonly authority: string
  /** When it ends, ms since the epoch: a connection may outlive it. */
  readonly notAfterMs: number
}

/** What it answers: `body` is sent as JSON. */
interface ListenedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}
export type Handler = (call: ListenedCall) => Promise<ListenedAnswer>

/** The largest request is about 3 KiB. Facts section 7. */
const MAX_BODY = 65_536
/** What is still read of a refused request, so that its client gets to the answer: octets and ms. */
const REST_OCTETS = 262_144
const REST_MS = 2_000
const EVERY_ANSWER = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/**
 * Serves one request: `POST` to one of the paths, with a body of at most 64 KiB. Never rejects; a handler that does answers
 * 500 without a word, and `failed` is told.
 */
export async function exchange(
  handlers: ReadonlyMap<string, Handler>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  failed: (error: unknown) => void,
): Promise<void> {
  const path = (incoming.url ?? '').replace(/[?#].*$/s, '')
  const handler = handlers.get(path)
  if (handler === undefined) return refuse(incoming, outgoing, 404)
  if (incoming.method !== 'POST') return refuse(incoming, outgoing, 405)
  const octets = await bodyOf(incoming)
  if (octets === undefined) return refuse(incoming, outgoing, 413)
  if (outgoing.destroyed) return
  try {
    const answer = await handler({
      octets,
      peerAddress: incoming.socket.remoteAddress ?? '',
      client: clientOf(incoming),
    })
    send(outgoing, answer.status, answer.headers, answer.body)
  } catch (error) {
    failed(error)
    send(outgoing, 500, {}, undefined)
  }
}

/** Its octets; undefined when they are too many, or the client left before the end. */
async function bodyOf(incoming: IncomingMessage): Promise<Uint8Array | undefined> {
  if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY) return undefined
  const parts: Buffer[] = []
  let length = 0
  try {
    // Leaving the loop early must not close the connection: the answer goes out on it.
    for await (const part of incoming.iterator({ destroyOnReturn: false })) {
      // Without an encoding a request gives buffers.
      const octets = part as Buffer
      length += octets.length
      if (length > MAX_BODY) return undefined
      parts.push(octets)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(parts, length)
}

/**
 * Answers at once, and ends the connection where the request has a rest. Of that a bounded part is read before: a client that still
 * sends would otherwise find its connection reset, and not the answer.
 */
async function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number): Promise<void> {
  const allowed = status === 405 ? { allow: 'POST' } : {}
  if (incoming.complete) return send(outgoing, status, allowed, undefined)
  if (outgoing.destroyed) return
  outgoing.writeHead(status, { ...EVERY_ANSWER, ...allowed, connection: 'close', 'content-length': '0' })
  outgoing.flushHeaders()
  await passRest(incoming)
  outgoing.end()
}

async function passRest(incoming: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = setTimeout(resolve, REST_MS)
  let octets = 0
  const take = (part: Buffer): void => {
    octets += part.length
    if (octets > REST_OCTETS) resolve()
  }
  incoming.on('data', take).once('end', resolve).once('error', resolve).once('close', resolve)
  incoming.resume()
  await promise
  clearTimeout(late)
  incoming.off('data', take)
}

function send(
  outgoing: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: object | undefined,
): void {
  if (outgoing.destroyed || outgoing.headersSent) return
  const text = body === undefined ? '' : JSON.stringify(body)
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(text)) }
  outgoing.writeHead(status, { ...EVERY_ANSWER, ...headers, ...length })
  outgoing.end(text)
}

function authorityOf(socket: TLSSocket): string {
  const { issuerCertificate } = socket.getPeerCertificate(true)
  const key = issuerCertificate?.pubkey
  return key === undefined ? '' : hash('sha256', key)
}

function clientOf(incoming: IncomingMessage): ListenedCall['client'] {
  // The server is over TLS: its streams are TLS sockets.
  const socket = incoming.socket as TLSSocket
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return undefined
  const { subject, fingerprint256, validTo } = certificate
  return {
    subject: subject ?? '',
    sha256: fingerprint256.replaceAll(':', '').toLowerCase(),
    authority: authorityOf(socket),
    notAfterMs: Date.parse(validTo),
  }
}
