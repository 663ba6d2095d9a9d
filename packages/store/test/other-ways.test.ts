import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, fakeClock, rounds, suite, tempDir } from '@steeple/testkit'
import type { Database } from '../src/database.ts'
import { openDatabase } from '../src/open.ts'
import { OtherWays, withoutIndexes } from '../src/sqlite-backend.ts'
import { openSqliteConnection } from '../src/sqlite-binding.ts'
import { failure, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

const ways = suite('store/other-ways')
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = fakeClock()
/** Enough for an index of several pages. */
const ROWS = 400
const PAGE = 4_096
const idOf = (n: number): string => `key-${String(n).padStart(24, '0')}`
const rowOf = (n: number) => toy(idOf(n), n, `label ${n}`)
const open = (path: string): Promise<Database> => openDatabase({ url: `sqlite:${path}`, clock, log })

interface Stored {
  readonly bytes: Buffer
  /** Numbers of the pages of the index of their keys. */
  readonly pages: readonly number[]
  /** The store with one octet changed. */
  damaged(at: number, mask: number): Promise<Database>
}

async function stored(work: (store: Stored) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const db = await open(path)
  await db.migrate('toy', TOY_MIGRATIONS)
  await db.transact(async (tx) => {
    for (let n = 0; n < ROWS; n++) await TOY.insert(tx, rowOf(n))
  })
  await db.close()
  const look = openSqliteConnection(path, 'read')
  const root = look.prepare("select rootpage from sqlite_schema where name = 'sqlite_autoindex_toy_item_1'")
  const { rootpage } = root.get() as { readonly rootpage: number }
  look.close()
  const bytes = await readFile(path)
  // An inner page of an index: 2, …, how many cells, …, the page on the right, where the cells are; each begins with the page on its left.
  const at = (rootpage - 1) * PAGE
  assert.is(bytes[at], 2)
  const cells = Array.from({ length: bytes.readUInt16BE(at + 3) }, (_, n) =>
    bytes.readUInt16BE(at + 12 + 2 * n),
  )
  const below = [bytes.readUInt32BE(at + 8), ...cells.map((cell) => bytes.readUInt32BE(at + cell))]
  await work({
    bytes,
    pages: [rootpage, ...below],
    damaged: async (where, mask) => {
      const changed = Buffer.from(bytes)
      changed[where] = (changed[where] ?? 0) ^ mask
      await writeFile(path, changed)
      return await open(path)
    },
  })
}

/** Where the octets of a key stand in its index. */
function placeOf({ bytes, pages }: Stored, id: string): number {
  const places = pages.map((page) => bytes.subarray((page - 1) * PAGE, page * PAGE).indexOf(id))
  const found = places.findIndex((at) => at >= 0)
  assert.ok(found >= 0, `${id} is in no page of the index`)
  return ((pages[found] ?? 0) - 1) * PAGE + (places[found] ?? 0)
}

ways('finds, lists and changes a row that its index hides, before the check of the file and after', () =>
  stored(async (store) => {
    const id = idOf(123)
    const db = await store.damaged(placeOf(store, id) + 5, 0x40)
    assert.equal(await TOY.find(db, { id }), rowOf(123))
    assert.is(db.mayMissRows(), false, 'nobody has looked so far')

    assert.match((await db.fileProblems(new AbortController().signal)).join(), /^toy_item: .*toy_item_1/)
    assert.is(db.mayMissRows(), true)
    assert.equal(await TOY.find(db, { id }), rowOf(123))
    const list = 'select t.n from toy_item as t where t.id in (:one, :other) order by t.n'
    assert.equal(await db.all(list, { one: id, other: idOf(124) }), [{ n: 123 }, { n: 124 }])
    assert.is(await TOY.find(db, { id: 'none' }), undefined)
    assert.is(await db.transact((tx) => TOY.change(tx, rowOf(123), toy(id, 123, 'other'))), true)
    assert.equal(await TOY.find(db, { id }), toy(id, 123, 'other'))
    await db.close()
  }),
)

ways('gives a row, or an error, for any flipped byte of its index', () =>
  stored(async (store) => {
    for (let round = 0; round < rounds(40); round++) {
      const page = store.pages[round % store.pages.length] ?? 0
      const at = (page - 1) * PAGE + ((round * 397) % PAGE)
      const db = await store.damaged(at, 1 << (round % 8))
      for (let n = 0; n < ROWS; n += 13) {
        const error = await failure(async () =>
          assert.equal(await TOY.find(db, { id: idOf(n) }), rowOf(n), `row ${n}, octet ${at}`),
        )
        if (error !== undefined) assert.is(error.code, 'store_corrupt', error.message)
      }
      await db.close()
    }
  }),
)

ways('asks once alone when the file is whole, and not for a table that is', () => {
  const find = 'select id from toy_item where id = :id'
  const whole = new OtherWays()
  whole.checked([])
  assert.is(
    whole.textFor(find, false, () => 1),
    undefined,
  )
  const other = new OtherWays()
  other.checked([{ table: 'another', reason: 'row 1 missing from index' }])
  assert.is(
    other.textFor(find, false, () => 1),
    undefined,
  )
  assert.is(other.isDamaged, true)
})

ways('looks past indexes for a part of the time alone, and then says that it cannot tell', () => {
  const find = 'select id from toy_item where id = :id'
  const rows = (): number => 1_000
  const unknown = new OtherWays()
  assert.is(unknown.textFor(find, false, rows), 'select id from toy_item not indexed where id = :id')
  assert.is(unknown.textFor(find, true, rows), undefined)
  assert.is(
    unknown.textFor(find, false, () => 1_000_000),
    undefined,
  )
  unknown.spent(10_000)
  assert.is(unknown.textFor(find, false, rows), undefined)
  unknown.checked(undefined)
  assert.throws(() => unknown.textFor(find, false, rows), /so this may exist or not/)
})

ways('names no index in statements of every form', () => {
  const forms: Readonly<Record<string, string | undefined>> = {
    'select a.n from toy_item a, other as b where a.id = b.id':
      'select a.n from toy_item a not indexed, other as b not indexed where a.id = b.id',
    'select n from toy_item join other on other.id = toy_item.id':
      'select n from toy_item not indexed join other not indexed on other.id = toy_item.id',
    'select n from (select n from toy_item order by n) limit 1':
      'select n from (select n from toy_item not indexed order by n) limit 1',
    'update toy_item set n = 1 where id = :id': 'update toy_item not indexed set n = 1 where id = :id',
    'delete from "toy_item" where n in (select n from other)':
      'delete from "toy_item" not indexed where n in (select n from other not indexed)',
    'insert into toy_item (id) values (:id) on conflict (id) do nothing': undefined,
    'select 1 as one': undefined,
  }
  for (const [sql, text] of Object.entries(forms)) assert.is(withoutIndexes(sql)?.text, text, sql)
})

ways.run()
