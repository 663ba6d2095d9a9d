import {
  type Context,
  defineTable,
  type LicenseDocument,
  type PolicyHistory,
  type PolicyRevision,
  type Principal,
  type RadioProfile,
  type Reader,
  type SqlParams,
  storeCorrupt,
  type Table,
  type TableSpec,
  type TimeSpan,
  type Tx,
  type TxInterval,
} from '@steeple/contracts'
import { changedKeys } from './bundle/changed-keys.ts'

/** A principal in one line, as records show it: `token:tok-1/alice`, without the name where it is the id. */
export function principalText({ kind, id, name }: Principal): string {
  return name === id ? `${kind}:${id}` : `${kind}:${id}/${name}`
}

/** One revision of the policy; the newest is in force. `content` is the JSON of a PolicyContent. */
export interface BundleRow {
  readonly revision: number
  readonly updated_at_ms: number
  readonly updated_by: string
  readonly content: string
}

/** The desired state of the transmitter: the one row has id 1 and nulls while disarmed. */
interface ArmRow {
  readonly id: number
  readonly interval_id: string | null
  readonly profile_id: string | null
  readonly profile: string | null
  readonly country: string | null
  readonly armed_at_ms: number | null
  readonly armed_by: string | null
}

/** One time span in which TX was armed, for the regulator. Open ends are null; `profile` is the JSON as armed. */
interface IntervalRow {
  readonly id: string
  readonly profile_id: string
  readonly profile: string
  readonly country: string
  readonly license_reference: string | null
  readonly license_holder: string | null
  readonly started_at_ms: number
  readonly started_by: string
  readonly ended_at_ms: number | null
  readonly ended_by: string | null
  readonly end_reason: string | null
}

/** An armed transmitter: which profile, as it was then, in which country, since when, by whom. */
export interface Arm {
  readonly intervalId: string
  readonly profileId: string
  readonly profile: RadioProfile
  readonly country: string
  readonly armedAtMs: number
  readonly armedBy: string
}

const BUNDLES: Table<BundleRow> = defineTable(
  'policy_bundle',
  ['revision', 'updated_at_ms', 'updated_by', 'content'],
  ['revision'],
)
const ARMS: Table<ArmRow> = defineTable(
  'policy_tx_arm',
  ['id', 'interval_id', 'profile_id', 'profile', 'country', 'armed_at_ms', 'armed_by'],
  ['id'],
)
const INTERVALS: Table<IntervalRow> = defineTable(
  'policy_tx_interval',
  [
    'id',
    'profile_id',
    'profile',
    'country',
    'license_reference',
    'license_holder',
    'started_at_ms',
    'started_by',
    'ended_at_ms',
    'ended_by',
    'end_reason',
  ],
  ['id'],
)
/** A radio profile that does not stand in the configuration file; `profile` is its JSON. */
interface ProfileRow {
  readonly id: string
  readonly profile: string
}
const PROFILES: Table<ProfileRow> = defineTable('policy_radio_profile', ['id', 'profile'], ['id'])

