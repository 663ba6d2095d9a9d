import type { Db, Reader, Tx } from '@steeple/contracts'
import { listed } from './listed.ts'

/** Hashes that one statement asks for. */
const AT_ONCE = 500

/** When the phones of SIMs were last seen attached, ms since the epoch; those that were not written down are left out. */
export async function seenTimes(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  for (let at = 0; at < hashes.length; at += AT_ONCE) {
    const { where, params } = listed('hash', hashes.slice(at, at + AT_ONCE))
    const sql = `select hash, seen_at_ms from sims_seen where ${where}`
    const rows = await reader.all<{ readonly hash: string; readonly seen_at_ms: number }>(sql, params)
    for (const row of rows) times.set(row.hash, Number(row.seen_at_ms))
  }
  return times
}

const NOTE = `insert into sims_seen (hash, seen_at_ms)
  select hash, :at_ms from sims_sim where hash = :hash
  on conflict (hash) do update set seen_at_ms = excluded.seen_at_ms`

/** Writes down that phones were attached then. Those of SIMs that are not stored are left out. */
export async function noteSeen(db: Db, hashes: readonly string[], atMs: number): Promise<void> {
  for (let at = 0; at < hashes.length; at += AT_ONCE)
    await db.write(async (tx) => {
      for (const hash of hashes.slice(at, at + AT_ONCE)) await tx.run(NOTE, { hash, at_ms: atMs })
    })
}

/** Forgets when one was last seen. */
export async function forgetSeen(tx: Tx, hash: string): Promise<void> {
  await tx.run('delete from sims_seen where hash = :hash', { hash })
}
