import { chmodSync, rmSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Client } from 'pg'
import { NEWEST_MIGRATIONS } from './migrate.ts'
import { postgresSettings } from './postgres-settings.ts'
import { openSqliteConnection, type SqliteConnection } from './sqlite-binding.ts'
import type { StoreCopy } from './sqlite-program.ts'
import { postgresError } from './store-error.ts'

/** What takes the place of the tables of a PostgreSQL store. */
interface PostgresLoad {
  readonly url: string
  /** The SQLite file, as `Database.copyTo` makes it. */
  readonly file: string
  /** A schema that does not exist: the tables there were go there. */
  readonly keptIn: string
  /** DDL behind the rows: triggers, tables that a file has not. */
  readonly finish: readonly string[]
}

const LOADED_ROWS = 1_000
const HAS_SCHEMA = 'select 1 as one from information_schema.schemata where schema_name = $1'
const OWN_TABLES = `select c.relname as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = to_regnamespace(quote_ident(current_schema()))`
const OWN_FUNCTIONS = `select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = to_regnamespace(quote_ident(current_schema()))`

/**
 * Puts the tables of a file in the place of those that there are, in one transaction; the old ones are kept in a schema of
 * their own. Done once: when that schema is there, nothing happens. Throws `store_unavailable`, or what PostgreSQL says.
 */
export async function loadPostgres(load: PostgresLoad): Promise<void> {
  const { Client, types } = await import('pg')
  const client = new Client(postgresSettings(load.url, 'load', types))
  client.on('error', () => undefined)
  const file = openSqliteConnection(load.file, 'read')
  try {
    await client.connect()
    await client.query('begin')
    const { rows } = await client.query(HAS_SCHEMA, [load.keptIn])
    if (rows.length === 0) await replaceTables(client, file, load)
    await client.query('commit')
  } catch (error) {
    throw postgresError(error)
  } finally {
    file.close()
    await client.end().catch(() => undefined)
  }
}

async function replaceTables(client: Client, file: SqliteConnection, load: PostgresLoad): Promise<void> {
  await client.query(`create schema ${load.keptIn}`)
  for (const { name } of (await client.query<{ name: string }>(OWN_TABLES)).rows)
    await client.query(`alter table ${name} set schema ${load.keptIn}`)
  for (const { name } of (await client.query<{ name: string }>(OWN_FUNCTIONS)).rows)
    await client.query(`alter function ${name} set schema ${load.keptIn}`)
  const objects = file
    .prepare("select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%'")
    .all() as readonly { readonly type: string; readonly name: string; readonly sql: string }[]
  for (const { type, name, sql } of objects) {
    if (type !== 'table') continue
    // The key of a row's own address has 64 bits in a file.
    await client.query(sql.replaceAll(/\binteger not null primary key/gi, 'bigint not null primary key'))
    await fillTable(client, file, name)
  }
  for (const { type, sql } of objects) if (type === 'index') await client.query(sql)
  for (const ddl of load.finish) await client.query(ddl)
}

async function fillTable(client: Client, file: SqliteConnection, name: string): Promise<void> {
  const columns = file.prepare(`select name, type from pragma_table_info('${name}')`).all() as readonly {
    readonly name: string
    readonly type: string
  }[]
  const names = columns.map((column) => column.name)
  const casts = columns.map(({ type }, index) => `$${index + 1}::${type}[]`)
  const insert = `insert into ${name} (${names.join(', ')}) select * from unnest(${casts.join(', ')})`
  const read = file.prepare(
    `select rowid as place, ${names.join(', ')} from ${name} where rowid > ? order by rowid limit ${LOADED_ROWS}`,
  )
  for (let place = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = read.all(place) as readonly Readonly<Record<string, unknown>>[]
    const last = rows.at(-1)
    if (last === undefined) return
    await client.query(
      insert,
      names.map((column) => rows.map((row) => row[column])),
    )
    place = Number(last.place)
  }
}

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
export async function copyPostgres(
  connect: () => Client,
  target: string,
  signal: AbortSignal,
): Promise<StoreCopy> {
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
