import type { Subscriber } from '@steeple/contracts'
import type { FoundParts } from './found-parts.ts'
import { type FoundDocs, foundDocsOf, foundOf as foundInFree5gc } from './free5gc/found.ts'
import { madeDocs } from './free5gc/made.ts'
import type { Doc } from './links/document-link.ts'
import { docOfText, foundOf as foundInOpen5gs } from './open5gs/found.ts'
import { madeDoc } from './open5gs/made.ts'

/** The core whose words a text of `Subscriber.found` has; `other`: of one with an API. */
type Words = 'open5gs' | 'free5gc' | 'other'

function wordsOf(text: string): Words {
  if (text.startsWith('{"parts":')) return 'other'
  return /^\{"(?:subscriptionData|policyData)\./.test(text) ? 'free5gc' : 'open5gs'
}

/** A subscriber that was taken over. */
type Taken = Pick<Subscriber, 'imsi' | 'ambrBps' | 'found'>

/** What Open5GS held of a subscriber when it was taken over, or would have held instead of another core; undefined when it was not. */
export function open5gsDoc(taken: Taken): Doc | undefined {
  const { found, ambrBps } = taken
  if (found === undefined || wordsOf(found) === 'open5gs') return docOfText(found)
  return madeDoc(partsOf(taken, found), ambrBps)
}

/** The same of free5GC for a network such as `99999`. */
export function free5gcDocs(taken: Taken, plmn: string): FoundDocs | undefined {
  const { found, ambrBps } = taken
  if (found === undefined || wordsOf(found) === 'free5gc') return foundDocsOf(found)
  return madeDocs(partsOf(taken, found), plmn, ambrBps)
}

function partsOf({ imsi }: Taken, text: string): FoundParts {
  const words = wordsOf(text)
  if (words === 'other') return JSON.parse(text).parts
  const none = { slices: [], ambrBps: undefined, msisdn: undefined, amf: undefined }
  if (words === 'open5gs') return foundInOpen5gs({ ...docOfText(text), imsi }, 'without keys') ?? none
  const held = new Map(
    [...(foundDocsOf(text) ?? [])].map(([name, live]) => [name, { live, aside: [] }] as const),
  )
  return foundInFree5gc(held, 'without keys', { plmn: '', spelling: 'v4' }) ?? none
}
