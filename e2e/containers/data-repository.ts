import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { TestDatabase } from './database.ts'

/** The database that free5GC reads. */
const DATABASE = 'free5gc'

/** What a function asks of the UDR: where, below its data set, and with which parameters and body. */
interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** What the UDR says when there is no such document. */
const NOT_FOUND: Answer = { status: 404, body: { status: 404, cause: 'DATA_NOT_FOUND' } }

type Doc = Readonly<Record<string, unknown>>

/** The first document that `filter` finds, numbers as JSON has them; undefined when there is none. */
async function storedDoc(database: TestDatabase, collection: string, filter: Doc): Promise<Doc | undefined> {
  return (await storedDocs(database, collection, filter))[0]
}

async function storedDocs(database: TestDatabase, collection: string, filter: Doc): Promise<readonly Doc[]> {
  const found = database.collection(DATABASE, collection).find(filter, { projection: { _id: 0 } })
  return JSON.parse(JSON.stringify(await found.toArray())) as Doc[]
}

/** A part of a document that is one itself; empty when it is none. */
function docOf(value: unknown): Doc {
  return typeof value === 'object' && value !== null ? (value as Doc) : {} // a stored document
}

const AUTHENTICATION = /^([^/]+)\/authentication-data\/(authentication-subscription|authentication-status)$/
const PROVISIONED = /^([^/]+)\/([^/]+)\/provisioned-data\/(am-data|smf-selection-subscription-data|sm-data)$/
const COLLECTIONS = {
  'authentication-subscription': 'subscriptionData.authenticationData.authenticationSubscription',
  'authentication-status': 'subscriptionData.authenticationData.authenticationStatus',
  'am-data': 'subscriptionData.provisionedData.amData',
  'smf-selection-subscription-data': 'subscriptionData.provisionedData.smfSelectionSubscriptionData',
  'sm-data': 'subscriptionData.provisionedData.smData',
} as const

/** What the UDR of 3.4 says of a subscriber to UDM and SMF; undefined for what it keeps about contexts. */
async function subscriptionAnswer(database: TestDatabase, asked: Asked): Promise<Answer | undefined> {
  const [, identity, secret] = AUTHENTICATION.exec(asked.path) ?? []
  if (identity !== undefined) return authentication(database, asked, identity, secret ?? '')
  const [, ueId, plmn = '', kind] = PROVISIONED.exec(asked.path) ?? []
  if (ueId === undefined) return undefined
  const inPlmn = { ueId, servingPlmnId: plmnText(decodeURIComponent(plmn)) }
  if (kind === 'sm-data') return sessions(database, asked, inPlmn)
  const doc = await storedDoc(database, COLLECTIONS[kind as 'am-data'], inPlmn) // one of the expression
  return doc === undefined ? NOT_FOUND : { status: 200, body: doc }
}

/** Keys and SQN are given as they are stored; the UDM puts the next SQN by a JSON patch. RFC 6902 §4.3. */
async function authentication(
  database: TestDatabase,
  { method, body }: Asked,
  ueId: string,
  kind: string,
): Promise<Answer> {
  const name = COLLECTIONS[kind as 'authentication-subscription'] // one of the expression
  const collection = database.collection(DATABASE, name)
  if (method === 'PUT') {
    await collection.replaceOne({ ueId }, { ...JSON.parse(body), ueId }, { upsert: true })
    return { status: 204 }
  }
  if (method === 'PATCH') {
    for (const { op, path, value } of JSON.parse(body) as { op: string; path: string; value: unknown }[]) {
      if (op !== 'replace') return { status: 500 }
      await collection.updateOne({ ueId }, { $set: { [path.slice(1).replaceAll('/', '.')]: value } })
    }
    return { status: 204 }
  }
  const doc = await storedDoc(database, name, { ueId })
  return doc === undefined ? NOT_FOUND : { status: 200, body: doc }
}

/** The UDM of 3.0 hands on what it is asked for, and newer functions ask it for a network as JSON. */
function plmnText(asked: string): string {
  if (!asked.startsWith('{')) return asked
  const { mcc, mnc } = JSON.parse(asked) as { mcc: string; mnc: string } // checked by its use
  return `${mcc}${mnc}`
}

/** Without an SD all slices of the SST match; a DNN is looked for with its dots escaped. */
async function sessions(
  database: TestDatabase,
  { query }: Asked,
  inPlmn: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { sst, sd } = JSON.parse(query.get('single-nssai') || '{}') as { sst?: number; sd?: string } // checked by its use
  const dnn = (query.get('dnn') ?? '').replaceAll('.', '_')
  const filter = {
    ...inPlmn,
    ...(sst === undefined ? {} : { 'singleNssai.sst': sst }),
    ...(sd === undefined || sd === '' ? {} : { 'singleNssai.sd': sd }),
    ...(dnn === '' ? {} : { [`dnnConfigurations.${dnn}`]: { $exists: true } }),
  }
  return { status: 200, body: await storedDocs(database, COLLECTIONS['sm-data'], filter) }
}

const OF_SUBSCRIBER = /^ues\/([^/]+)\/(am-data|sm-data)$/

/**
 * What the UDR of 3.4 to 4.2.3 says of a subscriber's policy: of a session's it wants the slice in hexadecimal and the DNN with
 * underscores. Undefined for other policy data.
 */
async function policyAnswer(database: TestDatabase, { path, query }: Asked): Promise<Answer | undefined> {
  const [, ueId, kind] = OF_SUBSCRIBER.exec(path) ?? []
  if (ueId === undefined) return undefined
  const collection = kind === 'am-data' ? 'policyData.ues.amData' : 'policyData.ues.smData'
  const doc = await storedDoc(database, collection, { ueId })
  if (doc === undefined) return NOT_FOUND
  if (kind === 'am-data') return { status: 200, body: doc }
  const { sst, sd = '' } = JSON.parse(query.get('snssai') ?? '{}') as { sst?: number; sd?: string } // checked by its use
  const slices = docOf(doc.smPolicySnssaiData)
  const slice = docOf(slices[`${Number(sst).toString(16).padStart(2, '0')}${sd}`])
  const dnns = docOf(slice.smPolicyDnnData)
  if (!((query.get('dnn') ?? '').replaceAll('.', '_') in dnns)) return NOT_FOUND
  return { status: 200, body: { smPolicySnssaiData: unescaped(slices) } }
}

function unescaped(slices: Doc): Doc {
  const each = Object.entries(slices).map(([key, slice]) => {
    const dnns = Object.entries(docOf(docOf(slice).smPolicyDnnData))
    const smPolicyDnnData = Object.fromEntries(dnns.map(([dnn, data]) => [dnn.replaceAll('_', '.'), data]))
    return [key, { ...docOf(slice), smPolicyDnnData }] as const
  })
  return Object.fromEntries(each)
}

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
