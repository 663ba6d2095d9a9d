import { createClient } from './http-client.ts'
import type { Service } from './service.ts'

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
  const client = createClient(service.url, 1)
  const exchange = async (
    method: string,
    path: string,
    { body, headers }: SendOptions,
    onText?: (text: string) => void,
  ): Promise<Heard> => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const own = { authorization: `Bearer ${token}`, ...json, ...headers }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const got = await client.send({ method, path, headers: own, body: text }, onText)
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
