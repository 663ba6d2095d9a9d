import type { Ambr, FoundSlice, Subscriber } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { FoundParts } from './found-parts.ts'
import { type FoundDocs, foundDocsOf, foundOf as foundInFree5gc } from './free5gc/found.ts'
import { madeDocs } from './free5gc/made.ts'
import type { Doc } from './links/document-link.ts'
import { encodeAmbr, SESSIONS_MAX, SLICES_MAX } from './open5gs/ambr.ts'
import { commonFields, freshQos, freshSession, sliceHead } from './open5gs/document.ts'
import { docOfText, foundOf as foundInOpen5gs } from './open5gs/found.ts'

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

/** The document with which Open5GS holds what another core held of a subscriber. What stops its HSS is left out. */
function madeDoc({ slices, ambrBps, msisdn, amf }: FoundParts, otherwise: Ambr): Doc {
  const ambr = ambrBps ?? otherwise
  return {
    ...commonFields(),
    msisdn: msisdn === undefined ? [] : [msisdn],
    ambr: encodeAmbr(ambr),
    security: { amf: amf ?? '8000' },
    slice: slices.slice(0, SLICES_MAX).map((slice, at) => madeSlice(slice, at === 0, ambr)),
  }
}

function madeSlice({ sst, sd, isDefault, apns }: FoundSlice, isFirst: boolean, ambr: Ambr): Doc {
  return {
    ...sliceHead({ sst, sd }, isDefault || isFirst),
    session: apns.slice(0, SESSIONS_MAX).map(({ name, ambrBps, qos, addresses }) => {
      const [ipv4] = addresses.filter((one) => !one.includes(':'))
      const [ipv6] = addresses.filter((one) => one.includes(':'))
      const ue = { ...(ipv4 === undefined ? {} : { ipv4 }), ...(ipv6 === undefined ? {} : { ipv6 }) }
      return {
        ...freshSession(name, encodeAmbr(ambrBps ?? ambr)),
        ...(qos === undefined ? {} : { qos: { ...freshQos(), index: new Int32(qos) } }),
        ...(Object.keys(ue).length === 0 ? {} : { ue }),
      }
    }),
  }
}
