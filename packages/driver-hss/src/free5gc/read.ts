import type { Imsi } from '@steeple/contracts'
import type { Doc, DocumentLink } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import type { Spelling } from './names.ts'
import { asideIdOf, COLLECTIONS, KEY_FIELDS, readUeId, snssaiKey, ueIdOf } from './names.ts'
import { sliceOf } from './session.ts'

/** The documents of a subscriber in one collection: those that the core sees, and those put aside. */
interface HeldDocs {
  readonly live: readonly Doc[]
  readonly aside: readonly Doc[]
}

/** What a database holds of one subscriber, by collection. */
export type Held = ReadonlyMap<string, HeldDocs>

/** What is compared. Flow rules, QoS flows and the web console's own copy of the keys are the operator's. */
const READ: readonly string[] = [
  COLLECTIONS.auth,
  COLLECTIONS.am,
  COLLECTIONS.selection,
  COLLECTIONS.sm,
  COLLECTIONS.policyAm,
  COLLECTIONS.policySm,
  COLLECTIONS.charging,
  COLLECTIONS.identity,
]
/** Copies with a rating group are the core's own and can be many: only those that end its sessions are read. */
const CHARGING: Doc = {
  $or: [{ ratingGroup: { $exists: false } }, { chargingMethod: { $nin: ['Offline', 'Online'] } }],
}
const NOTHING: HeldDocs = { live: [], aside: [] }

/** What an authentication document is read without, in the words of any release. */
const WITHOUT_KEYS: Doc = Object.fromEntries(
  [...KEY_FIELDS.v3, ...KEY_FIELDS.v4].map((name) => [name, 0] as const),
)

/** Reads what is compared of these subscribers, of authentication all or nothing but the SQN. Absent ones are left out. */
export async function readHeld(
  link: DocumentLink,
  imsis: readonly Imsi[],
  what: 'with keys' | 'without keys',
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, Held>> {
  const auth = what === 'with keys' ? {} : { ueId: 1, sequenceNumber: 1 }
  return await readAll(
    link,
    imsis,
    new Map(READ.map((name) => [name, {}])).set(COLLECTIONS.auth, auth),
    signal,
  )
}

/** Reads everything of these subscribers, rules and fields that nobody here knows too. Absent ones are left out. */
export async function readWhole(
  link: DocumentLink,
  imsis: readonly Imsi[],
  what: 'with keys' | 'without keys',
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, Held>> {
  const fields = new Map<string, Doc>(Object.values(COLLECTIONS).map((name) => [name, {}]))
  fields.set(COLLECTIONS.webAuth, WITHOUT_KEYS)
  if (what === 'without keys') fields.set(COLLECTIONS.auth, WITHOUT_KEYS)
  return await readAll(link, imsis, fields, signal)
}

/** `fields`: what is read of which collection. */
async function readAll(
  link: DocumentLink,
  imsis: readonly Imsi[],
  fields: ReadonlyMap<string, Doc>,
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, Held>> {
  const ueId = { $in: imsis.flatMap((imsi) => [ueIdOf(imsi), asideIdOf(imsi)]) }
  const found = new Map<Imsi, Map<string, HeldDocs>>()
  for (const [collection, projection] of fields) {
    const filter = collection === COLLECTIONS.charging ? { ueId, ...CHARGING } : { ueId }
    for (const doc of await link.find(collection, filter, projection, signal)) add(found, collection, doc)
  }
  return found
}

function add(found: Map<Imsi, Map<string, HeldDocs>>, collection: string, doc: Doc): void {
  const whose = readUeId(doc.ueId)
  if (whose === undefined) return
  const held = found.get(whose.imsi) ?? new Map<string, HeldDocs>()
  const { live, aside } = held.get(collection) ?? NOTHING
  held.set(collection, whose.isAside ? { live, aside: [...aside, doc] } : { live: [...live, doc], aside })
  found.set(whose.imsi, held)
}

export function docsIn(held: Held | undefined, collection: string): HeldDocs {
  return held?.get(collection) ?? NOTHING
}

/** What is put aside while a subscriber is blocked. */
export const SESSIONS: readonly string[] = [COLLECTIONS.sm, COLLECTIONS.policySm]

/** Of sessions those that the core sees when there are any: `blockWrites` drops the others. */
export function candidates(held: Held | undefined, collection: string): readonly Doc[] {
  const { live, aside } = docsIn(held, collection)
  return SESSIONS.includes(collection) && live.length === 0 ? aside : live
}

/** Whether every session document is aside. */
export function isBlockedNow(held: Held): boolean {
  const [sm, policy] = [docsIn(held, COLLECTIONS.sm), docsIn(held, COLLECTIONS.policySm)]
  return sm.live.length === 0 && policy.live.length === 0 && sm.aside.length > 0
}

export function docOfSlice(docs: readonly Doc[], slice: Snssai): Doc | undefined {
  return docs.find((doc) => isOfSlice(doc, slice))
}

/** Whether a session document is that of a slice, be its numbers of the right type or not. */
export function isOfSlice({ singleNssai }: Doc, slice: Snssai): boolean {
  const its = sliceOf(singleNssai)
  return its !== undefined && snssaiKey(its).toLowerCase() === snssaiKey(slice).toLowerCase()
}

/** Whether any subscriber is spelled as `spelling` spells. */
export async function hasSpelling(
  link: DocumentLink,
  spelling: Spelling,
  signal: AbortSignal,
): Promise<boolean> {
  const field = spelling === 'v4' ? 'encPermanentKey' : 'permanentKey.permanentKeyValue'
  const filter = { [field]: { $exists: true } }
  return (await link.find(COLLECTIONS.auth, filter, { _id: 1 }, signal, 1)).length > 0
}
