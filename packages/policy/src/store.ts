import {
  type Context,
  defineTable,
  type PolicyHistory,
  type PolicyRevision,
  type Principal,
  type RadioProfile,
  type Reader,
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

const BUNDLES: Table<BundleRow> = defineTable<BundleRow>(
  'policy_bundle',
  ['revision', 'updated_at_ms', 'updated_by', 'content'],
  ['revision'],
)
const ARMS: Table<ArmRow> = defineTable<ArmRow>(
  'policy_tx_arm',
  ['id', 'interval_id', 'profile_id', 'profile', 'country', 'armed_at_ms', 'armed_by'],
  ['id'],
)
const INTERVALS: Table<IntervalRow> = defineTable<IntervalRow>(
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
const PROFILES: Table<ProfileRow> = defineTable<ProfileRow>('policy_radio_profile', ['id', 'profile'], ['id'])
/** The checksummed tables, for the integrity scan. */
export const TABLES: readonly TableSpec[] = [BUNDLES, ARMS, INTERVALS, PROFILES]

const ARM_ID = 1
const DISARMED: ArmRow = {
  id: ARM_ID,
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

/** Adds a revision, which is in force from the commit on, and drops the oldest ones. */
export async function addBundle(tx: Tx, row: BundleRow): Promise<void> {
  await BUNDLES.insert(tx, row)
  await tx.run('delete from policy_bundle where revision < :oldest', { oldest: row.revision - HISTORY })
}

/** The armed transmitter; undefined while disarmed. Throws `store_corrupt`. */
export async function currentArm(reader: Reader): Promise<Arm | undefined> {
  const row = await ARMS.find(reader, { id: ARM_ID })
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
    id: ARM_ID,
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

const INTERVALS_WITHIN = `where started_at_ms < :to_ms and (ended_at_ms is null or ended_at_ms >= :from_ms)
  and (started_at_ms, id) > (:after_ms, :after_id) order by started_at_ms, id limit :limit`
const ENDED_BEFORE = 'where ended_at_ms < :before order by ended_at_ms, id limit :limit'

/** Revisions made in a span behind revision `after`, oldest first. Throws `store_corrupt`. */
function bundlesWithin(
  reader: Reader,
  { fromMs, toMs }: TimeSpan,
  after: number,
  limit: number,
): Promise<readonly BundleRow[]> {
  const rest =
    'where revision > :after and updated_at_ms >= :from_ms and updated_at_ms < :to_ms order by revision limit :limit'
  return BUNDLES.select(reader, rest, { after, from_ms: fromMs, to_ms: toMs, limit })
}

/** The newest revision below that one which is kept. Throws `store_corrupt`. */
async function newestBundleBefore(reader: Reader, revision: number): Promise<BundleRow | undefined> {
  const rest = 'where revision < :revision order by revision desc limit 1'
  return (await BUNDLES.select(reader, rest, { revision }))[0]
}

/** Intervals that reach into a span behind that one, oldest first. Throws `store_corrupt`. */
function intervalsWithin(
  reader: Reader,
  { fromMs, toMs }: TimeSpan,
  after: { readonly startedAtMs: number; readonly id: string } | undefined,
  limit: number,
): Promise<readonly IntervalRow[]> {
  const place = { after_ms: after?.startedAtMs ?? -1, after_id: after?.id ?? '' }
  return INTERVALS.select(reader, INTERVALS_WITHIN, { from_ms: fromMs, to_ms: toMs, ...place, limit })
}

/** Intervals that ended before then, the oldest first. Throws `store_corrupt`. */
function endedIntervals(reader: Reader, before: number, limit: number): Promise<readonly IntervalRow[]> {
  return INTERVALS.select(reader, ENDED_BEFORE, { before, limit })
}

async function removeInterval(tx: Tx, id: string): Promise<void> {
  await INTERVALS.remove(tx, { id })
}

/** What the policy was and when TX was armed, for whoever keeps a record. */
export function policyHistory({ db }: Pick<Context, 'db'>): PolicyHistory {
  return {
    revisions: async (span, after, limit) => {
      const rows = await bundlesWithin(db, span, after, limit)
      const [first] = rows
      let before = first === undefined ? undefined : await newestBundleBefore(db, first.revision)
      return rows.map((row) => {
        const revision = revisionOf(row, before)
        before = row
        return revision
      })
    },
    intervals: async (span, after, limit) => (await intervalsWithin(db, span, after, limit)).map(intervalOf),
    takeIntervals: async (tx, endedBeforeMs, limit) => {
      const own = db.join(tx)
      const rows = await endedIntervals(own, endedBeforeMs, limit)
      for (const { id } of rows) await removeInterval(own, id)
      return rows.map(intervalOf)
    },
  }
}

function revisionOf(row: BundleRow, before: BundleRow | undefined): PolicyRevision {
  const changed =
    before?.revision === row.revision - 1
      ? changedKeys(JSON.parse(before.content), JSON.parse(row.content)).map(({ key }) => key)
      : []
  return { revision: row.revision, atMs: row.updated_at_ms, by: row.updated_by, changed }
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
