import type { TestDatabase } from './database.ts'
import { type Answer, type Asked, DATABASE, NOT_FOUND, storedDoc, storedDocs } from './stored-docs.ts'

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
export async function subscriptionAnswer(database: TestDatabase, asked: Asked): Promise<Answer | undefined> {
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
