import { createHash } from 'node:crypto'
import { nodeCredentialsRef, policyHistoryRef, policyRef, type Tx, timestampFromMs } from '@steeple/contracts'
import type { ComplianceParts } from './parts.ts'
import { addCheckpoint, type CheckpointRow, takeMoves } from './store.ts'

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
  const steps = [
    async (tx: Tx) =>
      await leave(parts, tx, 'move', before, await takeMoves(tx, before, AT_ONCE), ({ seq }) => String(seq)),
    async (tx: Tx) => {
      const intervals = await context.use(policyHistoryRef).takeIntervals(tx, before, AT_ONCE)
      return await leave(parts, tx, 'tx', before, intervals, ({ id }) => id)
    },
  ]
  for (const step of steps) {
    for (let run = 0; run < MOST_RUNS && !signal.aborted; run++)
      if ((await context.db.write(step)) < AT_ONCE) break
  }
}

/**
 * A signed checkpoint in the place of what was removed, in the same transaction: docs/reference/regulator-file.md has what is signed.
 * Gives how much it was.
 */
async function leave<T extends object>(
  { context }: ComplianceParts,
  tx: Tx,
  kind: CheckpointRow['kind'],
  before: number,
  rows: readonly T[],
  idOf: (row: T) => string,
): Promise<number> {
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) return 0
  const at = context.clock.nowMs()
  const sum = createHash('sha256')
  for (const row of rows) sum.update(`${JSON.stringify(row)}\n`)
  const gone = { first_id: idOf(first), last_id: idOf(last), removed: rows.length, sha256: sum.digest('hex') }
  const said = { kind, at: timestampFromMs(at), before: timestampFromMs(before), ...gone }
  const octets = Buffer.from(`svc compliance checkpoint\n${JSON.stringify(said)}`, 'utf8')
  const signature = Buffer.from(context.use(nodeCredentialsRef).sign(octets)).toString('base64')
  await addCheckpoint(tx, { at_ms: at, kind, before_ms: before, ...gone, signature })
  return rows.length
}
