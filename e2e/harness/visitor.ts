import https from 'node:https'

/** What a visitor sends. */
export interface Visit {
  readonly method?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** An answer, its body parsed when it is JSON. */
export interface Visited {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  readonly body: any
}

/** Someone at an address of their own on loopback who trusts one authority. */
export interface Visitor {
  ask(url: string, visit?: Visit): Promise<Visited>
  /** Opens a stream of events; `text` grows. Resolves with the head of the answer. */
  listen(url: string, token: string): Promise<{ readonly text: () => string; close(): void }>
  leave(): void
}

/** A visitor from `address`, 127.0.0.0/8. */
export function visitorFrom(address: string, ca: string): Visitor {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 4, ca, localAddress: address })
  return {
    ask: (url, { method = 'GET', token, headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const own = {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        }
        const request = https.request(url, { method, agent, headers: { ...own, ...headers } }, (incoming) => {
          const pieces: Buffer[] = []
          incoming.on('data', (piece) => pieces.push(piece))
          incoming.on('error', reject)
          incoming.on('end', () => {
            const text = Buffer.concat(pieces).toString()
            const isJson = incoming.headers['content-type']?.includes('json') === true && text !== ''
            const { statusCode = 0, headers: got } = incoming
            resolve({ status: statusCode, headers: got, body: isJson ? JSON.parse(text) : text })
          })
        })
        request.on('error', reject)
        request.end(body)
      }),
    listen: (url, token) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` }
        const request = https.get(url, { agent: false, ca, localAddress: address, headers }, (incoming) => {
          let text = ''
          incoming.setEncoding('utf8').on('data', (piece: string) => {
            text += piece
          })
          incoming.on('error', () => undefined)
          resolve({ text: () => text, close: () => request.destroy() })
        })
        request.on('error', reject)
      }),
    leave: () => agent.destroy(),
  }
}
