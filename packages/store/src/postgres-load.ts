import type { Client } from 'pg'
import { postgresSettings } from './postgres-settings.ts'
import { openSqliteConnection, type SqliteConnection } from './sqlite-binding.ts'
import { postgresError } from './store-error.ts'

/** What takes the place of the tables of a PostgreSQL store. */
export interface PostgresLoad {
  readonly url: string
  /** The SQLite file, as `Database.copyTo` makes it. */
  readonly file: string
  /** A schema that does not exist: the tables there were go there. */
  readonly keptIn: string
  /** DDL behind the rows: triggers, tables that a file has not. */
  readonly finish: readonly string[]
}

const SLICE_ROWS = 1_000
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
    `select rowid as place, ${names.join(', ')} from ${name} where rowid > ? order by rowid limit ${SLICE_ROWS}`,
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
