import http, { type IncomingMessage } from 'node:http'

/** A request as it goes on the wire; nothing is added but `Host`, `Connection` and the length of the body. */
export interface Sent {
  readonly method: string
  /** Path and query, already encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Buffer | string | undefined
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
  /** Rejects when the connection breaks or nothing comes for 20 s. An event stream is left after its first piece. */
  send(request: Sent): Promise<Got>
  close(): void
}

const SILENCE_LIMIT_MS = 60_000

/** A client for the service at `url` with at most `connections` connections, from `localAddress` when it is given. */
export function createClient(url: string, connections: number, localAddress?: string): HttpClient {
  const { hostname, port } = new URL(url)
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const outgoing = http.request(
          {
            agent,
            ...(localAddress === undefined ? {} : { localAddress }),
            hostname,
            port,
            method: request.method,
            path: request.path,
            headers: { ...request.headers, ...lengthOf(request) } as Record<string, string>,
            setDefaultHeaders: true,
          },
          (incoming) => receive(incoming, resolve, reject),
        )
        outgoing.setTimeout(SILENCE_LIMIT_MS, () => outgoing.destroy(new Error('no answer in time')))
        outgoing.on('error', reject)
        outgoing.end(request.body)
      }),
    close: () => agent.destroy(),
  }
}

function lengthOf({ body, headers }: Sent): Readonly<Record<string, string>> {
  if (body === undefined || 'content-length' in headers || 'transfer-encoding' in headers) return {}
  return { 'content-length': String(Buffer.byteLength(body)) }
}

function receive(
  incoming: IncomingMessage,
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
  const isEndless = incoming.headers['content-type']?.startsWith('text/event-stream') === true
  incoming.on('error', (error) => {
    if (!isEndless) reject(error)
  })
  incoming.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (!isEndless) return
    over()
    incoming.destroy()
  })
  incoming.on('end', over)
}
