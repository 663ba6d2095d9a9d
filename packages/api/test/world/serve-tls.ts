import { request as httpsRequest, type RequestOptions } from 'node:https'
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import {
  type AuthenticatedPrincipal,
  type CertificateHolders,
  certificateRevoked,
  expandRoles,
  nodeCertificatesRef,
  operatorCertificatesRef,
  type Role,
  type Route,
} from '@steeple/contracts'
import type { TlsMaterial } from '../../src/index.ts'
import { type Issued, makeCa, type TestCa } from './certificates.ts'
import { serveRoutes, type World, type WorldOptions } from './serve-routes.ts'

/** What a request over TLS answered. */
export interface TlsAnswer {
  readonly status: number
  readonly code: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: read by assertions only
  readonly body: any
}

/** How a test asks over TLS. */
export interface TlsAsk extends Pick<RequestOptions, 'agent' | 'headers' | 'method'> {
  readonly client?: Issued
  readonly token?: string
  /** A connection that is there already. */
  readonly socket?: Socket
}

export interface Dial extends ConnectionOptions {
  readonly client?: Issued
  /** Gets what a session can be resumed with. */
  readonly onTicket?: (ticket: Buffer) => void
}

/** An edge that speaks TLS, with a mesh CA for nodes and an own one for operators. */
export interface TlsWorld extends World {
  readonly mesh: TestCa
  readonly own: TestCa
  readonly server: Issued
  /** Serials that were revoked. */
  readonly revoked: Set<string>
  /** Serials that the holders know; every one when empty. */
  readonly known: Set<string>
  /** What the operators' service says of everyone. */
  operatorRoles: readonly Role[]
  get(path: string, how?: TlsAsk): Promise<TlsAnswer>
  dial(options?: Dial): Promise<TLSSocket>
  /** The listener has other texts from now on. */
  renew(next: Partial<TlsMaterial>): void
}

/** Serves the routes over TLS on a free port of the loopback interface. */
export async function serveTls(
  routes: readonly Route[],
  options: WorldOptions & { readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' } = {},
): Promise<TlsWorld> {
  const [mesh, own] = [await makeCa('Mesh CA'), await makeCa('Own CA')]
  const server = await serverCertificate(mesh)
  const listeners = new Set<() => void>()
  let material: TlsMaterial = {
    key: server.key,
    cert: server.cert + mesh.pem,
    nodesCa: mesh.pem,
    operatorsCa: own.pem,
  }
  const { minVersion = 'TLSv1.3', ...rest } = options
  const world = await serveRoutes(routes, {
    ...rest,
    tls: {
      minVersion,
      material: () => material,
      onChange: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  })
  const [revoked, known] = [new Set<string>(), new Set<string>()]
  const holders = (kind: 'node' | 'cli', roles: () => readonly Role[]): CertificateHolders => ({
    holderOf: async ({ serial, name }): Promise<AuthenticatedPrincipal | undefined> => {
      if (revoked.has(serial)) throw certificateRevoked()
      if (known.size > 0 && !known.has(serial)) return undefined
      return { kind, id: name, name: `the ${name}`, roles: expandRoles(roles()) }
    },
  })
  const tlsWorld: TlsWorld = {
    ...world,
    mesh,
    own,
    server,
    revoked,
    known,
    operatorRoles: ['viewer'],
    get: (path, how = {}) => get(world.port, path, how),
    dial: (how = {}) => dial(world.port, how),
    renew: (next) => {
      material = { ...material, ...next }
      for (const listener of listeners) listener()
    },
  }
  world.kernel.services.set(
    nodeCertificatesRef.id,
    holders('node', () => ['node']),
  )
  world.kernel.services.set(
    operatorCertificatesRef.id,
    holders('cli', () => tlsWorld.operatorRoles),
  )
  return tlsWorld
}

export function serverCertificate(ca: TestCa): Promise<Issued> {
  return ca.issue({
    names: [
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ],
    usages: ['1.3.6.1.5.5.7.3.1'],
  })
}

function get(port: number, path: string, how: TlsAsk): Promise<TlsAnswer> {
  const { client, token, socket, headers, ...more } = how
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        // The server is not what these tests are about.
        rejectUnauthorized: false,
        ...(socket === undefined ? { agent: false } : { createConnection: () => socket }),
        ...(client === undefined ? {} : { cert: client.cert, key: client.key }),
        headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
        ...more,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('error', reject)
        response.on('end', () => {
          const isJson = String(response.headers['content-type']).includes('json')
          const body = isJson ? JSON.parse(text) : text
          const code = body?.error?.code
          resolve({ status: response.statusCode ?? 0, code, headers: response.headers, body })
        })
      },
    )
    request.once('error', reject).end()
  })
}

function dial(port: number, { client, onTicket, ...options }: Dial): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const pair = client === undefined ? {} : { cert: client.cert, key: client.key }
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...pair, ...options })
    if (onTicket !== undefined) socket.on('session', onTicket)
    // A reset is one of the ways in which the other side closes.
    socket.once('secureConnect', () => resolve(socket)).on('error', reject)
  })
}
