import { allListed, chunksOf, type Db, type Reader, type Tx } from '@steeple/contracts'

/** When the phones of SIMs were last seen attached, ms since the epoch; those that were not written down are left out. */
export async function seenTimes(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const sql = 'select hash, seen_at_ms as at_ms from sims_seen where '
  return timesIn(await allListed<Seen>(reader, 'hash', hashes, (where) => sql + where))
}

interface Seen {
  readonly hash: string
  readonly at_ms: number
}

function timesIn(rows: readonly Seen[]): Map<string, number> {
  return new Map(rows.map(({ hash, at_ms: atMs }) => [hash, Number(atMs)]))
}

const LAST_SEEN = `select hash, attached_at_ms as at_ms from sims_sim where attached_at_ms is not null
  union all select hash, seen_at_ms as at_ms from sims_seen`

/** When each phone was last seen attached, ms since the epoch; those of no phone are left out. */
export async function lastSeenTimes(reader: Reader): Promise<Map<string, number>> {
  // What was written down last comes last.
  return timesIn(await reader.all<Seen>(LAST_SEEN))
}

const NOTE = `insert into sims_seen (hash, seen_at_ms)
  select hash, :at_ms from sims_sim where hash = :hash
  on conflict (hash) do update set seen_at_ms = excluded.seen_at_ms`

/** Writes down that phones were attached then. Those of SIMs that are not stored are left out. */
export async function noteSeen(db: Db, hashes: readonly string[], atMs: number): Promise<void> {
  for (const some of chunksOf(hashes, AT_ONCE))
    await db.write(async (tx) => {
      for (const hash of some) await tx.run(NOTE, { hash, at_ms: atMs })
    })
}

/** Forgets when one was last seen. */
export async function forgetSeen(tx: Tx, hash: string): Promise<void> {
  await tx.run('delete from sims_seen where hash = :hash', { hash })
}

/** Phones of one transaction. */
const AT_ONCE = 500

/** Up to where a core has been heard; undefined when it was never asked. */
export async function attachPosition(reader: Reader, core: string): Promise<string | undefined> {
  const sql = 'select position from sims_attach_position where core = :core'
  return (await reader.get<{ readonly position: string }>(sql, { core }))?.position
}

/** Keeps it; undefined forgets it. */
export async function keepAttachPosition(tx: Tx, core: string, position: string | undefined): Promise<void> {
  if (position === undefined) await tx.run('delete from sims_attach_position where core = :core', { core })
  else
    await tx.run(
      `insert into sims_attach_position (core, position) values (:core, :position)
        on conflict (core) do update set position = excluded.position`,
      { core, position },
    )
}

/** The networks of SIMs, one for each of the hashes that is stored; a hash that comes twice counts twice. */
export async function networksOf(reader: Reader, hashes: readonly string[]): Promise<readonly string[]> {
  const rows = await allListed<{ readonly hash: string; readonly plmn: string }>(
    reader,
    'hash',
    [...new Set(hashes)],
    (where) => `select hash, plmn from sims_sim where ${where}`,
  )
  const known = new Map(rows.map(({ hash, plmn }) => [hash, plmn]))
  return hashes.flatMap((hash) => known.get(hash) ?? [])
}

const ADD = `insert into sims_attach_total (plmn, attaches) values (:plmn, :attaches)
  on conflict (plmn) do update set attaches = sims_attach_total.attaches + excluded.attaches`

/** Adds attaches to the totals of their networks. */
export async function addAttaches(tx: Tx, networks: readonly string[]): Promise<void> {
  for (const [plmn, all] of Map.groupBy(networks, (network) => network))
    await tx.run(ADD, { plmn, attaches: all.length })
}

/** All that were counted one by one, by network. */
export async function attachTotals(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all<{ readonly plmn: string; readonly attaches: number }>(
    'select plmn, attaches from sims_attach_total',
  )
  return new Map(rows.map(({ plmn, attaches }) => [plmn, Number(attaches)]))
}
