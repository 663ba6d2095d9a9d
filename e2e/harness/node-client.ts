import { readFileSync } from 'node:fs'
import type { TLSSocket } from 'node:tls'
import { answerOf, createClient } from './http-client.ts'
import { type Answer, jsonRequest } from './service.ts'
import { type Pair, run, type Workshop } from './tls-witness.ts'

/** A box as the root of a mesh sees it: a certificate of its own, made by openssl, and requests over mutual TLS. */
export interface NodeClient {
  readonly id: string
  readonly pair: Pair
  /** A certificate request with the same key. */
  readonly csr: string
  ask(method: string, path: string, body?: unknown): Promise<Answer>
}

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

/** One request over TLS on a connection of its own. Of a stream that is let in the status is what matters. */
export async function ask(
  { port, ca }: Pick<Root, 'port' | 'ca'>,
  method: string,
  path: string,
  body: unknown,
  as: { readonly token?: string; readonly pair?: Pair },
): Promise<Answer> {
  const own = as.pair && { cert: readFileSync(as.pair.cert), key: readFileSync(as.pair.key) }
  const client = createClient(`https://127.0.0.1:${port}`, 1, { ca, keepAlive: false, ...own })
  return answerOf(await client.send({ path, ...jsonRequest(method, { token: as.token, body }) }))
}
