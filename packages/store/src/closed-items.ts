import { type ClosedItem, type ClosedItems, defineTable, type Table } from '@steeple/contracts'
import type { Database, WriterTx } from './database.ts'

/** One thing that a restore has closed. */
interface ClosedRow {
  readonly kind: string
  readonly id: string
  readonly until_ms: number | null
  readonly at_ms: number
}

/** Statement that makes their table. */
export const CLOSED_DDL = `create table kernel_closed (kind text not null, id text not null, until_ms bigint,
  at_ms bigint not null, row_sum bigint not null, primary key (kind, id))`
/** What restores have closed: see `ClosedItems`. */
export const CLOSED: Table<ClosedRow> = defineTable(
  'kernel_closed',
  ['kind', 'id', 'until_ms', 'at_ms'],
  ['kind', 'id'],
)

const LIVE = '(until_ms is null or until_ms > :now)'
const KINDS = `select kind, count(*) as items, max(at_ms) as at_ms from kernel_closed where ${LIVE} group by kind order by kind`

/** What is closed, over the whole store. */
export function closedItems(db: Database, clock: { nowMs(): number }): ClosedItems {
  const own = db.scoped('kernel')
  return {
    among: async (kind, ids) => {
      const found = new Set<string>()
      if ((await own.get('select 1 as one from kernel_closed limit 1')) === undefined) return found
      for (const id of ids) if ((await CLOSED.find(own, { kind, id })) !== undefined) found.add(id)
      return found
    },
    kinds: async () => {
      type Counted = { readonly kind: string; readonly items: number; readonly at_ms: number }
      const rows = await own.all<Counted>(KINDS, { now: clock.nowMs() })
      // PostgreSQL counts in texts.
      return rows.map((row) => ({ kind: row.kind, items: Number(row.items), closedAtMs: Number(row.at_ms) }))
    },
    list: async (limit, after, kind) => {
      const one = kind === undefined ? '' : 'kind = :kind and '
      const behind = `where ${one}(kind, id) > (:after_kind, :after_id) and ${LIVE} order by kind, id limit :limit`
      const named = kind === undefined ? {} : { kind }
      const at = { ...named, after_kind: after.kind, after_id: after.id, limit, now: clock.nowMs() }
      const rows = await CLOSED.select(own, behind, at)
      return rows.map(({ kind: its, id, until_ms: untilMs }) => ({
        ...{ kind: its, id },
        ...(untilMs === null ? {} : { untilMs }),
      }))
    },
    reopen: async (tx, kind, ids) => {
      const joined = own.join(tx)
      if (ids === undefined) return await joined.run('delete from kernel_closed where kind = :kind', { kind })
      let reopened = 0
      for (const id of ids) if (await CLOSED.remove(joined, { kind, id })) reopened += 1
      return reopened
    },
    sweep: async (tx) => {
      await own.join(tx).run('delete from kernel_closed where until_ms <= :now', { now: clock.nowMs() })
    },
  }
}

/** Writes down what a restore closes, in the store that comes. What was closed before stays so. */
export async function closeItems(tx: WriterTx, items: readonly ClosedItem[], nowMs: number): Promise<void> {
  for (const { kind, id, untilMs } of items)
    await CLOSED.put(tx, { kind, id, until_ms: untilMs ?? null, at_ms: nowMs })
}
