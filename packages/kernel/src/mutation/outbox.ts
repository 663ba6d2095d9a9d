import { defineTable, isServiceError, storeCorrupt, type Table } from '@steeple/contracts'
import type { CommitGroup, Database, WriterTx } from '@steeple/store'
import { storableText } from '../audit/audit-chain.ts'
import type { Outbox, OutboxEvent } from './mutations.ts'

interface OutboxRow {
  readonly id: number
  readonly at_ms: number
  readonly type: string
  readonly subject: string
  readonly data: string
}

const OUTBOX: Table<OutboxRow> = defineTable<OutboxRow>(
  'kernel_outbox',
  ['id', 'at_ms', 'type', 'subject', 'data'],
  ['id'],
)
type StoredRow = OutboxRow & { readonly row_sum: number }

const COLUMNS = `${OUTBOX.columns.join(', ')}, row_sum`
const AFTER = `select ${COLUMNS} from kernel_outbox where id > :id order by id limit :limit`
const AFTER_OF_TYPE = `select ${COLUMNS} from kernel_outbox where id > :id and type = :type order by id limit :limit`
const AFTER_OF_NOUN = `select ${COLUMNS} from kernel_outbox where id > :id and substr(type, 1, :length) = :noun
  order by id limit :limit`
const LAST_ID = 'select coalesce(max(id), 0) as id from kernel_outbox'
const FIRST_ID = 'select coalesce(min(id), 1) as id from kernel_outbox'
const FIRST_KEPT = 'select id from kernel_outbox where at_ms >= :cutoff order by id limit 1'
const REMOVE = 'delete from kernel_outbox where id <= :id'

/** Events removed in one transaction. */
const REMOVED_AT_ONCE = 5_000

/** The outbox, and the way by which the mutations tell it of new events. */
export interface OutboxFeed extends Outbox {
  /** Calls the listeners: events were committed, of these types; of any when absent (another instance's). */
  committed(types?: ReadonlySet<string>): void
}

/** The stream of events over the store. */
export function createOutbox({ db }: { readonly db: Database }): OutboxFeed {
  const listeners = new Set<(types: ReadonlySet<string> | undefined) => void>()
  const idOf = async (sql: string): Promise<number> => (await db.get<{ id: number }>(sql))?.id ?? 0
  return {
    after: async (id, limit, type) => {
      const noun = type?.endsWith('*') === true ? type.slice(0, -1) : undefined
      if (type === undefined) return (await db.all<StoredRow>(AFTER, { id, limit })).map(eventOf)
      const rows =
        noun === undefined
          ? await db.all<StoredRow>(AFTER_OF_TYPE, { id, limit, type })
          : await db.all<StoredRow>(AFTER_OF_NOUN, { id, limit, noun, length: noun.length })
      return rows.map(eventOf)
    },
    lastId: () => idOf(LAST_ID),
    floorId: async () => (await idOf(FIRST_ID)) - 1,
    onCommit: (listener, signal) => {
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
    committed: (types) => {
      for (const listener of listeners) listener(types)
    },
  }
}

function eventOf(stored: StoredRow): OutboxEvent {
  const row = openOrLost(stored)
  if (row === undefined) {
    // One damaged row must not silence all that came after it; the integrity scan reports it.
    return { id: Number(stored.id), atMs: 0, type: '', subject: '', data: {}, isLost: true }
  }
  // The row sum was checked: this is the JSON object that was written.
  const data = JSON.parse(row.data) as OutboxEvent['data']
  return { id: row.id, atMs: row.at_ms, type: row.type, subject: row.subject, data }
}

function openOrLost(stored: StoredRow): OutboxRow | undefined {
  try {
    return OUTBOX.open(stored)
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}

/** Adds events in a mutation's transaction; ids grow in commit order and are never used twice. */
export interface OutboxWriter {
  append(tx: WriterTx, event: Omit<OutboxEvent, 'id'>): Promise<void>
}

interface GroupEvents {
  last: number
  readonly types: Set<string>
}

/** Makes the writer. `committed` is called once after each commit that added events, with their types. */
export function createOutboxWriter(committed: (types: ReadonlySet<string>) => void): OutboxWriter {
  const ids = new WeakMap<CommitGroup, GroupEvents>()

  async function idsOf(tx: WriterTx): Promise<GroupEvents> {
    const known = ids.get(tx.group)
    if (known !== undefined) return known
    const fresh = { last: (await tx.get<{ id: number }>(LAST_ID))?.id ?? 0, types: new Set<string>() }
    ids.set(tx.group, fresh)
    return fresh
  }

  return {
    append: async (tx, event) => {
      const given = await idsOf(tx)
      const id = given.last + 1
      tx.onUndo(() => {
        given.last = id - 1
      })
      given.last = id
      await OUTBOX.insert(tx, {
        id,
        at_ms: event.atMs,
        type: storableText(event.type),
        subject: storableText(event.subject),
        data: JSON.stringify(event.data),
      })
      given.types.add(event.type)
      tx.afterCommit(() => {
        // The steps of a group run one after the other: the first tells of all.
        if (given.types.size === 0) return
        const types = new Set(given.types)
        given.types.clear()
        committed(types)
      })
    },
  }
}

/** Removes events from before `cutoffMs`, but never the newest: its id is where the next one counts on. */
export async function sweepOutbox(db: Database, cutoffMs: number): Promise<void> {
  const kept = await db.get<{ id: number }>(FIRST_KEPT, { cutoff: cutoffMs })
  const newest = (await db.get<{ id: number }>(LAST_ID))?.id ?? 0
  const upTo = kept === undefined ? newest - 1 : kept.id - 1
  const first = (await db.get<{ id: number }>(FIRST_ID))?.id ?? 1
  for (let id = first - 1; id < upTo; ) {
    id = Math.min(upTo, id + REMOVED_AT_ONCE)
    const bound = id
    await db.transact((tx) => tx.run(REMOVE, { id: bound }))
  }
}
