import { createHash } from 'node:crypto'
import { nodeCredentialsRef, policyHistoryRef, policyRef, type Tx, timestampFromMs } from '@steeple/contracts'
import type { ComplianceParts } from './parts.ts'
import { addCheckpoint, type CheckpointRow, oldMoves, removeMoves } from './store.ts'

const DAY_MS = 86_400_000
/** Specification, Limits: retention of the audit trail while no policy is loaded. */
const DEFAULT_AUDIT_DAYS = 400
/** Rows removed in one transaction, and transactions of one run: what is left comes in the next. */
const AT_ONCE = 2_000
const MOST_RUNS = 500

/** Removes moves and TX intervals that are older than the policy keeps the audit trail, by a believed clock. */
export async function prune(parts: ComplianceParts, signal: AbortSignal): Promise<void> {
  const { context } = parts
  if (context.clock.doubt?.() !== undefined) return
  const days = context.maybe(policyRef)?.bundle().retention_days.audit ?? DEFAULT_AUDIT_DAYS
  const before = context.clock.nowMs() - days * DAY_MS
  for (const step of [pruneMoves, pruneIntervals]) {
    for (let run = 0; run < MOST_RUNS && !signal.aborted; run++) {
      const removed = await context.db.write((tx) => step(parts, tx, before))
      if (removed < AT_ONCE) break
    }
  }
}

async function pruneMoves(parts: ComplianceParts, tx: Tx, before: number): Promise<number> {
  const rows = await oldMoves(tx, before, AT_ONCE)
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return 0
  await removeMoves(tx, last.seq)
  await leave(parts, tx, { kind: 'move', before, first: String(first.seq), last: String(last.seq), rows })
  return rows.length
}

async function pruneIntervals(parts: ComplianceParts, tx: Tx, before: number): Promise<number> {
  const rows = await parts.context.use(policyHistoryRef).takeIntervals(tx, before, AT_ONCE)
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return 0
  await leave(parts, tx, { kind: 'tx', before, first: first.id, last: last.id, rows })
  return rows.length
}

interface Removed {
  readonly kind: CheckpointRow['kind']
  readonly before: number
  readonly first: string
  readonly last: string
  readonly rows: readonly object[]
}

/** A signed checkpoint in the place of what is removed, in the same transaction: docs/reference/regulator-file.md has what is signed. */
async function leave(
  { context }: ComplianceParts,
  tx: Tx,
  { kind, before, first, last, rows }: Removed,
): Promise<void> {
  const at = context.clock.nowMs()
  const sum = createHash('sha256')
  for (const row of rows) sum.update(`${JSON.stringify(row)}\n`)
  const gone = { first_id: first, last_id: last, removed: rows.length, sha256: sum.digest('hex') }
  const said = { kind, at: timestampFromMs(at), before: timestampFromMs(before), ...gone }
  const octets = Buffer.from(`svc compliance checkpoint\n${JSON.stringify(said)}`, 'utf8')
  const signature = Buffer.from(context.use(nodeCredentialsRef).sign(octets)).toString('base64')
  await addCheckpoint(tx, { at_ms: at, kind, before_ms: before, ...gone, signature })
}
