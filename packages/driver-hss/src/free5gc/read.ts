import type { Imsi } from '@steeple/contracts'
import type { Doc, DocumentLink } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import type { Spelling } from './documents.ts'
import { asideIdOf, COLLECTIONS, readUeId, snssaiKey, ueIdOf } from './names.ts'

/** The session documents of a subscriber: those that the core sees, or those put aside. */
export interface HeldSessions {
  readonly sm: readonly Doc[]
  readonly policy: Doc | undefined
}

/** What a database holds of one subscriber in one network, without keys. */
export interface Held {
  readonly auth: { readonly spelling: Spelling; readonly sqn: string | undefined } | undefined
  readonly am: Doc | undefined
  readonly selection: Doc | undefined
  readonly live: HeldSessions
  readonly aside: HeldSessions
}

const NOTHING: HeldSessions = { sm: [], policy: undefined }

/** Reads what is held of these subscribers. Absent ones are left out. */
export async function readHeld(
  link: DocumentLink,
  imsis: readonly Imsi[],
  plmn: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, Held>> {
  const keys = imsis.flatMap((imsi) => [ueIdOf(imsi), asideIdOf(imsi)])
  const ueId = { $in: keys }
  const inPlmn = { ueId, servingPlmnId: plmn }
  const find = (collection: string, filter: Doc, fields: Doc): Promise<readonly Doc[]> =>
    link.find(collection, filter, { _id: 0, ueId: 1, ...fields }, signal)
  const auths = await find(COLLECTIONS.auth, { ueId }, { sequenceNumber: 1 })
  const ams = await find(COLLECTIONS.am, inPlmn, { gpsis: 1, subscribedUeAmbr: 1, nssai: 1 })
  const selections = await find(COLLECTIONS.selection, inPlmn, { subscribedSnssaiInfos: 1 })
  const sms = await find(COLLECTIONS.sm, inPlmn, { singleNssai: 1, dnnConfigurations: 1 })
  const policies = await find(COLLECTIONS.policySm, { ueId }, { smPolicySnssaiData: 1 })

  const found = new Map<Imsi, Held>()
  const change = (doc: Doc, make: (held: Held, isAside: boolean) => Held): void => {
    const whose = readUeId(doc.ueId)
    if (whose === undefined) return
    const before = found.get(whose.imsi) ?? emptyHeld()
    found.set(whose.imsi, make(before, whose.isAside))
  }
  for (const doc of auths) change(doc, (held) => ({ ...held, auth: authOf(doc) }))
  for (const doc of ams) change(doc, (held) => ({ ...held, am: doc }))
  for (const doc of selections) change(doc, (held) => ({ ...held, selection: doc }))
  for (const doc of sms) {
    change(doc, (held, isAside) => withSessions(held, isAside, ({ sm }) => ({ sm: [...sm, doc] })))
  }
  for (const doc of policies) {
    change(doc, (held, isAside) => withSessions(held, isAside, () => ({ policy: doc })))
  }
  return found
}

function emptyHeld(): Held {
  return { auth: undefined, am: undefined, selection: undefined, live: NOTHING, aside: NOTHING }
}

function withSessions(
  held: Held,
  isAside: boolean,
  change: (sessions: HeldSessions) => Partial<HeldSessions>,
): Held {
  const side = isAside ? 'aside' : 'live'
  return { ...held, [side]: { ...held[side], ...change(held[side]) } }
}

/** A text is what releases up to 3.4 write, a document what later ones do. */
function authOf({ sequenceNumber }: Doc): Held['auth'] {
  if (typeof sequenceNumber === 'string') return { spelling: 'v3', sqn: sequenceNumber }
  const sqn = (sequenceNumber as Doc | undefined)?.sqn
  return { spelling: 'v4', sqn: typeof sqn === 'string' ? sqn : undefined }
}

/** The document of one slice. */
export function sessionsOf({ sm }: HeldSessions, slice: Snssai): Doc | undefined {
  return sm.find((doc) => {
    const { sst, sd } = (doc.singleNssai ?? {}) as { sst?: unknown; sd?: unknown } // a stored document
    return snssaiKey({ sst: Number(sst), sd: typeof sd === 'string' ? sd : undefined }) === snssaiKey(slice)
  })
}

/**
 * How the core spells its documents, found out by looking: any document in the words of release 4 means 4, else any in
 * the words of release 3 means 3, and an empty database means 4.
 */
export async function spellingOf(link: DocumentLink, signal: AbortSignal): Promise<Spelling> {
  const has = async (field: string): Promise<boolean> => {
    const filter = { [field]: { $exists: true } }
    return (await link.find(COLLECTIONS.auth, filter, { _id: 1 }, signal, 1)).length > 0
  }
  if (await has('encPermanentKey')) return 'v4'
  return (await has('permanentKey.permanentKeyValue')) ? 'v3' : 'v4'
}
