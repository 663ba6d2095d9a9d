import { chmodSync, rmSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, type Log, type Reader, type SqlParams, storeInvalid } from '@steeple/contracts'
import type { Client, Pool, QueryResult } from 'pg'
import type { Backend } from './backend.ts'
import type { Database, SideConnection, WriterTx } from './database.ts'
import { fallBack, migrate, NEWEST_MIGRATIONS } from './migrate.ts'
import { numbersOf, postgresSettings } from './postgres-settings.ts'
import { postgresWriter, type QueryMaker, queryMaker } from './postgres-writer.ts'
import { openSqliteConnections, sqliteBackend } from './sqlite-backend.ts'
import { openSqliteConnection, type SqliteConnection } from './sqlite-binding.ts'
import type { StoreCopy } from './sqlite-copy.ts'
import { isConnectionError, postgresError } from './store-error.ts'
import { checkAnswered } from './wal-check.ts'
import { createWriter, scopedDb } from './writer.ts'

/** Rows that are brought over at a time: they are written in one go, which holds the event loop. */
const SLICE_ROWS = 200

const TABLES = `select c.oid::text as oid, c.relname as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = to_regnamespace(quote_ident(current_schema())) order by c.relname`
const COLUMNS = `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as is_required,
    pg_get_expr(d.adbin, d.adrelid) as standard
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`
const CONSTRAINTS = `select pg_get_constraintdef(oid) as text from pg_constraint
  where conrelid = $1 and contype in ('p', 'u', 'f', 'c') order by contype, conname`
/** Without those that stand behind a constraint. */
const INDEXES = `select pg_get_indexdef(i.indexrelid) as text from pg_index i
  where i.indrelid = $1 and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = $1)`
const INDEX = /^CREATE (UNIQUE )?INDEX (\S+) ON (?:ONLY )?\S+ USING btree (.*)$/

interface Column {
  readonly name: string
  readonly type: string
  readonly is_required: boolean
  readonly standard: string | null
}

/**
 * Writes all tables of the schema as they are at one moment to the SQLite file `target`, which must not exist: one
 * transaction that sees nothing of what is written meanwhile and blocks nobody.
 */