/** A document of a licence, without its content; open ends are null. The licence is the one that was in the rules when it was attached. */
export interface DocumentRow {
  readonly id: string
  readonly sha256: string
  readonly media_type: string
  readonly octets: number
  readonly license_reference: string
  readonly license_holder: string | null
  readonly attached_at_ms: number
  readonly attached_by: string
  readonly ended_at_ms: number | null
  readonly ended_by: string | null
}
/** A piece of a document, so that no row is large. */
interface ContentRow {
  readonly sha256: string
  readonly part: number
  readonly content: Uint8Array
}
const DOCUMENTS: Table<DocumentRow> = defineTable(
  'policy_license_document',
  [
    'id',
    'sha256',
    'media_type',
    'octets',
    'license_reference',
    'license_holder',
    'attached_at_ms',
    'attached_by',
    'ended_at_ms',
    'ended_by',
  ],
  ['id'],
)
const CONTENTS: Table<ContentRow> = defineTable(
  'policy_license_content',
  ['sha256', 'part', 'content'],
  ['sha256', 'part'],
)
/** The newest signed licence that this box has taken: the one row has id 1. */
export interface SignedLicenseRow {
  readonly id: number
  readonly license: string
  readonly signature: string
  /** The name of the key in `policy.license_keys`, then. */
  readonly signed_by: string
  readonly issued_at_ms: number
  readonly taken_at_ms: number
}
const SIGNED_LICENSES: Table<SignedLicenseRow> = defineTable(
  'policy_signed_license',
  ['id', 'license', 'signature', 'signed_by', 'issued_at_ms', 'taken_at_ms'],
  ['id'],
)
/** The checksummed tables, for the integrity scan. */
export const TABLES: readonly TableSpec[] = [
  ...[BUNDLES, ARMS, INTERVALS, PROFILES],
  ...[DOCUMENTS, CONTENTS, SIGNED_LICENSES],
]

const ONLY = 1
const DISARMED: ArmRow = {
  id: ONLY,
  interval_id: null,
  profile_id: null,
  profile: null,
  country: null,
  armed_at_ms: null,
  armed_by: null,
}
/** Revisions kept beside the one in force. */
const HISTORY = 100

/** The newest revision of the policy; undefined before the first start. Throws `store_corrupt`. */
export async function newestBundle(reader: Reader): Promise<BundleRow | undefined> {
  const rows = await BUNDLES.select(reader, 'order by revision desc limit 1')
  return rows[0]
}

/** Whether any revision is stored, intact or not. */
export async function hasBundle(reader: Reader): Promise<boolean> {
  return (await reader.get('select revision from policy_bundle limit 1')) !== undefined
}

/** The newest signed licence that was taken. Throws `store_corrupt`. */
export function takenLicense(reader: Reader): Promise<SignedLicenseRow | undefined> {
  return SIGNED_LICENSES.find(reader, { id: ONLY })
}

/** The same, undefined too where it is damaged. */
export async function soundLicense(reader: Reader): Promise<SignedLicenseRow | undefined> {
  return (await SIGNED_LICENSES.sound(reader, '')).rows[0]
}

/** Keeps a signed licence in place of the one before. */
export async function keepLicense(tx: Tx, row: Omit<SignedLicenseRow, 'id'>): Promise<void> {
  await SIGNED_LICENSES.put(tx, { id: ONLY, ...row })
}

/** Adds a revision, which is in force from the commit on, and drops the oldest ones. */
export async function addBundle(tx: Tx, row: BundleRow): Promise<void> {
  await BUNDLES.insert(tx, row)
  await tx.run('delete from policy_bundle where revision < :oldest', { oldest: row.revision - HISTORY })
}

/** The armed transmitter; undefined while disarmed. Throws `store_corrupt`. */
export async function currentArm(reader: Reader): Promise<Arm | undefined> {
  const row = await ARMS.find(reader, { id: ONLY })
  if (row === undefined || row.interval_id === null || row.profile_id === null) return undefined
  return {
    intervalId: row.interval_id,
    profileId: row.profile_id,
    // Written by `startArm` alone, from a RadioProfile.
    profile: JSON.parse(row.profile ?? '{}') as RadioProfile,
    country: row.country ?? '',
    armedAtMs: row.armed_at_ms ?? 0,
    armedBy: row.armed_by ?? '',
  }
}

/** Writes the armed state and opens its interval. */
export async function startArm(
  tx: Tx,
  arm: Arm,
  license: { readonly reference: string | null; readonly holder: string | null },
): Promise<void> {
  const profile = JSON.stringify(arm.profile)
  await ARMS.put(tx, {
    id: ONLY,
    interval_id: arm.intervalId,
    profile_id: arm.profileId,
    profile,
    country: arm.country,
    armed_at_ms: arm.armedAtMs,
    armed_by: arm.armedBy,
  })
  await INTERVALS.insert(tx, {
    id: arm.intervalId,
    profile_id: arm.profileId,
    profile,
    country: arm.country,
    license_reference: license.reference,
    license_holder: license.holder,
    started_at_ms: arm.armedAtMs,
    started_by: arm.armedBy,
    ended_at_ms: null,
    ended_by: null,
    end_reason: null,
  })
}

