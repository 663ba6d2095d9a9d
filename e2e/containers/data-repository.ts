import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { TestDatabase } from './database.ts'
import { policyAnswer } from './policy-data.ts'
import type { Answer } from './stored-docs.ts'
import { subscriptionAnswer } from './subscription-data.ts'

const PORT = 8000
/** Where it answers: the UDR that stands in in the core registers with it. */
export const DATA_REPOSITORY = '127.0.0.44'
const ASKED = /^\/nudr-dr\/v[0-9]\/([a-z-]+-data)\/([^?]+)(\?.*)?$/

/** A UDR for what a database holds: the real one is not to be had as a package. */
export interface DataRepository {
  close(): void
}

/**
 * Starts one. It takes charging data, too, where it is a CHF for the NRF at `chargingNrfUrl`: the SMF of 3.4.2 ends its handling
 * of a session when there is none.
 */
export async function startDataRepository(
  database: TestDatabase,
  { chargingNrfUrl }: { readonly chargingNrfUrl?: string } = {},
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
  server.listen(PORT, DATA_REPOSITORY)
  await once(server, 'listening')
  if (chargingNrfUrl !== undefined) await registerCharging(chargingNrfUrl)
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

async function registerCharging(nrfUrl: string): Promise<void> {
  const nfInstanceId = randomUUID()
  const service = {
    serviceInstanceId: 'stand-in-nchf-convergedcharging',
    serviceName: 'nchf-convergedcharging',
    versions: [{ apiVersionInUri: 'v3', apiFullVersion: '3.1.0' }],
    scheme: 'http',
    nfServiceStatus: 'REGISTERED',
    apiPrefix: `http://${DATA_REPOSITORY}:${PORT}`,
    ipEndPoints: [{ ipv4Address: DATA_REPOSITORY, transport: 'TCP', port: PORT }],
  }
  const profile = {
    nfInstanceId,
    nfType: 'CHF',
    nfStatus: 'REGISTERED',
    ipv4Addresses: [DATA_REPOSITORY],
    nfServices: [service],
  }
  const answered = await fetch(`${nrfUrl}/nnrf-nfm/v1/nf-instances/${nfInstanceId}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(profile),
  })
  if (answered.status !== 201) throw new Error(`the NRF answers ${answered.status} to the profile of a CHF`)
}
