import { timingSafeEqual } from 'node:crypto'
import type { Ambr, Subscriber } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import type { Fit, ServingNetwork, WantedDoc } from './documents.ts'
import { type FoundDocs, keysOf, numberIn, readRate } from './found.ts'
import {
  COLLECTIONS,
  docOf,
  KEY_FIELDS,
  keyFields,
  listOf,
  parseRate,
  policyDnnKey,
  same,
  sessionRate,
  shortName,
  snssaiKey,
  sqnField,
  ueIdOf,
  ueRate,
} from './names.ts'
import { candidates, docsIn, type Held, SESSIONS } from './read.ts'
import { sliceOf, workingDnn } from './session.ts'
import { changesOf, insertOf, type Step } from './steps.ts'

/** What the writes of a subscriber that was taken over depend on. */
interface Keeping {
  readonly subscriber: Subscriber
  readonly held: Held | undefined
  readonly found: FoundDocs
  readonly network: Pick<ServingNetwork, 'spelling'>
}

/** Without one of these the core lets nobody on: they come back where they are lost. The others are the operator's to remove. */
const NEEDED: readonly string[] = [
  ...[COLLECTIONS.auth, COLLECTIONS.am, COLLECTIONS.selection],
  ...[COLLECTIONS.sm, COLLECTIONS.policyAm, COLLECTIONS.policySm],
]
/** What tells a document from others of its subscriber. */
const KEYS: readonly string[] = [
  'servingPlmnId',
  'singleNssai',
  'snssai',
  'dnn',
  'filter',
  'qosRef',
  'precedence',
]

/** What makes the documents of one that was taken over fit: what says already what it should stays, and so does all else. */
export function keptSteps(keeping: Keeping): readonly Step[] {
  const { subscriber, held, found } = keeping
  const isGone = docsIn(held, COLLECTIONS.auth).live.length === 0
  const fits = fitsOf(keeping)
  const steps = Object.values(COLLECTIONS).flatMap((collection): readonly Step[] => {
    const isSession = SESSIONS.includes(collection)
    const wanted = (key: Doc, fields: WantedDoc['fields']): WantedDoc => {
      // Copies with a rating group are the core's own.
      const guard = collection === COLLECTIONS.charging ? { ratingGroup: { $exists: false } } : {}
      return { collection, key, guard, isIt: () => true, fields, isSession }
    }
    const there = candidates(held, collection)
    if (there.length > 0) return there.flatMap((doc) => changesOf(wanted({}, fits(collection, doc)), doc))
    if (!isGone && !NEEDED.includes(collection)) return []
    return (found.get(collection) ?? []).map((doc) => {
      const fitted = Object.entries(fits(collection, doc)).map(
        ([name, fit]) => [name, fit(doc[name])] as const,
      )
      const all = Object.entries({ ...doc, ...Object.fromEntries(fitted) })
      const key = Object.fromEntries(all.filter(([name]) => KEYS.includes(name)))
      const fields = all.filter(([name]) => !KEYS.includes(name)).map(([name, value]) => [name, () => value])
      const write = insertOf(wanted(key, Object.fromEntries(fields)), subscriber)
      return { differences: [shortName(collection)], write }
    })
  })
  return [...steps, ...newNumber(keeping)]
}

/** A number that the subscriber had not when it was taken over is looked up by a document of its own. */
function newNumber({ subscriber, held, found }: Keeping): readonly Step[] {
  const { msisdn, imsi } = subscriber
  const collection = COLLECTIONS.identity
  const isThere = candidates(held, collection).length > 0
  if (msisdn === undefined || isThere || numberIn(found.get(COLLECTIONS.am)?.[0]?.gpsis) === msisdn) return []
  const fields = { gpsi: () => `msisdn-${msisdn}` }
  const wanted: WantedDoc = {
    collection,
    key: { ueId: ueIdOf(imsi) },
    isIt: () => true,
    fields,
    isSession: false,
  }
  return [{ differences: ['identityData'], write: insertOf(wanted, subscriber) }]
}

