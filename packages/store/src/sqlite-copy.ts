import { constants } from 'node:os'
import { NEWEST_MIGRATIONS } from './migrate.ts'
import { runSqliteProgram } from './sqlite-program.ts'

/**
 * One read transaction, so the copy is the store of one moment however much is written meanwhile; writers go on, since WAL
 * keeps what they write beside it. Rows are written anew, so nothing that was deleted is left in the copy.
 */
const COPY_PROGRAM = `
const connection = new Connection(path, { readonly: true, timeout: 5000 })
connection.pragma('cache_size = -4096')
connection.prepare('vacuum into ?').run(more)
connection.close()
const copy = new Connection(more, { readonly: true })
const tables = copy.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name").all()
const counts = {}
for (const { name } of tables) counts[name] = copy.prepare('select count(*) as n from "' + name + '"').get().n
const newest = copy.prepare(${JSON.stringify(NEWEST_MIGRATIONS)}).all()
copy.close()
return { counts, schema: Object.fromEntries(newest.map(({ owner, id }) => [owner, id])) }
`

export interface StoreCopy {
  /** Rows by table. */
  readonly counts: Readonly<Record<string, number>>
  /** The newest migration of each owner of tables. */
  readonly schema: Readonly<Record<string, string>>
}

/**
 * Writes the store file at `path` as it is at one moment to `target`, which must not exist; in a process of its own, which
 * an abort ends. Rejects when the disk is full or the file is damaged.
 */
export async function copySqlite(path: string, target: string, signal: AbortSignal): Promise<StoreCopy> {
  const { PRIORITY_BELOW_NORMAL } = constants.priority
  return (await runSqliteProgram(COPY_PROGRAM, [path, target], PRIORITY_BELOW_NORMAL, signal)) as StoreCopy // our own program wrote it
}
