import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  createTurns,
  type Db,
  defineTable,
  type Migration,
  type Plugin,
  type Reader,
  type SqlParams,
  type SqlValue,
  type Table,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { suite } from '../suite.ts'

type Row = Readonly<Record<string, SqlValue>>

/** What a released version has made of its tables, as `scripts/freeze-release.mjs` keeps it. */
export interface Release {
  readonly version: string
  readonly migrations: readonly Migration[]
  readonly tables: readonly TableSpec[]
  /** By table, with their sums; octets as `{hex}`. */
  readonly rows: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
}

/** What of a plugin its releases bind. */
export type Released = Pick<Plugin<never>, 'migrations' | 'tables'>

/**
 * Registers the tests that every plugin with tables passes: from each release in `folder` it upgrades, and back to it,
 * with rows in its tables.
 */
export function releaseConformance(name: string, plugin: Released, folder: URL): void {
  const releases = suite(`${name}: release conformance`)
  for (const file of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
    // Written by the script, never by hand.
    const release = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Release
    for (const [sentence, check] of RELEASE_CHECKS)
      releases(`${release.version}: ${sentence}`, () => check(plugin, release))
  }
  releases.run()
}

/** The checks, each alone. */
export const RELEASE_CHECKS: readonly (readonly [
  sentence: string,
  check: (plugin: Released, release: Release) => Promise<void>,
])[] = [
  ['leaves the migrations that it has shipped as they are', keepsMigrations],
  ['puts new columns behind those that it had', keepsColumns],
  ['upgrades every row of it', upgrades],
  ['is read by it after a roll-back, and reads what it then wrote', rollsBack],
]

async function keepsMigrations(plugin: Released, release: Release): Promise<void> {
  const kept = (plugin.migrations ?? []).slice(0, release.migrations.length)
  assert.equal(
    kept.map(({ id, up }) => ({ id, up })),
    release.migrations,
  )
}

async function keepsColumns({ tables = [] }: Released, release: Release): Promise<void> {
  for (const { name, columns, key } of release.tables) {
    const now = tables.find((table) => table.name === name)
    assert.ok(now, `${name} is gone; the version before reads it after a roll-back`)
    assert.equal([now.columns.slice(0, columns.length), now.key], [columns, key], name)
  }
}

async function upgrades(plugin: Released, release: Release): Promise<void> {
  const db = await upgraded(plugin, release)
  for (const table of tablesOf(plugin)) {
    const before = release.rows[table.name]
    const rows = await readAll(db, table)
    if (before !== undefined) assert.ok(rows.length >= before.length, `${table.name} has lost rows`)
  }
  db.close()
}

async function rollsBack(plugin: Released, release: Release): Promise<void> {
  const db = await upgraded(plugin, release)
  const newest = tablesOf(plugin)
  const older = tablesOf(release)
  for (const table of newest) {
    const rows = await readAll(db, table)
    await db.write(async (tx) => {
      for (const row of rows) await table.put(tx, row)
    })
    older.find(({ name }) => name === table.name)?.learn(table.columns)
  }
  for (const table of older) {
    const rows = await readAll(db, table)
    assert.ok(rows.length > 0, `${table.name} has no rows after a roll-back`)
    await db.write(async (tx) => {
      for (const row of rows) {
        await table.remove(tx, row)
        await table.insert(tx, row)
      }
    })
  }
  for (const table of newest) await readAll(db, table)
  db.close()
}

function tablesOf({ tables = [] }: Pick<Released, 'tables'>): readonly Table<Row>[] {
  return tables.map(({ name, columns, key }) => defineTable<Row>(name, columns, key))
}

/** Every row, checked. */
async function readAll(db: MemoryDb, table: Table<Row>): Promise<readonly Row[]> {
  return table.select(db, '')
}

