import { type Db, defineTable, type Migration, type TableSpec, type Tx } from '@steeple/contracts'

/** One note. Times are ms since the epoch. */
export interface Note {
  readonly name: string
  readonly body: string
  readonly written_by: string
  readonly written_at: number
  readonly expires_at: number | null
}

/** Run once each, in order; never edited after a release. */
export const migrations: readonly Migration[] = [
  {
    id: '0001_note',
    up: [
      `create table sample_plugin_note (
        name text primary key,
        body text not null,
        written_by text not null,
        written_at bigint not null,
        expires_at bigint,
        row_sum bigint not null
      )`,
    ],
  },
]

const notes = defineTable<Note>(
  'sample_plugin_note',
  ['name', 'body', 'written_by', 'written_at', 'expires_at'],
  ['name'],
)

/** Its checksummed tables: the host looks for flipped bits in them. */
export const tables: readonly TableSpec[] = [notes]

/** The only place with SQL. Writes take the transaction of the mutation that they are part of. */
export interface NoteStore {
  find(name: string): Promise<Note | undefined>
  /** At most `limit` notes by name, after the given one. */
  list(after: string, limit: number): Promise<readonly Note[]>
  /** Names of the notes that expire, at most 10,000. */
  expiring(): Promise<readonly string[]>
  count(tx: Tx): Promise<number>
  findIn(tx: Tx, name: string): Promise<Note | undefined>
  put(tx: Tx, note: Note): Promise<void>
  /** False when there was none. */
  remove(tx: Tx, name: string): Promise<boolean>
}

/** The notes in the plugin's own table. */
export function noteStore(db: Db): NoteStore {
  return {
    find: (name) => notes.find(db, { name }),
    list: (after, limit) =>
      notes.select(db, 'where name > :after order by name limit :limit', { after, limit }),
    expiring: async () => {
      const rows = await db.all<{ readonly name: string }>(
        'select name from sample_plugin_note where expires_at is not null order by name limit 10000',
      )
      return rows.map((row) => row.name)
    },
    count: async (tx) => {
      const row = await tx.get<{ readonly total: number }>('select count(*) as total from sample_plugin_note')
      return Number(row?.total ?? 0)
    },
    findIn: (tx, name) => notes.find(tx, { name }),
    put: (tx, note) => notes.put(tx, note),
    remove: (tx, name) => notes.remove(tx, { name }),
  }
}
