import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerHttp2Session } from 'node:http2'
import type { TestDatabase } from './database.ts'

const DATABASE = 'free5gc'
const PORT = 8000
const ADDRESS = '127.0.0.44'
const ASKED = /^\/nudr-dr\/v[0-9]\/policy-data\/ues\/([^/?]+)\/(am-data|sm-data)(\?.*)?$/

/** A UDR for the policy data of a database: the real one is not to be had as a package. */
export interface PolicyUdr {
  close(): void
}

type Doc = Readonly<Record<string, unknown>>

/** Starts one and registers it with the NRF at `nrfUrl`. */
export async function startPolicyUdr(database: TestDatabase, nrfUrl: string): Promise<PolicyUdr> {
  const server = createServer((request, response) => {
    request.resume()
    answer(database, request.method, request.url).then(
      ({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', location: request.url })
        response.end(JSON.stringify(body))
      },
      () => response.writeHead(500).end(),
    )
  })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  server.listen(PORT, ADDRESS)
  await once(server, 'listening')
  await register(nrfUrl)
  return {
    close: () => {
      server.close()
      // The PCF keeps its connection.
      for (const session of sessions) session.destroy()
    },
  }
}

/** As the UDR of 4.2.3: of a session's policy it wants the slice in hexadecimal and the DNN with underscores. */
async function answer(
  database: TestDatabase,
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const [, ueId, kind, query = ''] = ASKED.exec(path) ?? []
  // Traffic influence: nobody has any.
  if (ueId === undefined) return method === 'GET' ? { status: 200, body: [] } : { status: 201, body: {} }
  const collection = kind === 'am-data' ? 'policyData.ues.amData' : 'policyData.ues.smData'
  const found = await database.collection(DATABASE, collection).findOne({ ueId }, { projection: { _id: 0 } })
  if (found === null) return NOT_FOUND
  const doc = JSON.parse(JSON.stringify(found)) as Doc // numbers as JSON has them
  if (kind === 'am-data') return { status: 200, body: doc }
  const asked = new URLSearchParams(query)
  const { sst, sd = '' } = JSON.parse(asked.get('snssai') ?? '{}') as { sst?: number; sd?: string } // checked by its use
  const slices = docOf(doc.smPolicySnssaiData)
  const slice = docOf(slices[`${Number(sst).toString(16).padStart(2, '0')}${sd}`])
  const dnns = docOf(slice.smPolicyDnnData)
  if (!((asked.get('dnn') ?? '').replaceAll('.', '_') in dnns)) return NOT_FOUND
  return { status: 200, body: { smPolicySnssaiData: unescaped(slices) } }
}

const NOT_FOUND = { status: 404, body: { status: 404, cause: 'DATA_NOT_FOUND' } } as const

function unescaped(slices: Doc): Doc {
  const each = Object.entries(slices).map(([key, slice]) => {
    const dnns = Object.entries(docOf(docOf(slice).smPolicyDnnData))
    const smPolicyDnnData = Object.fromEntries(dnns.map(([dnn, data]) => [dnn.replaceAll('_', '.'), data]))
    return [key, { ...docOf(slice), smPolicyDnnData }] as const
  })
  return Object.fromEntries(each)
}

function docOf(value: unknown): Doc {
  return typeof value === 'object' && value !== null ? (value as Doc) : {} // a stored document
}

async function register(nrfUrl: string): Promise<void> {
  const nfInstanceId = randomUUID()
  const service = {
    serviceInstanceId: 'datarepository',
    serviceName: 'nudr-dr',
    versions: [{ apiVersionInUri: 'v2', apiFullVersion: '2.0.0' }],
    scheme: 'http',
    nfServiceStatus: 'REGISTERED',
    apiPrefix: `http://${ADDRESS}:${PORT}`,
    ipEndPoints: [{ ipv4Address: ADDRESS, transport: 'TCP', port: PORT }],
  }
  const profile = {
    nfInstanceId,
    nfType: 'UDR',
    nfStatus: 'REGISTERED',
    ipv4Addresses: [ADDRESS],
    nfServices: [service],
    udrInfo: { supportedDataSets: ['POLICY'] },
  }
  const answered = await fetch(`${nrfUrl}/nnrf-nfm/v1/nf-instances/${nfInstanceId}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(profile),
  })
  if (answered.status !== 201) throw new Error(`the NRF answers ${answered.status} to the UDR's profile`)
}
