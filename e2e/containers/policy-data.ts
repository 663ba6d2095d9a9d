import type { TestDatabase } from './database.ts'
import { type Answer, type Asked, type Doc, docOf, NOT_FOUND, storedDoc } from './stored-docs.ts'

const OF_SUBSCRIBER = /^ues\/([^/]+)\/(am-data|sm-data)$/

/**
 * What the UDR of 3.4 to 4.2.3 says of a subscriber's policy: of a session's it wants the slice in hexadecimal and the DNN with
 * underscores. Undefined for other policy data.
 */
export async function policyAnswer(
  database: TestDatabase,
  { path, query }: Asked,
): Promise<Answer | undefined> {
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
