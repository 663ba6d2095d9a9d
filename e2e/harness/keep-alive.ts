import http, { type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Service } from './service.ts'

/** An answer, complete. */
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

/** What a request may carry besides method and path. */
export interface SendOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A client that sends its requests one after the other over one kept-alive connection. */
export function keepAlive(service: Service, token: string = service.adminToken): KeepAlive {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const sockets = new WeakSet<Socket>()
  let connections = 0

  const exchange = (
    method: string,
    path: string,
    { body, headers }: SendOptions,
    onText: (text: string) => void,
  ): Promise<Heard> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const request = http.request(
        service.url + path,
        {
          agent,
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (incoming) => receive(incoming, onText, resolve, reject),
      )
      request.on('socket', (socket) => {
        if (sockets.has(socket)) return
        sockets.add(socket)
        connections += 1
      })
      request.on('error', reject)
      request.end(text)
    })

  return {
    send: (method, path, options = {}) => exchange(method, path, options, () => undefined),
    stream: (path, onText) => exchange('GET', path, {}, onText),
    get connections() {
      return connections
    },
    close: () => agent.destroy(),
  }
}

function receive(
  incoming: IncomingMessage,
  onText: (text: string) => void,
  resolve: (heard: Heard) => void,
  reject: (error: Error) => void,
): void {
  let text = ''
  incoming.setEncoding('utf8')
  incoming.on('data', (chunk: string) => {
    text += chunk
    onText(text)
  })
  incoming.on('error', reject)
  incoming.on('end', () => {
    if (!incoming.complete) reject(new Error('the answer was cut off'))
    resolve({
      status: incoming.statusCode ?? 0,
      headers: incoming.headers as Record<string, string | undefined>,
      text,
    })
  })
}
