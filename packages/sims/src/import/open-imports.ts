import { type Context, defineTable, type Principal, type Table, type Tx } from '@steeple/contracts'

interface OpenImportRow {
  readonly id: string
  readonly started_at_ms: number
  /** JSON of kind, id and name. */
  readonly principal: string
  readonly request_id: string
}

/** Imports of several transactions that have begun and have no audit entry yet. */
export const OPEN_IMPORTS: Table<OpenImportRow> = defineTable(
  'sims_import',
  ['id', 'started_at_ms', 'principal', 'request_id'],
  ['id'],
)

/** No import takes as long: what is older is of an instance that has ended. */
const LONGEST_MS = 3_600_000
const STARTED_BEFORE = 'where started_at_ms <= :before order by id limit 100'
const ROWS_OF = 'select count(*) as sims from sims_sim where batch_id = :id'

/** Remembers that an import has begun, in the transaction of its first rows. */
export async function noteBegun(
  tx: Tx,
  id: string,
  of: { readonly principal: Principal; readonly requestId: string; readonly nowMs: number },
): Promise<void> {
  const { kind, id: who, name } = of.principal
  await OPEN_IMPORTS.insert(tx, {
    id,
    started_at_ms: of.nowMs,
    principal: JSON.stringify({ kind, id: who, name }),
    request_id: of.requestId,
  })
}

/** Forgets an import, in the transaction of its audit entry. */
export async function noteEnded(tx: Tx, id: string): Promise<void> {
  await OPEN_IMPORTS.remove(tx, { id })
}

/**
 * Audits an import that ended before its end: what it had stored stays. The entry names how many rows that are and which
 * request it was.
 */
export async function auditCutShort(
  context: Pick<Context, 'db' | 'mutate'>,
  open: Pick<OpenImportRow, 'id' | 'principal' | 'request_id'>,
  reason: string,
): Promise<void> {
  const stored = await context.db.get<{ readonly sims: number }>(ROWS_OF, { id: open.id })
  // Written by `noteBegun` alone.
  const who = JSON.parse(open.principal) as Pick<Principal, 'kind' | 'id' | 'name'>
  const detail = { imported: Number(stored?.sims ?? 0), cut_short: reason, request_id: open.request_id }
  await context.mutate({ ...who, roles: new Set() }, 'sim.import', open.id, async (tx) => {
    await noteEnded(tx, open.id)
    tx.audit({ detail })
    tx.event({ type: 'sim.import', subject: open.id, data: detail })
  })
}

/** Audits the imports that a kill or a lost store has cut short. `isAlone`: no other instance has any under way. */
export async function sweepImports(
  context: Pick<Context, 'db' | 'mutate' | 'clock'>,
  isAlone: boolean,
): Promise<void> {
  // Another copy of this code in this process may have one under way, too.
  const before = context.clock.nowMs() - (isAlone ? 1_000 * process.uptime() : LONGEST_MS)
  for (const open of await OPEN_IMPORTS.select(context.db, STARTED_BEFORE, { before }))
    await auditCutShort(context, open, 'the service ended during the import')
}
