import { readFileSync } from 'node:fs'
import https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { type Pair, run, type Workshop } from './tls-witness.ts'

/** A box as the root of a mesh sees it: a certificate of its own, made by openssl, and requests over mutual TLS. */
export interface NodeClient {
  readonly id: string
  readonly pair: Pair
  /** A certificate request with the same key. */
  readonly csr: string
  ask(method: string, path: string, body?: unknown): Promise<NodeAnswer>
}

/** What a request over mutual TLS answered. */
export interface NodeAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  readonly body: any
}

/** Where nodes are enrolled. */
export interface Root {
  /** The TLS listener on the loopback interface. */
  readonly port: number
  /** The CA of the mesh, PEM. */
  readonly ca: string
  readonly adminToken: string
}

/** Enrolls a node with a bootstrap token, as contract section 4 has it. Throws when it is refused. */
export async function enrollNode(
  root: Root,
  workshop: Workshop,
  name: string,
  id: string,
): Promise<NodeClient> {
  const file = (ending: string): string => `${workshop.folder}/${name}.${ending}`
  const key = ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', file('key')]
  await run('openssl', key)
  await run('openssl', ['req', '-new', '-key', file('key'), '-subj', `/CN=${name}`, '-out', file('csr')])
  const csr = readFileSync(file('csr'), 'utf8')
  const minted = await ask(
    root,
    'POST',
    '/v1/tokens',
    { name, kind: 'bootstrap' },
    { token: root.adminToken },
  )
  const { token } = minted.body
  const enrolled = await ask(root, 'POST', `/v1/nodes/${id}/enroll`, { csr_pem: csr, name }, { token })
  if (enrolled.status !== 200) throw new Error(`enroll answered ${JSON.stringify(enrolled)}`)
  const pair = { key: file('key'), cert: workshop.file(`${name}.pem`, enrolled.body.certificate_pem) }
  return {
    id,
    pair,
    csr,
    ask: (method, path, body) => ask(root, method, path, body, { pair }),
  }
}

/** Waits until a connection is over, be it closed in order or cut off while something was on its way. */
export function overOf(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    // What cuts it off comes as an error first.
    socket.on('error', () => undefined).once('close', () => resolve())
  })
}

/** One request over TLS on a connection of its own. */
export function ask(
  { port, ca }: Pick<Root, 'port' | 'ca'>,
  method: string,
  path: string,
  body: unknown,
  as: { readonly token?: string; readonly pair?: Pair },
): Promise<NodeAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...(as.token === undefined ? {} : { authorization: `Bearer ${as.token}` }),
  }
  const client =
    as.pair === undefined ? {} : { cert: readFileSync(as.pair.cert), key: readFileSync(as.pair.key) }
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca, method, path, headers, agent: false as const, ...client }
    const request = https.request(options, (response) => {
      const settle = (all: string): void => {
        const isJson = String(response.headers['content-type']).includes('json') && all !== ''
        resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(all) : all })
      }
      // A stream that is let in has no end: its status is what matters.
      if (String(response.headers['content-type']).startsWith('text/event-stream')) {
        settle('')
        request.destroy()
        return
      }
      let all = ''
      response.setEncoding('utf8').on('error', reject)
      response.on('data', (chunk: string) => {
        all += chunk
      })
      response.on('end', () => settle(all))
    })
    request.on('error', reject)
    request.end(text)
  })
}
