import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto'
import https from 'node:https'
import { type Listening, listen } from '@steeple/testkit'
import { createClient, type HttpClient } from '../http-client.ts'
import { jsonRequest, type RequestOptions } from '../service.ts'

/** Where simulated boxes are enrolled: a service with TLS on the loopback interface. */
export interface Hub {
  readonly port: number
  /** The CA of the mesh, PEM. */
  readonly ca: string
  /** Of an admin. */
  readonly token: string
}

/** A member of the mesh that is a script: a key, a certificate and the requests of a box. */
export interface SimulatedBox {
  readonly id: string
  /** One request over mutual TLS, on a connection that is kept; the parsed body. Rejects unless the status is one of 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  ask(method: string, path: string, body?: object, signal?: AbortSignal): Promise<any>
  /** The same at another port of the loopback interface. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  askAt(port: number, method: string, path: string, body?: object): Promise<any>
  /** Answers what the root asks of it on a port of the loopback interface, until `end`. */
  serve(answer: (path: string, body: unknown) => object): Promise<number>
  /** Octets of bodies that it has read. */
  readonly octets: number
  end(): void
}

/** An answer that is a refusal. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Enrolls a new box by a bootstrap token of its own. */
export async function simulatedBox(hub: Hub): Promise<SimulatedBox> {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const id = randomUUID()
  const at = (port: number, connections: number, options: https.AgentOptions): HttpClient =>
    createClient(`https://127.0.0.1:${port}`, connections, { ca: hub.ca, ...options })
  const anonymous = at(hub.port, 1, {})
  const minted = await exchange(anonymous, 'POST', '/v1/tokens', {
    body: { name: id, kind: 'bootstrap' },
    token: hub.token,
  })
  const enrolled = await exchange(anonymous, 'POST', `/v1/nodes/${id}/enroll`, {
    body: { csr_pem: csrOf(key), name: `box-${id.slice(0, 8)}` },
    token: JSON.parse(minted).token,
  })
  anonymous.close()
  const keyPem = key.export({ format: 'pem', type: 'pkcs8' }).toString()
  const { certificate_pem: cert } = JSON.parse(enrolled)
  // A question that waits and what the box tells meanwhile.
  const own = at(hub.port, 2, { key: keyPem, cert })
  const others = new Map<number, HttpClient>()
  let octets = 0
  let served: Listening | undefined
  return {
    id,
    ask: async (method, path, body, signal) => {
      const text = await exchange(own, method, path, { body, ...(signal && { signal }) })
      octets += text.length
      return JSON.parse(text)
    },
    askAt: async (port, method, path, body) => {
      const client = others.get(port) ?? at(port, 2, { key: keyPem, cert })
      others.set(port, client)
      return JSON.parse(await exchange(client, method, path, { body }))
    },
    get octets() {
      return octets
    },
    serve: async (answer) => {
      const options = { key: keyPem, cert, ca: hub.ca, requestCert: true, rejectUnauthorized: true }
      const server = https.createServer(options, async (request, response) => {
        const pieces = await request.toArray()
        const body = JSON.stringify(answer(request.url ?? '', JSON.parse(pieces.join('') || '{}')))
        response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      })
      served = await listen(server)
      return served.port
    },
    end: () => {
      for (const client of [own, ...others.values()]) client.close()
      void served?.close()
    },
  }
}

async function exchange(
  client: HttpClient,
  method: string,
  path: string,
  { signal, ...request }: RequestOptions,
): Promise<string> {
  const got = await client.send({ path, ...jsonRequest(method, request), ...(signal && { signal }) })
  const text = got.body.toString('utf8')
  if (got.status < 200 || got.status >= 300)
    throw new Refused(got.status, `${method} ${path} answered ${got.status} ${text}`)
  return text
}

/** What a box tells of its WireGuard for the first time. */
export function newWireguard(): object {
  return { public_key: randomBytes(32).toString('base64'), listen_port: 51_820, advertised: [] }
}

/** A certificate request with an empty subject: PKCS#10, RFC 2986 §4. */
function csrOf(key: KeyObject): string {
  const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
    const body = Buffer.concat(parts)
    const length = body.length < 0x80 ? [body.length] : [0x81, body.length]
    return Buffer.concat([Buffer.from([tag, ...length]), body])
  }
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const info = der(0x30, Buffer.from([0x02, 0x01, 0x00]), der(0x30), spki, der(0xa0))
  const signature = der(0x03, Buffer.from([0]), sign('sha256', info, key))
  const octets = der(0x30, info, Buffer.from('300a06082a8648ce3d040302', 'hex'), signature)
  return `-----BEGIN CERTIFICATE REQUEST-----\n${octets.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}