/** What fields of a document should be, for each collection. */
function fitsOf(keeping: Keeping): (collection: string, doc: Doc) => WantedDoc['fields'] {
  const { subscriber, found, network } = keeping
  const names = namesOf(keeping)
  const gpsi = subscriber.msisdn === undefined ? undefined : `msisdn-${subscriber.msisdn}`
  const fits: Readonly<Record<string, (doc: Doc) => WantedDoc['fields']>> = {
    [COLLECTIONS.auth]: (doc) => authFields(doc, subscriber, network.spelling),
    [COLLECTIONS.webAuth]: () => lostCopy(subscriber),
    [COLLECTIONS.am]: ({ servingPlmnId }) => ({
      gpsis: (held) => withNumber(held, subscriber.msisdn),
      subscribedUeAmbr: (held) => {
        const { ambrBps } = subscriber
        const own = found
          .get(COLLECTIONS.am)
          ?.find((one) => one.servingPlmnId === servingPlmnId)?.subscribedUeAmbr
        return [held, own].find((one) => same(readRate(one), ambrBps)) ?? rateDoc(ambrBps, ueRate)
      },
    }),
    [COLLECTIONS.selection]: () => ({ subscribedSnssaiInfos: (held) => selectionOf(held, names) }),
    [COLLECTIONS.sm]: (doc) => ({ dnnConfigurations: (held) => configurationsOf(held, doc, keeping, names) }),
    [COLLECTIONS.policySm]: () => ({ smPolicySnssaiData: (held) => policyOf(held, names) }),
    [COLLECTIONS.identity]: () => ({ gpsi: (held) => gpsi ?? held }),
  }
  return (collection, doc) => fits[collection]?.(doc) ?? {}
}

/** Keys where they are others or in words that the release does not read, and a SQN that it cannot count on from. */
function authFields(
  doc: Doc,
  subscriber: Subscriber,
  spelling: ServingNetwork['spelling'],
): WantedDoc['fields'] {
  const sequenceNumber: Fit = (held) => sqnField(held, subscriber.sqn, spelling)
  if (hasKeys(doc, subscriber, spelling)) return { sequenceNumber }
  const none = [...KEY_FIELDS.v3, ...KEY_FIELDS.v4].map((name) => [name, () => undefined])
  const keys = Object.entries(keyFields(subscriber, spelling)).map(([name, value]) => [name, () => value])
  return { ...Object.fromEntries([...none, ...keys]), sequenceNumber }
}

function hasKeys(
  doc: Doc,
  { ki, opc }: Pick<Subscriber, 'ki' | 'opc'>,
  spelling: ServingNetwork['spelling'],
): boolean {
  const held = keysOf(doc, spelling)
  if (held === undefined) return false
  const isSame = timingSafeEqual(held.ki, ki) && timingSafeEqual(held.opc, opc)
  held.ki.fill(0)
  held.opc.fill(0)
  return isSame && held.isReadable
}

/** The web console shows keys from a copy of its own, which is read only to be told of. */
function lostCopy(subscriber: Subscriber): WantedDoc['fields'] {
  const keys = Object.entries(keyFields(subscriber, 'v3')).map(([name, value]) => [name, () => value])
  return { ...Object.fromEntries(keys), sequenceNumber: () => sqnField(undefined, subscriber.sqn, 'v3') }
}

function withNumber(held: unknown, msisdn: string | undefined): unknown {
  if (msisdn === undefined || numberIn(held) === msisdn) return held
  const list = listOf(held)
  const at = list.findIndex((one) => typeof one === 'string' && one.startsWith('msisdn-'))
  return at < 0 ? [`msisdn-${msisdn}`, ...list] : list.with(at, `msisdn-${msisdn}`)
}

function rateDoc({ up, down }: Ambr, text: (bps: number) => string): Doc {
  return { uplink: text(up), downlink: text(down) }
}

/** The APNs of a subscriber beside those of its documents. */
interface Names {
  /** That sessions had or have, and the subscriber has not. */
  readonly gone: ReadonlySet<string>
  /** That the subscriber has and no session has: into which slice each comes. */
  readonly missing: readonly { readonly apn: string; readonly home: Doc; readonly config: unknown }[]
}

function namesOf({ subscriber, held, found }: Keeping): Names {
  const before = found.get(COLLECTIONS.sm) ?? []
  const there = candidates(held, COLLECTIONS.sm)
  const docs = there.length === 0 ? before : there
  const known = new Set([...docs, ...before].flatMap((doc) => Object.keys(docOf(doc.dnnConfigurations))))
  const missing = subscriber.apns
    .filter((apn) => docs.every((doc) => !(apn in docOf(doc.dnnConfigurations))))
    .flatMap((apn) => {
      const first = before.find((doc) => apn in docOf(doc.dnnConfigurations))
      const home = docs.find((doc) => first !== undefined && isSameSlice(doc, first)) ?? docs[0]
      const config = docOf(first?.dnnConfigurations)[apn]
      return home === undefined ? [] : [{ apn, home, config }]
    })
  return { gone: new Set([...known].filter((name) => !subscriber.apns.includes(name))), missing }
}

function isSameSlice(one: Doc, other: Doc): boolean {
  return (
    one.servingPlmnId === other.servingPlmnId && same(sliceOf(one.singleNssai), sliceOf(other.singleNssai))
  )
}

