import { join } from 'node:path'
import { assert, tempDir } from '@steeple/testkit'
import type { openDatabase } from '../src/open.ts'
import { loadPostgres } from '../src/postgres-copy.ts'
import { openSqliteConnection } from '../src/sqlite-binding.ts'
import { onEachStore, onPostgres } from '../src/testing.ts'

const DDL = [
  `create table toy_item (id text not null primary key, n bigint not null, label text default 'none', share double precision,
    sealed bytea, row_sum bigint not null)`,
  'create index toy_item_n on toy_item (n, id)',
  'create unique index toy_item_label on toy_item (label) where label is not null',
]
const ROWS = 1_500
const BATCH = 100
const INSERT =
  'insert into toy_item (id, n, label, share, sealed, row_sum) values (:id, :n, :label, :share, :sealed, 1)'

type Fill = Awaited<ReturnType<typeof openDatabase>>

async function fill(db: Fill): Promise<void> {
  await db.migrate('toy', [{ id: '0001_item', up: DDL }])
  // A transaction may not take longer than the store allows, on a busy machine either.
  for (let first = 0; first < ROWS; first += BATCH)
    await db.transact(async (tx) => {
      for (let n = first; n < first + BATCH; n++) await tx.run(INSERT, rowOf(n))
    })
}

function rowOf(n: number): Readonly<Record<string, number | string | null | Buffer>> {
  const label = n % 3 === 0 ? null : `ä ${n}`
  return { id: `i${n}`, n: 2 ** 40 + n, label, share: n / 7, sealed: Buffer.from([0, n % 256, 255]) }
}

/** All rows of a copy, by id. */
function rowsOf(path: string): readonly Readonly<Record<string, unknown>>[] {
  const file = openSqliteConnection(path, 'read')
  try {
    return file.prepare('select * from toy_item order by n').all() as readonly Readonly<
      Record<string, unknown>
    >[]
  } finally {
    file.close()
  }
}

const copies = onEachStore('a copy of a store', (test, store) => {
  test('holds every row of one moment, while others are written', async () => {
    await using dir = await tempDir()
    await using box = await store()
    const db = await box.open()
    await fill(db)
    const target = join(dir.path, 'copy.db')
    let isOver = false
    const writing = (async () => {
      for (let n = 0; !isOver; n++)
        // Two rows that are always written together.
        await db.transact(async (tx) => {
          for (const half of ['a', 'b'])
            await tx.run(INSERT, { id: `${half}${n}`, n, label: null, share: null, sealed: null })
        })
    })()
    const { counts, schema } = await db.copyTo(target, new AbortController().signal)
    isOver = true
    await writing
    const rows = rowsOf(target)
    assert.is(counts.toy_item, rows.length)
    assert.equal(schema, { toy: '0001_item' })
    const before = rows.filter(({ id }) => String(id).startsWith('i'))
    assert.is(before.length, ROWS)
    assert.equal(before[7], {
      id: 'i7',
      n: 2 ** 40 + 7,
      label: 'ä 7',
      share: 1,
      sealed: Buffer.from([0, 7, 255]),
      row_sum: 1,
    })
    const during = rows.length - ROWS
    assert.is(during % 2, 0, 'half of a commit is in the copy')
  })

  test('that is given up leaves the store as it was', async () => {
    await using dir = await tempDir()
    await using box = await store()
    const db = await box.open()
    await fill(db)
    const signal = AbortSignal.abort()
    const failed = await db.copyTo(join(dir.path, 'copy.db'), signal).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.instance(failed, Error)
    assert.equal(await db.get('select count(*) as n from toy_item'), { n: ROWS })
  })
})

const loads = onPostgres('a copy that takes the place of a store', (test, store) => {
  test('brings every row, once, and keeps the tables there were', async () => {
    await using dir = await tempDir()
    await using box = await store()
    const db = await box.open()
    await fill(db)
    const file = join(dir.path, 'copy.db')
    await db.copyTo(file, new AbortController().signal)
    await db.transact((tx) => tx.run("update toy_item set label = null where id = 'i7'"))
    await db.transact((tx) => tx.run("delete from toy_item where id = 'i8'"))
    await db.close()
    const keptIn = `restore_${Date.now().toString(36)}_${process.pid}`
    const load = { url: box.url, file, keptIn, finish: [] }
    await loadPostgres(load)
    // Cut off after its commit, it is asked for again.
    await loadPostgres(load)
    const again = await box.open()
    assert.equal(await again.get('select count(*) as n from toy_item'), { n: ROWS })
    assert.equal(await again.get("select label, n, sealed from toy_item where id = 'i7'"), {
      label: 'ä 7',
      n: 2 ** 40 + 7,
      sealed: Buffer.from([0, 7, 255]),
    })
    assert.equal(await again.get(`select count(*) as n from ${keptIn}.toy_item`), { n: ROWS - 1 })
    await again.close()
    await box.raw(`drop schema ${keptIn} cascade`)
  })
})

copies.run()
loads.run()