/** Writes the disarmed state and closes the interval. */
export async function endArm(
  tx: Tx,
  arm: Arm,
  end: { readonly atMs: number; readonly by: string; readonly reason: string },
): Promise<void> {
  await ARMS.put(tx, DISARMED)
  const interval = await INTERVALS.find(tx, { id: arm.intervalId })
  if (interval === undefined) return
  await INTERVALS.put(tx, {
    ...interval,
    ended_at_ms: end.atMs,
    ended_by: end.by,
    end_reason: end.reason,
  })
}

/** Radio profiles by name. */
export type NamedProfiles = Readonly<Record<string, RadioProfile>>

/** The stored radio profiles, by name in its order. Throws `store_corrupt`. */
export async function storedProfiles(reader: Reader): Promise<NamedProfiles> {
  const rows = await PROFILES.select(reader, 'order by id')
  // Written by `putProfile` alone, from a RadioProfile.
  return Object.fromEntries(rows.map(({ id, profile }) => [id, JSON.parse(profile) as RadioProfile]))
}

/** Adds a radio profile, or exchanges the one of that name. */
export async function putProfile(tx: Tx, id: string, profile: RadioProfile): Promise<void> {
  await PROFILES.put(tx, { id, profile: JSON.stringify(profile) })
}

/** Removes a radio profile. */
export async function removeProfile(tx: Tx, id: string): Promise<void> {
  await PROFILES.remove(tx, { id })
}

/** The documents that are kept, the newest first. Throws `store_corrupt`. */
export function documents(reader: Reader): Promise<readonly DocumentRow[]> {
  return DOCUMENTS.select(reader, 'order by attached_at_ms desc, id')
}

/** Octets of a document in one row. */
const PIECE = 262_144

/** Stores a document with its content. */
export async function addDocument(tx: Tx, row: DocumentRow, content: Uint8Array): Promise<void> {
  await DOCUMENTS.insert(tx, row)
  for (let part = 0; part * PIECE < content.length; part++) {
    const piece = content.subarray(part * PIECE, (part + 1) * PIECE)
    await CONTENTS.put(tx, { sha256: row.sha256, part, content: piece })
  }
}

/** The content of a document, piece by piece. Throws `store_corrupt`. */
export async function* documentContent(
  reader: Reader,
  { sha256, octets }: DocumentRow,
): AsyncGenerator<Uint8Array> {
  for (let part = 0; part * PIECE < octets; part++) {
    const row = await CONTENTS.find(reader, { sha256, part })
    if (row === undefined) throw storeCorrupt('policy_license_content')
    yield row.content
  }
}

/**
 * Ends a document that counts. It stays as long as the record has a TX interval under its licence; with `isKept` in any case, until
 * the retention of the record takes it.
 */
export async function endDocument(
  tx: Tx,
  row: DocumentRow,
  end: { readonly atMs: number; readonly by: string; readonly isKept?: boolean },
): Promise<void> {
  await DOCUMENTS.put(tx, { ...row, ended_at_ms: end.atMs, ended_by: end.by })
  if (end.isKept !== true) await removeDocuments(tx, 'and id = :id', { id: row.id })
}

const UNNAMED = `where ended_at_ms is not null and not exists
  (select 1 from policy_tx_interval i where i.license_reference = policy_license_document.license_reference)`

/** Removes those ended documents of a selection that no TX interval of the record needs, with their content. */
async function removeDocuments(tx: Tx, which: string, params: SqlParams): Promise<void> {
  const gone = await DOCUMENTS.select(tx, `${UNNAMED} ${which}`, params)
  for (const { id, sha256 } of gone) {
    await DOCUMENTS.remove(tx, { id })
    const [other] = await DOCUMENTS.select(tx, 'where sha256 = :sha256 limit 1', { sha256 })
    if (other === undefined)
      await tx.run('delete from policy_license_content where sha256 = :sha256', { sha256 })
  }
}