/** The sessions of a slice: each with all that is in it, and the rate that it had then unless the subscriber has another one now. */
function configurationsOf(
  held: unknown,
  doc: Doc,
  { subscriber, found }: Keeping,
  { gone, missing }: Names,
): unknown {
  if (held === undefined && missing.length === 0) return held
  const ue = readRate(found.get(COLLECTIONS.am)?.[0]?.subscribedUeAmbr)
  const first = (found.get(COLLECTIONS.sm) ?? []).find((one) => isSameSlice(one, doc))
  const kept = Object.entries(docOf(held)).filter(([name]) => !gone.has(name))
  const added = missing
    .filter(({ home }) => home === doc)
    .map(({ apn, config }) => {
      const fresh = { ...workingDnn({}), sessionAmbr: rateDoc(subscriber.ambrBps, sessionRate) }
      return [apn, config ?? fresh] as const
    })
  return Object.fromEntries(
    [...kept, ...added].map(([name, value]) => {
      const dnn = docOf(value)
      const own = docOf(docOf(first?.dnnConfigurations)[name] ?? value).sessionAmbr
      const sessionAmbr = keptRate(dnn.sessionAmbr, own, ue, subscriber.ambrBps)
      return [name, same(sessionAmbr, dnn.sessionAmbr) ? value : { ...dnn, sessionAmbr }]
    }),
  )
}

/** `own`: the session's rate when it was taken over, `ue`: the subscriber's then. */
function keptRate(held: unknown, own: unknown, ue: Ambr | undefined, now: Ambr): unknown {
  const first = readRate(own)
  // What the core cannot read is as it was.
  if (first === undefined) return held
  const [up, down] = [wayOf(first.up, ue?.up, now.up), wayOf(first.down, ue?.down, now.down)]
  const fits = (one: unknown): boolean => {
    const { uplink, downlink } = docOf(one)
    return isRate(uplink, up) && isRate(downlink, down)
  }
  return [held, own].find(fits) ?? rateDoc({ up, down }, sessionRate)
}

function wayOf(own: number, then: number | undefined, now: number): number {
  if (then === undefined || then === now) return own
  return own === then ? now : Math.min(own, now)
}

/** Whether a stored rate is that one, be it rounded as a session's must be. */
function isRate(held: unknown, bps: number): boolean {
  return [bps, parseRate(sessionRate(bps))].includes(parseRate(held))
}

/** Which DNNs the SMF is chosen by. */
function selectionOf(held: unknown, names: Names): unknown {
  return perSlice(held, names, (entry, added) => {
    const infos = listOf(entry.dnnInfos)
    const kept = infos.filter((info) => !names.gone.has(String(docOf(info).dnn)))
    const further = added.filter((dnn) => kept.every((info) => docOf(info).dnn !== dnn))
    if (kept.length === infos.length && further.length === 0) return entry
    return { ...entry, dnnInfos: [...kept, ...further.map((dnn) => ({ dnn }))] }
  })
}

/** Which DNNs may be asked for. */
function policyOf(held: unknown, names: Names): unknown {
  const gone = new Set([...names.gone].map(policyDnnKey))
  return perSlice(held, names, (entry, added, home) => {
    const dnns = docOf(entry.smPolicyDnnData)
    const kept = Object.entries(dnns).filter(([name]) => !gone.has(name))
    const further = added.filter((dnn) => !(policyDnnKey(dnn) in dnns))
    if (kept.length === Object.keys(dnns).length && further.length === 0) return entry
    const more = further.map((dnn) => [policyDnnKey(dnn), { dnn }] as const)
    const snssai = entry.snssai ?? home?.singleNssai
    return { ...entry, snssai, smPolicyDnnData: Object.fromEntries([...kept, ...more]) }
  })
}

/** A document of one part for each slice, each changed by what its slice gets. Slices are keys in either case. */
function perSlice(
  held: unknown,
  { missing }: Names,
  change: (entry: Doc, added: readonly string[], home: Doc | undefined) => Doc,
): unknown {
  if (held === undefined && missing.length === 0) return held
  const before = docOf(held)
  const keyOf = (doc: Doc): string => {
    const slice = sliceOf(doc.singleNssai)
    const key = slice === undefined ? '' : snssaiKey(slice)
    return Object.keys(before).find((one) => one.toLowerCase() === key.toLowerCase()) ?? key
  }
  const homes = new Map(missing.map(({ home }) => [keyOf(home), home] as const))
  const keys = [...new Set([...Object.keys(before), ...homes.keys()])]
  return Object.fromEntries(
    keys.map((key) => {
      const added = missing.filter(({ home }) => keyOf(home) === key).map(({ apn }) => apn)
      const entry = docOf(before[key])
      const changed = change(entry, added, homes.get(key))
      return [key, changed === entry ? before[key] : changed]
    }),
  )
}
