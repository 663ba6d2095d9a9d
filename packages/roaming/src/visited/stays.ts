import { randomBytes } from 'node:crypto'
import { policyRef } from '@steeple/contracts'
import type { RoamingParts } from '../parts.ts'
import { lastStay, oldStays, openStays, STAYS, type StayRow, servedVisitors, staysAfter } from '../store.ts'
import { STAYS_AT_ONCE, type ToldStay } from '../wire.ts'

/** A phone that goes on being seen is written down so often. */
const WRITTEN_MS = 60_000
/** A stay is over when its phone was not seen for so long: one that attaches again before goes on with it. */
const GONE_MS = 60_000
const DAY_MS = 86_400_000
/** Specification, Limits: retention of sessions while no policy is loaded. */
const DEFAULT_DAYS = 30
const CHUNK = 500

/** Of stays that have not ended, as the store has them, and when each phone was seen last, which is written down now and then. */
interface Open {
  readonly rows: Map<string, StayRow>
  readonly seenAt: Map<string, number>
  lastRevision: number
}
type Change = Omit<StayRow, 'revision'>

/** Notes which visitors the core has, each time it is given their hashes. */
export function stayKeeper(parts: RoamingParts): (present: ReadonlySet<string>) => Promise<void> {
  const { context, node } = parts
  let known: Open | undefined
  return async (present) => {
    known ??= {
      rows: new Map((await openStays(context.db, node.nodeId)).map((row) => [row.hash, row])),
      seenAt: new Map(),
      lastRevision: await lastStay(context.db, node.nodeId),
    }
    const there = await servedVisitors(context.db, present)
    const due = [...begunOrSeen(parts, known, there), ...ended(parts, known)]
    if (due.length > 0) await write(parts, known, due)
  }
}

function* begunOrSeen(
  { context, node }: RoamingParts,
  { rows, seenAt }: Open,
  there: Awaited<ReturnType<typeof servedVisitors>>,
): Generator<Change> {
  const nowMs = context.clock.nowMs()
  for (const { hash, home_id, home_name } of there) {
    seenAt.set(hash, nowMs)
    const row = rows.get(hash)
    if (row !== undefined && row.home_id === home_id) {
      if (nowMs - row.seen_at_ms >= WRITTEN_MS) yield { ...row, seen_at_ms: nowMs }
      continue
    }
    const id = randomBytes(9).toString('base64url')
    const box = { node_id: node.nodeId, node_name: node.name, home_id, home_name }
    yield { ...box, id, hash, began_at_ms: nowMs, seen_at_ms: nowMs, is_over: 0 }
  }
}

function* ended({ context }: RoamingParts, { rows, seenAt }: Open): Generator<Change> {
  const nowMs = context.clock.nowMs()
  for (const row of rows.values()) {
    const seen_at_ms = seenAt.get(row.hash) ?? row.seen_at_ms
    if (nowMs - seen_at_ms >= GONE_MS) yield { ...row, seen_at_ms, is_over: 1 }
  }
}

async function write({ context }: RoamingParts, known: Open, due: readonly Change[]): Promise<void> {
  // Above all that a home has of this box, also when the store of before is lost.
  const first = Math.max(known.lastRevision + 1, context.clock.nowMs())
  const written = due.map((row, i): StayRow => ({ ...row, revision: first + i }))
  await context.db.write(async (tx) => {
    for (const row of written) await STAYS.put(tx, row)
  })
  known.lastRevision = first + written.length
  for (const { hash, id, is_over, ...row } of written) {
    if (is_over === 0) known.rows.set(hash, { ...row, hash, id, is_over })
    else if (known.rows.get(hash)?.id === id) known.rows.delete(hash)
    if (is_over === 1) known.seenAt.delete(hash)
  }
}

/** The stays of visitors of a home, behind a revision, as they are told. */
export async function toldStays(
  { context, node }: RoamingParts,
  home: string,
  after: number,
): Promise<readonly ToldStay[]> {
  const nowMs = context.clock.nowMs()
  const ago = (ms: number): number => Math.max(0, Math.round((nowMs - ms) / 1_000))
  const params = { node: node.nodeId, home, after, limit: STAYS_AT_ONCE }
  return (await staysAfter(context.db, params)).map((row) => ({
    revision: row.revision,
    id: row.id,
    imsi_sha256_12: row.hash,
    began_ago_s: ago(row.began_at_ms),
    seen_ago_s: ago(row.seen_at_ms),
    is_over: row.is_over === 1,
  }))
}

/** Removes stays that are older than the policy keeps sessions, by a believed clock. */
export async function pruneStays({ context }: RoamingParts, signal: AbortSignal): Promise<void> {
  if (context.clock.doubt?.() !== undefined) return
  const days = context.maybe(policyRef)?.bundle().retention_days.sessions ?? DEFAULT_DAYS
  const before = context.clock.nowMs() - days * DAY_MS
  while (!signal.aborted) {
    const old = await oldStays(context.db, before, CHUNK)
    await context.db.write(async (tx) => {
      for (const { node_id, id } of old) await STAYS.remove(tx, { node_id, id })
    })
    if (old.length < CHUNK) return
  }
}
