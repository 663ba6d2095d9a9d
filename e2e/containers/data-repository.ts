import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { TestDatabase } from './database.ts'
import { policyAnswer } from './policy-data.ts'
import type { Answer } from './stored-docs.ts'
import { subscriptionAnswer } from './subscription-data.ts'

const PORT = 8000
const ADDRESS = '127.0.0.44'
const ASKED = /^\/nudr-dr\/v[0-9]\/([a-z-]+-data)\/([^?]+)(\?.*)?$/

/** A UDR for what a database holds: the real one is not to be had as a package. */
export interface DataRepository {
  close(): void
}

/**
 * Starts one and registers it with the NRF at `nrfUrl`. It takes charging data, too, where a CHF is asked for: the SMF of
 * 3.4.2 ends its handling of a session when there is none.
 */
export async function startDataRepository(
  database: TestDatabase,
  nrfUrl: string,
  { hasCharging = false }: { readonly hasCharging?: boolean } = {},
): Promise<DataRepository> {
  const server = createServer((request, response) => {
    answer(database, request).then(
      ({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', location: request.url })
        response.end(body === undefined ? '' : JSON.stringify(body))
      },
      () => response.writeHead(500).end(),
    )
  })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  server.listen(PORT, ADDRESS)
  await once(server, 'listening')
  await register(nrfUrl, 'UDR')
  if (hasCharging) await register(nrfUrl, 'CHF')
  return {
    close: () => {
      server.close()
      // Those who ask keep their connections.
      for (const session of sessions) session.destroy()
    },
  }
}

async function answer(database: TestDatabase, request: Http2ServerRequest): Promise<Answer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const [, set = '', path = '', query = ''] = ASKED.exec(request.url) ?? []
  const asked = {
    method: request.method,
    path,
    query: new URLSearchParams(query),
    body: Buffer.concat(parts).toString('utf8'),
  }
  const found =
    set === 'subscription-data'
      ? await subscriptionAnswer(database, asked)
      : set === 'policy-data'
        ? await policyAnswer(database, asked)
        : undefined
  // What nobody has any of, such as traffic influence, and contexts and charging data that nobody asks for again.
  return found ?? (request.method === 'GET' ? { status: 200, body: [] } : { status: 201, body: {} })
}

/** As what it registers: each with one service. */
const PROFILES = {
  UDR: {
    service: { serviceName: 'nudr-dr', versions: [{ apiVersionInUri: 'v2', apiFullVersion: '2.0.0' }] },
    info: { udrInfo: { supportedDataSets: ['POLICY', 'SUBSCRIPTION'] } },
  },
  CHF: {
    service: {
      serviceName: 'nchf-convergedcharging',
      versions: [{ apiVersionInUri: 'v3', apiFullVersion: '3.1.0' }],
    },
    info: {},
  },
} as const

async function register(nrfUrl: string, nfType: keyof typeof PROFILES): Promise<void> {
  const nfInstanceId = randomUUID()
  const { service, info } = PROFILES[nfType]
  const listens = {
    serviceInstanceId: `stand-in-${nfType}`,
    scheme: 'http',
    nfServiceStatus: 'REGISTERED',
    apiPrefix: `http://${ADDRESS}:${PORT}`,
    ipEndPoints: [{ ipv4Address: ADDRESS, transport: 'TCP', port: PORT }],
  }
  const profile = {
    nfInstanceId,
    nfType,
    nfStatus: 'REGISTERED',
    ipv4Addresses: [ADDRESS],
    nfServices: [{ ...listens, ...service }],
    ...info,
  }
  const answered = await fetch(`${nrfUrl}/nnrf-nfm/v1/nf-instances/${nfInstanceId}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(profile),
  })
  if (answered.status !== 201)
    throw new Error(`the NRF answers ${answered.status} to the profile of a ${nfType}`)
}
