import { randomUUID } from 'node:crypto'
import type { Log, TraceParent } from '@steeple/contracts'
import type { Database, WriterTx } from '@steeple/store'

/** A key that a reconciler should look at. */
export interface WantedKey {
  readonly resource: string
  readonly key: string
  /** Before all that is not. */
  readonly isUrgent?: boolean
  /** In which trace it was asked for. */
  readonly trace?: TraceParent | undefined
}

/** Keys that one instance leaves for the one that reconciles them. */
export interface WantedKeys {
  /** In the transaction that made them dirty: they are left when and only when it commits. */
  leave(tx: WriterTx, keys: readonly WantedKey[]): Promise<void>
  /** Leaves a key soon, in a transaction that many share. One that cannot be left is found by the next full look. */
  send(key: WantedKey): void
  /** Takes all of the resources that `runs` says yes to and gives them to `found`. */
  take(runs: (resource: string) => boolean, found: (key: WantedKey) => void): Promise<void>
}

interface WantedRow {
  readonly id: string
  readonly keys: string
}

/** The text of a row: keys of one resource that were asked for in one trace. */
interface WantedText {
  readonly keys: readonly string[]
  readonly isUrgent: boolean
  /** None of an instance that makes no traces. */
  readonly trace?: TraceParent | undefined
}

/** Rows taken in one transaction. */
const TAKEN_AT_ONCE = 100

const INSERT = 'insert into kernel_wanted (id, resource, keys, at_ms) values (:id, :resource, :keys, :at_ms)'
const RESOURCES = 'select resource, min(at_ms) as oldest_ms from kernel_wanted group by resource'
const LIST = `select id, keys from kernel_wanted where resource = :resource order by at_ms limit ${TAKEN_AT_ONCE}`
const REMOVE = 'delete from kernel_wanted where id = :id'
const REMOVE_OLD = 'delete from kernel_wanted where at_ms < :before'
/** What nobody took for so long is found by the next full look of whoever comes. */
const KEPT_MS = 600_000

/** What the keys need of the kernel. `announce` wakes the others at the commit. */
export interface WantedKeysOptions {
  readonly db: Pick<Database, 'transact' | 'all'>
  readonly nowMs: () => number
  readonly announce: (tx: WriterTx) => Promise<void>
  readonly log: Log
}

/** The keys in the store. */
export function createWantedKeys({ db, nowMs, announce, log }: WantedKeysOptions): WantedKeys {
  let unsent: WantedKey[] = []

  const leave = async (tx: WriterTx, wanted: readonly WantedKey[]): Promise<void> => {
    for (const { resource, keys, isUrgent, trace } of rowsOf(wanted)) {
      const text: WantedText = { keys, isUrgent, trace }
      await tx.run(INSERT, { id: randomUUID(), resource, keys: JSON.stringify(text), at_ms: nowMs() })
    }
    await announce(tx)
  }

  const takeOf = async (resource: string, found: (key: WantedKey) => void): Promise<void> => {
    let rows: readonly WantedRow[]
    do {
      rows = await db.all<WantedRow>(LIST, { resource })
      await db.transact(async (tx) => {
        for (const { id } of rows) await tx.run(REMOVE, { id })
      })
      for (const row of rows) {
        // Written by `leave` alone.
        const { keys, isUrgent, trace } = JSON.parse(row.keys) as WantedText
        for (const key of keys) found({ resource, key, isUrgent, trace })
      }
    } while (rows.length === TAKEN_AT_ONCE)
  }

  return {
    leave,
    send: (key) => {
      unsent.push(key)
      if (unsent.length > 1) return
      queueMicrotask(() => {
        const keys = unsent
        unsent = []
        db.transact((tx) => leave(tx, keys)).catch((error: unknown) => {
          log.warn({ err: error, count: keys.length }, 'keys could not be left for the leader')
        })
      })
    },
    take: async (runs, found) => {
      const waiting = await db.all<{ resource: string; oldest_ms: number }>(RESOURCES)
      for (const { resource } of waiting) if (runs(resource)) await takeOf(resource, found)
      // Also those of resources that run nowhere: nobody takes them.
      const before = nowMs() - KEPT_MS
      if (waiting.some(({ oldest_ms }) => oldest_ms < before))
        await db.transact((tx) => tx.run(REMOVE_OLD, { before }))
    },
  }
}

/** One row for each resource, trace and urgency; urgent ones first. */
function rowsOf(wanted: readonly WantedKey[]): readonly (WantedText & { readonly resource: string })[] {
  return [true, false].flatMap((isUrgent) => {
    const those = wanted.filter((each) => (each.isUrgent ?? false) === isUrgent)
    return [...Map.groupBy(those, ({ resource }) => resource)].flatMap(([resource, ofIt]) =>
      [...Map.groupBy(ofIt, ({ trace }) => trace)].map(([trace, found]) => ({
        resource,
        keys: [...new Set(found.map(({ key }) => key))],
        isUrgent,
        trace,
      })),
    )
  })
}