/** A store as the release left it, brought up to the plugin as it is now. */
async function upgraded(plugin: Released, release: Release): Promise<MemoryDb> {
  const db = memoryDb(release.migrations)
  await db.write(async (tx) => {
    for (const [name, rows] of Object.entries(release.rows)) {
      for (const row of rows) {
        const columns = Object.keys(row)
        const values = columns.map((column) => `:${column}`).join(', ')
        await tx.run(`insert into ${name} (${columns.join(', ')}) values (${values})`, withOctets(row))
      }
    }
  })
  const all = plugin.migrations ?? []
  for (const { up } of all.slice(release.migrations.length)) for (const sql of up) db.exec(sql)
  for (const { rows } of all) {
    let after: SqlParams | undefined
    do after = await db.write(async (tx) => rows?.(tx, after))
    while (after !== undefined)
  }
  return db
}

function withOctets(row: Readonly<Record<string, unknown>>): SqlParams {
  const values: Record<string, SqlValue> = {}
  for (const [column, value] of Object.entries(row)) {
    const isOctets = typeof value === 'object' && value !== null && 'hex' in value
    // What the script writes is a text, a number, null or octets.
    values[column] = isOctets ? Buffer.from(String(value.hex), 'hex') : (value as SqlValue)
  }
  return values
}

/** A store handle over SQLite in memory, for tests of a plugin's own tables. */
export interface MemoryDb extends Db {
  /** Runs statements as they are, also those that a plugin must not run. */
  exec(sql: string): void
  close(): void
}

/** A prepared statement that takes its parameters by name. */
interface Statement {
  get(params?: SqlParams): object | undefined
  all(params?: SqlParams): object[]
  run(params?: SqlParams): { readonly changes: number | bigint }
}

/**
 * Opens an empty in-memory database, or that in a file, and runs `migrations`.
 *
 * One writer at a time, as in the kernel; reads see committed rows only between transactions. `join` gives the
 * transaction back unrestricted: table names are the kernel's to check.
 */
export function memoryDb(migrations: readonly Migration[] = [], path = ':memory:'): MemoryDb {
  const database = new DatabaseSync(path)
  const statements = new Map<string, Statement>()
  for (const { up } of migrations) for (const sql of up) database.exec(sql)
  const statement = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const { text, names } = byPlace(sql)
    const prepared = database.prepare(text)
    const values = (params: SqlParams): SqlValue[] => names.map((name) => params[name] ?? null)
    const made: Statement = {
      get: (params = {}) => prepared.get(...values(params)),
      all: (params = {}) => prepared.all(...values(params)),
      run: (params = {}) => prepared.run(...values(params)),
    }
    statements.set(sql, made)
    return made
  }
  const inTurn = createTurns()
  const rawReader: Reader = {
    // The caller names the type of its rows.
    get: async <Row>(sql: string, params: SqlParams = {}) =>
      plain(statement(sql).get(params)) as Row | undefined,
    all: async <Row>(sql: string, params: SqlParams = {}) => statement(sql).all(params).map(plain) as Row[],
  }
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTurn(async () => {
      const committed: (() => void)[] = []
      const tx: Tx = {
        ...rawReader,
        run: async (sql, params = {}) => Number(statement(sql).run(params).changes),
        afterCommit: (step) => {
          committed.push(step)
        },
      }
      database.exec('begin immediate')
      try {
        const result = await work(tx)
        database.exec('commit')
        for (const step of committed) step()
        return result
      } catch (error) {
        database.exec('rollback')
        throw error
      }
    })
  return {
    dialect: 'sqlite',
    get: (sql, params) => inTurn(() => rawReader.get(sql, params)),
    all: (sql, params) => inTurn(() => rawReader.all(sql, params)),
    write,
    join: (tx) => tx,
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  }
}

/** The parameters of a statement in the order of their places: SQLite looks for each name among all of them. */
function byPlace(sql: string): { readonly text: string; readonly names: readonly string[] } {
  const names: string[] = []
  const text = sql.replace(/'[^']*'|:([A-Za-z_]\w*)/g, (found, name?: string) => {
    if (name === undefined) return found
    names.push(name)
    return '?'
  })
  return { text, names }
}

function plain(row: object | undefined): object | undefined {
  return row === undefined ? undefined : { ...row }
}