async function copyPostgres(connect: () => Client, target: string, signal: AbortSignal): Promise<StoreCopy> {
  const client = connect()
  // A connection that breaks fails the next statement.
  client.on('error', () => undefined)
  const file = openSqliteConnection(target, 'write')
  try {
    chmodSync(target, 0o600)
    file.pragma('journal_mode = OFF')
    file.pragma('synchronous = OFF')
    await client.connect()
    await client.query('begin isolation level repeatable read read only')
    const counts: Record<string, number> = {}
    const { rows: tables } = await client.query<{ oid: string; name: string }>(TABLES)
    for (const table of tables) counts[table.name] = await copyTable(client, file, table, signal)
    const newest = await client.query<{ owner: string; id: string }>(NEWEST_MIGRATIONS)
    await client.query('commit')
    file.close()
    return { counts, schema: Object.fromEntries(newest.rows.map(({ owner, id }) => [owner, id])) }
  } catch (error) {
    file.close()
    rmSync(target, { force: true })
    throw postgresError(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function copyTable(
  client: Client,
  file: SqliteConnection,
  { oid, name }: { readonly oid: string; readonly name: string },
  signal: AbortSignal,
): Promise<number> {
  const { rows: columns } = await client.query<Column>(COLUMNS, [oid])
  const { rows: constraints } = await client.query<{ text: string }>(CONSTRAINTS, [oid])
  const { rows: indexes } = await client.query<{ text: string }>(INDEXES, [oid])
  const parts = [...columns.map(columnText), ...constraints.map(({ text }) => plain(text))]
  file.exec(`create table ${name} (${parts.join(', ')})`)
  const names = columns.map((column) => column.name)
  const insert = file.prepare(
    `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  )
  await client.query(`declare slice no scroll cursor for select ${names.join(', ')} from ${name}`)
  let count = 0
  for (;;) {
    signal.throwIfAborted()
    const { rows } = await client.query<unknown[]>({
      text: `fetch ${SLICE_ROWS} from slice`,
      rowMode: 'array',
    })
    if (rows.length === 0) break
    file.exec('begin')
    for (const row of rows) insert.run(...row)
    file.exec('commit')
    count += rows.length
    await nextTurn()
  }
  await client.query('close slice')
  for (const { text } of indexes) {
    const [, unique = '', index, rest] = INDEX.exec(text) ?? []
    if (index === undefined) throw new Error(`an index is of no kind that is known: ${text}`)
    file.exec(`create ${unique.toLowerCase()}index ${index} on ${name} ${plain(rest ?? '')}`)
  }
  return count
}

function columnText({ name, type, is_required: isRequired, standard }: Column): string {
  const standardText = standard === null ? '' : ` default ${plain(standard)}`
  return `${name} ${type}${isRequired ? ' not null' : ''}${standardText}`
}

/** Without the casts that PostgreSQL writes behind constants. */
function plain(text: string): string {
  return text.replaceAll(/::[a-z]+( precision| varying)?/g, '')
}

/** Connections that read at the same time. */
const MOST_READERS = 4

function postgresReader(pool: Pool, query: QueryMaker): Reader {
  const all = async <Row>(sql: string, params?: SqlParams): Promise<readonly Row[]> => {
    try {
      // The caller names the row type; the statement's column list is what it relies on.
      return (await pool.query(query(sql, params))).rows as Row[]
    } catch (error) {
      throw postgresError(error)
    }
  }
  return { all, get: async <Row>(sql: string, params?: SqlParams) => (await all<Row>(sql, params))[0] }
}

/** The PostgreSQL dialect at `url`. Opens connections when they are needed; a lost one is made again by itself. */
async function postgresBackend(url: string): Promise<Backend> {
  const { Client, Pool, types } = await import('pg')
  const numbers = numbersOf(types)
  const query = queryMaker()
  const pool = new Pool({ ...postgresSettings(url, 'read', numbers), max: MOST_READERS })
  // An idle connection that breaks leaves the pool; the next read opens another.
  pool.on('error', () => undefined)
  const writer = postgresWriter(() => new Client(postgresSettings(url, 'write', numbers)), query)
  const side = postgresSide(() => new Client(postgresSettings(url, 'side', numbers)), query)
  return {
    dialect: 'postgres',
    reader: postgresReader(pool, query),
    writer,
    side,
    // The server watches its own files.
    lost: () => undefined,
    fileProblems: async () => [],
    mayMissRows: () => false,
    copyTo: (target, signal) =>
      copyPostgres(() => new Client(postgresSettings(url, 'copy', numbers)), target, signal),
    close: async () => {
      await Promise.all([writer.close(), side.close(), pool.end()])
    },
  }
}

/** What a store needs. `url` is `sqlite:<path>` or `postgres://…`. */
export interface StoreOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  /**
   * Asked when a job is given: what must hold in its transaction before it runs. The job is undone with what the check
   * throws.
   */
  readonly guard?: () => ((tx: WriterTx) => Promise<void>) | undefined
}

/**
 * Opens the store. A PostgreSQL that does not answer is no reason to fail: reads and writes say `store_unavailable`
 * until it does. Throws `store_invalid` for a damaged file or an unknown url.
 */
export async function openDatabase(options: StoreOptions): Promise<Database> {
  return databaseOver(await openBackend(options.url), options)
}

async function openBackend(url: string): Promise<Backend> {
  if (/^postgres(ql)?:\/\//.test(url)) return postgresBackend(url)
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path === '' || path === ':memory:')
    throw storeInvalid('store.url must be sqlite:<path of a file> or postgres://…')
  await checkAnswered(path)
  return sqliteBackend(path, openSqliteConnections(path))
}

/** The store over an opened backend, which it closes. */
export function databaseOver(backend: Backend, { clock, log, guard }: Omit<StoreOptions, 'url'>): Database {
  const { reader, dialect } = backend
  const writer = createWriter(backend.writer, log, () => backend.lost())
  let closing: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    await writer.close()
    await backend.close()
  }
  const transact: Database['transact'] = (job, limitMs) => {
    const check = guard?.()
    if (check === undefined) return writer.transact(job, limitMs)
    return writer.transact(async (tx) => {
      await check(tx)
      return await job(tx)
    }, limitMs)
  }
  return {
    dialect,
    side: backend.side,
    get: (sql, params) => reader.get(sql, params),
    all: (sql, params) => reader.all(sql, params),
    transact,
    migrate: (owner, migrations, tables = []) => migrate({ writer, clock, log, owner, migrations, tables }),
    fallBack: (owner, tables) => fallBack(writer, owner, tables),
    scoped: (owner) => scopedDb(owner, reader, { dialect, transact }),
    fileProblems: (signal) => backend.fileProblems(signal),
    mayMissRows: () => backend.mayMissRows(),
    copyTo: (target, signal) => backend.copyTo(target, signal),
    probe: async () => {
      try {
        const lost = backend.lost()
        if (lost === undefined) await reader.get('select 1 as one')
        return lost
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    writeTrouble: () => writer.trouble(),
    writeFailures: () => writer.failures(),
    close: () => {
      closing ??= closeAll()
      return closing
    },
  }
}

/** The connection beside reader and writer. It connects when it is asked, at first and after each loss. */
function postgresSide(connect: () => Client, query: QueryMaker): SideConnection {
  const heard = new Map<string, () => void>()
  let current: Promise<Client> | undefined
  let isClosed = false

  const drop = (lost: Promise<Client>): void => {
    if (current === lost) current = undefined
    lost.then((client) => client.end()).catch(() => undefined)
  }
  const open = async (dropped: () => void): Promise<Client> => {
    const client = connect()
    client.on('error', dropped)
    client.on('end', dropped)
    client.on('notification', ({ channel }) => heard.get(channel)?.())
    try {
      await client.connect()
      for (const channel of heard.keys()) await client.query(`listen ${channel}`)
      return client
    } catch (error) {
      client.end().catch(() => undefined)
      throw error
    }
  }
  const connected = (): Promise<Client> => {
    if (isClosed) return Promise.reject(new Error('the connection is closed'))
    if (current !== undefined) return current
    const opening: Promise<Client> = open(() => drop(opening))
    current = opening
    opening.catch(() => drop(opening))
    return opening
  }
  const send = async (ask: (client: Client) => Promise<QueryResult>): Promise<QueryResult> => {
    let used: Promise<Client> | undefined
    try {
      used = connected()
      return await ask(await used)
    } catch (error) {
      if (used !== undefined && error instanceof Error && isConnectionError(error)) drop(used)
      throw postgresError(error)
    }
  }
  return {
    // The caller names the row type; the statement's column list is what it relies on.
    all: async <Row>(sql: string, params?: SqlParams) =>
      (await send((client) => client.query(query(sql, params)))).rows as Row[],
    listen: async (channel, listener) => {
      await send((client) => client.query(`listen ${channel}`))
      heard.set(channel, listener)
    },
    close: async () => {
      isClosed = true
      const last = await current?.catch(() => undefined)
      await last?.end().catch(() => undefined)
    },
  }
}