const BUNDLES_WITHIN = `where revision > :after and updated_at_ms >= :from_ms and updated_at_ms < :to_ms
  order by revision limit :limit`
const NEWEST_BEFORE = 'where revision < :revision order by revision desc limit 1'
const INTERVALS_WITHIN = `where started_at_ms < :to_ms and (ended_at_ms is null or ended_at_ms >= :from_ms)
  and (started_at_ms, id) > (:after_ms, :after_id) order by started_at_ms, id limit :limit`
const ENDED_BEFORE = 'where ended_at_ms < :before order by ended_at_ms, id limit :limit'

/** What the policy was and when TX was armed, for whoever keeps a record; the oldest first. Throws `store_corrupt`. */
export function policyHistory({ db }: Pick<Context, 'db'>): PolicyHistory {
  return {
    revisions: async (span, after, limit) => {
      const rows = await BUNDLES.select(db, BUNDLES_WITHIN, { ...paramsOf(span), after, limit })
      const revision = rows[0]?.revision ?? 0
      let [before] = await BUNDLES.select(db, NEWEST_BEFORE, { revision })
      return rows.map((row) => {
        const revision = revisionOf(row, before)
        before = row
        return revision
      })
    },
    intervals: async (span, after, limit) => {
      const place = { after_ms: after?.startedAtMs ?? -1, after_id: after?.id ?? '' }
      const params = { ...paramsOf(span), ...place, limit }
      return (await INTERVALS.select(db, INTERVALS_WITHIN, params)).map(intervalOf)
    },
    takeIntervals: async (tx, endedBeforeMs, limit) => {
      const own = db.join(tx)
      const before = endedBeforeMs
      const rows = await INTERVALS.select(own, ENDED_BEFORE, { before, limit })
      for (const { id } of rows) await INTERVALS.remove(own, { id })
      await removeDocuments(own, 'and ended_at_ms < :before', { before })
      return rows.map(intervalOf)
    },
    documents: async ({ fromMs, toMs }) =>
      (await documents(db))
        .filter(({ attached_at_ms: from, ended_at_ms: to }) => from < toMs && (to === null || to >= fromMs))
        .reverse()
        .map(documentOf),
  }
}

function paramsOf({ fromMs, toMs }: TimeSpan): SqlParams {
  return { from_ms: fromMs, to_ms: toMs }
}

function revisionOf(row: BundleRow, before: BundleRow | undefined): PolicyRevision {
  const changed =
    before?.revision === row.revision - 1
      ? changedKeys(JSON.parse(before.content), JSON.parse(row.content)).map(({ key }) => key)
      : []
  return { revision: row.revision, atMs: row.updated_at_ms, by: row.updated_by, changed }
}

function documentOf(row: DocumentRow): LicenseDocument {
  return {
    id: row.id,
    sha256: row.sha256,
    mediaType: row.media_type,
    octets: row.octets,
    licenseReference: row.license_reference,
    licenseHolder: row.license_holder,
    attachedAtMs: row.attached_at_ms,
    attachedBy: row.attached_by,
    endedAtMs: row.ended_at_ms,
    endedBy: row.ended_by,
  }
}

function intervalOf(row: IntervalRow): TxInterval {
  return {
    id: row.id,
    profileId: row.profile_id,
    // Written by `startArm` alone, from a RadioProfile.
    profile: JSON.parse(row.profile) as RadioProfile,
    country: row.country,
    licenseReference: row.license_reference,
    licenseHolder: row.license_holder,
    startedAtMs: row.started_at_ms,
    startedBy: row.started_by,
    endedAtMs: row.ended_at_ms,
    endedBy: row.ended_by,
    endReason: row.end_reason,
  }
}
