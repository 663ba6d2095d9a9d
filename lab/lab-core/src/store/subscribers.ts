import type { Doc } from './ejson.ts'
import type { Journal } from './journal.ts'

/** A change of a document as MongoDB's change stream tells it. A removal has no document. */
export interface Change {
  readonly imsi: string | undefined
  /** Fields of an update that have another value now; empty for an insertion or a removal. */
  readonly updated: ReadonlySet<string>
  readonly doc: Doc | undefined
}

/** The collection `open5gs.subscribers`, with a unique index on `imsi`. Writes are durable when they resolve. */
export interface Subscribers {
  find(imsi: string): Doc | undefined
  /** In the order of their insertion. */
  list(): readonly Doc[]
  insert(imsi: string, doc: Doc): Promise<'added' | 'exists'>
  /** Changes one document. An update that changes nothing writes nothing and is no event. */
  update(imsi: string, change: (doc: Doc) => Doc): Promise<Updated>
  /** How many documents went. */
  remove(imsi: string): Promise<number>
  removeAll(): Promise<number>
  watch(listener: (change: Change) => void): void
}

/** What an update found and changed. */
interface Updated {
  readonly matched: number
  readonly modified: number
}

export function subscribersIn(journal: Journal<Doc>): Subscribers {
  const listeners: ((change: Change) => void)[] = []
  const tell = (change: Change): void => {
    for (const listener of listeners) listener(change)
  }
  const remove = async (imsi: string): Promise<number> => {
    if (!journal.entries.has(imsi)) return 0
    const written = journal.put(imsi, undefined)
    tell({ imsi: undefined, updated: new Set(), doc: undefined })
    await written
    return 1
  }
  return {
    find: (imsi) => journal.entries.get(imsi),
    list: () => [...journal.entries.values()],
    insert: async (imsi, doc) => {
      if (journal.entries.has(imsi)) return 'exists'
      const written = journal.put(imsi, doc)
      tell({ imsi, updated: new Set(), doc })
      await written
      return 'added'
    },
    update: async (imsi, change) => {
      const before = journal.entries.get(imsi)
      if (before === undefined) return { matched: 0, modified: 0 }
      const doc = change(before)
      const updated = changedFields(before, doc)
      const isGoneAny = Object.keys(before).some((field) => doc[field] === undefined)
      if (updated.size === 0 && !isGoneAny) return { matched: 1, modified: 0 }
      const written = journal.put(imsi, doc)
      tell({ imsi, updated, doc })
      await written
      return { matched: 1, modified: 1 }
    },
    remove,
    removeAll: async () => {
      const imsis = [...journal.entries.keys()]
      await Promise.all(imsis.map(remove))
      return imsis.length
    },
    watch: (listener) => {
      listeners.push(listener)
    },
  }
}

export function subscribersInMemory(): Subscribers {
  const entries = new Map<string, Doc>()
  const put: Journal<Doc>['put'] = async (key, value) => {
    if (value === undefined) entries.delete(key)
    else entries.set(key, value)
  }
  return subscribersIn({ entries, put, close: async () => undefined })
}

function changedFields(before: Doc, after: Doc): ReadonlySet<string> {
  const changed = Object.entries(after).filter(
    ([field, value]) => JSON.stringify(before[field]) !== JSON.stringify(value),
  )
  return new Set(changed.map(([field]) => field))
}
