import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { defineTable, type Migration, type Table } from '@steeple/contracts'
import { type FakeClock, fakeClock, type Suite, suite, tempDir } from '@steeple/testkit'
import { Client } from 'pg'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'
import { openSqliteConnection } from './sqlite-binding.ts'

/** A row of the tests' own plugin `toy`. */
export interface ToyRow {
  readonly id: string
  readonly n: number
  readonly label: string | null
}

export const TOY_MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_item',
    up: [
      'create table toy_item (id text not null primary key, n bigint not null, label text, row_sum bigint not null)',
    ],
  },
]
export const TOY: Table<ToyRow> = defineTable('toy_item', ['id', 'n', 'label'], ['id'])

export function toy(id: string, n = 0, label: string | null = null): ToyRow {
  return { id, n, label }
}

/** A store of one test: a file or a schema of its own. */
export interface StoreBox {
  readonly dialect: 'sqlite' | 'postgres'
  readonly url: string
  readonly clock: FakeClock
  /** What the store has logged. */
  readonly lines: readonly string[]
  /** Opens it; may be called again, also while it is open (another instance). */
  open(): Promise<Database>
  /** Runs SQL past the service, as somebody with access to the database would. */
  raw(sql: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

type Define = (test: Suite, store: () => Promise<StoreBox>) => void

/** Defines the same tests for SQLite and, when SVC_TEST_PG_URL says where one is, for PostgreSQL. */
export function onEachStore(name: string, define: Define): { run(): void } {
  const test = suite(`${name} on sqlite`)
  define(test, sqliteBox)
  const postgres = onPostgres(name, define)
  return {
    run: () => {
      test.run()
      postgres.run()
    },
  }
}

/** Makes tests that are given an opened store of their own, and the box that it is in. */
export function opened(
  test: Suite,
  store: () => Promise<StoreBox>,
): (sentence: string, work: (db: Database, box: StoreBox) => Promise<void>) => void {
  return (sentence, work) =>
    test(sentence, async () => {
      await using box = await store()
      await work(await box.open(), box)
    })
}

/** Defines tests for PostgreSQL alone; none when SVC_TEST_PG_URL does not say where one is. */
export function onPostgres(name: string, define: Define): { run(): void } {
  const url = process.env.SVC_TEST_PG_URL ?? ''
  const test = suite(`${name} on postgres`)
  if (url === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
  else define(test, () => postgresBox(url))
  return test
}

async function sqliteBox(): Promise<StoreBox> {
  const dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const raw = async (sql: string): Promise<void> => {
    const connection = openSqliteConnection(path, 'write')
    try {
      connection.exec(sql)
    } finally {
      connection.close()
    }
  }
  return boxOf('sqlite', `sqlite:${path}`, raw, dir.remove)
}

async function postgresBox(baseUrl: string): Promise<StoreBox> {
  const schema = `t_${randomBytes(6).toString('hex')}`
  const url = new URL(baseUrl)
  url.searchParams.set('options', `-c search_path=${schema}`)
  // So that a test can cut the connections of its own store alone.
  url.searchParams.set('application_name', schema)
  const raw = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: url.href })
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }
  await raw(`create schema ${schema}`)
  return boxOf('postgres', url.href, raw, () => raw(`drop schema ${schema} cascade`))
}

function boxOf(
  dialect: StoreBox['dialect'],
  url: string,
  raw: StoreBox['raw'],
  remove: () => Promise<void>,
): StoreBox {
  const clock = fakeClock()
  const lines: string[] = []
  const note = (facts: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(facts)}`)
  const log = { debug: note, info: note, warn: note, error: note }
  const opened: Database[] = []
  return {
    dialect,
    url,
    clock,
    lines,
    raw,
    open: async () => {
      const db = await openDatabase({ url, clock, log })
      opened.push(db)
      return db
    },
    [Symbol.asyncDispose]: async () => {
      for (const db of opened) await db.close()
      await remove()
    },
  }
}

/** The error that `work` rejects with, or undefined. */
export async function failure(
  work: () => Promise<unknown>,
): Promise<(Error & { code?: string; status?: number }) | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
