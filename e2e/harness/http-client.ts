import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type Answer, jsonRequest, type RequestOptions, type Service } from './service.ts'

export interface Heard {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** One client with one connection that it keeps. */
export interface KeepAlive {
  /** Rejects when the connection breaks; nothing is tried again. */
  send(method: string, path: string, options?: SendOptions): Promise<Heard>
  /** Reads a stream to its end. Rejects unless the server ended it in order. `onText` sees all that came so far. */
  stream(path: string, onText: (text: string) => void): Promise<Heard>
  /** How many TCP connections it has needed so far. */
  readonly connections: number
  close(): void
}

type SendOptions = Pick<RequestOptions, 'body' | 'headers'>

/** A client that sends its requests one after the other over one kept-alive connection. */
export function keepAlive(service: Service, token: string = service.adminToken): KeepAlive {
  const client = createClient(service.url, 1)
  const exchange = async (
    method: string,
    path: string,
    options: SendOptions,
    onText?: (text: string) => void,
  ): Promise<Heard> => {
    const got = await client.send({ path, ...jsonRequest(method, { token, ...options }) }, onText)
    return { status: got.status, headers: got.headers, text: got.body.toString('utf8') }
  }
  return {
    send: (method, path, options = {}) => exchange(method, path, options),
    stream: (path, onText) => exchange('GET', path, {}, onText),
    get connections() {
      return client.connections
    },
    close: client.close,
  }
}

/** A request as it goes on the wire; nothing is added but `Host`, `Connection` and the length of the body. */
export interface Sent {
  readonly method: string
  /** Path and query, already encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Buffer | string | undefined
  readonly signal?: AbortSignal
}

/** An answer, its body as bytes. */
export interface Got {
  readonly status: number
  /** Names in lower case; of repeated fields node's join. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** A client over a bounded number of kept-alive connections. */
export interface HttpClient {
  /**
   * Rejects when the connection breaks or nothing comes for a minute; nothing is tried again. An event stream is left after its
   * first piece, unless `onPiece` sees what came so far.
   */
  send(request: Sent, onPiece?: (text: string) => void): Promise<Got>
  /** How many TCP connections it has needed so far. */
  readonly connections: number
  close(): void
}

const SILENCE_LIMIT_MS = 60_000

/**
 * A client for the service at `url` with at most `most` connections, each with these options. `problemOf` tells what is wrong with
 * who answers; nothing when it is undefined.
 */
export function createClient(
  url: string,
  most: number,
  options: https.AgentOptions = {},
  problemOf: (socket: TLSSocket) => string | undefined = () => undefined,
): HttpClient {
  const { protocol, hostname, port } = new URL(url)
  const node = protocol === 'https:' ? https : http
  const agent = new node.Agent({ keepAlive: true, maxSockets: most, ...options })
  const sockets = new WeakSet<Socket>()
  let connections = 0
  return {
    send: (request, onPiece) =>
      new Promise((resolve, reject) => {
        const outgoing = node.request(
          {
            agent,
            hostname,
            port,
            method: request.method,
            path: request.path,
            headers: { ...request.headers, ...lengthOf(request) } as Record<string, string>,
            setDefaultHeaders: true,
            ...(request.signal && { signal: request.signal }),
          },
          (incoming) => receive(incoming, onPiece, resolve, reject),
        )
        outgoing.on('socket', (socket) => {
          if (sockets.has(socket)) return
          connections += 1
          sockets.add(socket)
          if (!(socket instanceof TLSSocket)) return
          socket.once('secureConnect', () => {
            const problem = problemOf(socket)
            if (problem !== undefined) outgoing.destroy(new Error(problem))
          })
        })
        outgoing.setTimeout(SILENCE_LIMIT_MS, () => outgoing.destroy(new Error('no answer in time')))
        outgoing.on('error', reject)
        outgoing.end(request.body)
      }),
    get connections() {
      return connections
    },
    close: () => agent.destroy(),
  }
}

/** An answer with its body parsed when it is JSON. */
export function answerOf({ status, headers, body }: Got): Answer {
  const text = body.toString('utf8')
  const isJson = headers['content-type']?.includes('json') === true && text !== ''
  return {
    status,
    headers: new Headers(headers as Record<string, string>),
    body: isJson ? JSON.parse(text) : text,
  }
}

function lengthOf({ body, headers }: Sent): Readonly<Record<string, string>> {
  if (body === undefined || 'content-length' in headers || 'transfer-encoding' in headers) return {}
  return { 'content-length': String(Buffer.byteLength(body)) }
}

function receive(
  incoming: IncomingMessage,
  onPiece: ((text: string) => void) | undefined,
  resolve: (got: Got) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  const over = (): void =>
    resolve({
      status: incoming.statusCode ?? 0,
      headers: incoming.headers as Record<string, string | undefined>,
      body: Buffer.concat(chunks),
    })
  const isLeft =
    onPiece === undefined && incoming.headers['content-type']?.startsWith('text/event-stream') === true
  incoming.on('error', (error) => {
    if (!isLeft) reject(error)
  })
  incoming.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    onPiece?.(Buffer.concat(chunks).toString('utf8'))
    if (!isLeft) return
    over()
    incoming.destroy()
  })
  incoming.on('end', () => {
    if (!incoming.complete) reject(new Error('the answer was cut off'))
    over()
  })
}
