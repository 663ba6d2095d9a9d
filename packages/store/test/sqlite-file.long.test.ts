import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, fakeClock, suite, tempDir } from '@steeple/testkit'
import type { Database } from '../src/database.ts'
import { databaseOver, openDatabase } from '../src/open.ts'
import { scanIntegrity } from '../src/scan-memory.ts'
import { openSqliteConnections, sqliteBackend } from '../src/sqlite-backend.ts'
import { openSqliteConnection, sqliteFileProblems } from '../src/sqlite-binding.ts'
import { isOtherSchema } from '../src/store-error.ts'
import { failure, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

const file = suite('store/sqlite-file')
const lines: string[] = []
const note = (_facts: object, message: string): void => void lines.push(message)
const log = { debug: note, info: note, warn: note, error: note }
const clock = fakeClock()

async function filled(path: string, rows: number): Promise<Database> {
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  await db.migrate('toy', TOY_MIGRATIONS)
  for (let n = 0; n < rows; n++)
    await db.transact((tx) => TOY.insert(tx, toy(`id-${n}`, n, `needle-${n}-needle`)))
  return db
}

/** Replaces one byte of the first place where `needle` stands. */
async function flip(path: string, needle: string): Promise<void> {
  const bytes = await readFile(path)
  const at = bytes.indexOf(needle)
  assert.ok(at > 0, `${needle} is in ${path}`)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await writeFile(path, bytes)
}

file('makes the file readable by its owner alone', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const db = await filled(path, 1)
  for (const name of [path, `${path}-wal`]) assert.is((await stat(name)).mode & 0o777, 0o600)
  await db.close()
})

file('refuses a url that it does not know, a missing directory and a file that is no database', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await writeFile(path, 'this is not a database, whatever its name says. '.repeat(100))
  for (const url of [
    'sqlite:',
    'sqlite::memory:',
    'mysql://x',
    `sqlite:${dir.path}/no/svc.db`,
    `sqlite:${path}`,
  ]) {
    const error = await failure(() => openDatabase({ url, clock, log }))
    assert.is(error?.code, 'store_invalid', url)
  }
})

file('waits for a lock of another process without holding up the event loop', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const db = await filled(path, 1)
  const other = openSqliteConnection(path, 'write')
  other.prepare('begin immediate').run()
  const written = db.transact((tx) => TOY.insert(tx, toy('late', 7, 'late')))
  let turns = 0
  const turning = setInterval(() => {
    turns += 1
  }, 5)
  await eventually(() => turns >= 20)
  clearInterval(turning)
  assert.is((await db.all('select id from toy_item')).length, 1)
  other.prepare('rollback').run()
  other.close()
  await written
  assert.is((await db.all('select id from toy_item')).length, 2)
  await db.close()
})

file('answers 503 while the disk is full, keeps reading and writes again by itself', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const connections = openSqliteConnections(path)
  const db = databaseOver(sqliteBackend(path, connections), { clock, log })
  await db.migrate('toy', TOY_MIGRATIONS)
  await db.transact((tx) => TOY.insert(tx, toy('first')))
  // As a full disk does, this makes SQLite answer SQLITE_FULL.
  const pages = Number(connections.write.pragma('page_count', { simple: true }))
  connections.write.pragma(`max_page_count = ${pages}`)
  const big = 'x'.repeat(100_000)
  const ended = await Promise.all(
    ['a', 'b', 'c'].map((id) => failure(() => db.transact((tx) => TOY.insert(tx, toy(id, 0, big))))),
  )
  assert.equal(
    ended.map((error) => [error?.code, error?.status]),
    Array.from({ length: 3 }, () => ['store_unavailable', 503]),
  )
  assert.match(ended[0]?.message ?? '', /disk is full; free some space/)
  assert.equal(await TOY.find(db, { id: 'first' }), toy('first'))
  connections.write.pragma('max_page_count = 1000000')
  await db.transact((tx) => TOY.insert(tx, toy('after', 0, big)))
  assert.equal(await db.all('select id from toy_item order by id'), [{ id: 'after' }, { id: 'first' }])
  await db.close()
})

file('keeps nothing of a group whose transaction SQLite has ended by itself', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const connections = openSqliteConnections(path)
  const db = databaseOver(sqliteBackend(path, connections), { clock, log })
  await db.migrate('toy', TOY_MIGRATIONS)
  const ended = await Promise.all(
    ['a', 'b', 'c'].map((id) =>
      failure(() =>
        db.transact(async (tx) => {
          await TOY.insert(tx, toy(id))
          // As SQLite does after some errors of the disk.
          if (id === 'b') connections.write.exec('rollback')
          await TOY.insert(tx, toy(`${id}-more`))
        }),
      ),
    ),
  )
  assert.equal(
    ended.map((error) => error?.code),
    Array.from({ length: 3 }, () => 'store_unavailable'),
  )
  assert.equal(await TOY.select(db, ''), [])
  await db.transact((tx) => TOY.insert(tx, toy('d')))
  assert.is((await TOY.select(db, '')).length, 1)
  await db.close()
})

file('reports a flipped byte of a row and serves its neighbours', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await (await filled(path, 20)).close()
  await flip(path, 'needle-7-needle')
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  assert.is((await failure(() => TOY.find(db, { id: 'id-7' })))?.code, 'store_corrupt')
  assert.equal(await TOY.find(db, { id: 'id-8' }), toy('id-8', 8, 'needle-8-needle'))
  const report = await scanIntegrity(db, [TOY])
  assert.equal(report, {
    ok: false,
    rows: 20,
    problems: [{ table: 'toy_item', key: { id: 'id-7' }, reason: 'the row fails its checksum' }],
  })
  await db.close()
})

file('says of a column whose name was damaged that it is not there, and what to do', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await (await filled(path, 1)).close()
  await flip(path, 'label text')
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  for (const error of [
    await failure(() => TOY.find(db, { id: 'id-0' })),
    await failure(() => db.transact((tx) => TOY.insert(tx, toy('other')))),
  ]) {
    assert.is(error?.code, 'store_corrupt', error?.message)
    assert.match(error?.message ?? '', /no such column: label\)|no column named label\)/)
    assert.match(error?.message ?? '', /restore a backup/)
    assert.is(isOtherSchema(error), true)
  }
  assert.is(isOtherSchema(await failure(() => db.get('select 1 as one from gone'))), true)
  assert.is(isOtherSchema(await failure(() => db.get('select'))), false)
  await db.close()
})

file('says of a trigger whose function was damaged that it is not there', async () => {
  for (const [damaged, said] of [
    ['coalesce', /no such function: \w+\)/],
    [", '') = ''", /wrong number of arguments to function coalesce\(\)\)/],
  ] as const) {
    await using dir = await tempDir()
    const path = join(dir.path, 'svc.db')
    await (await filled(path, 1)).close()
    const connection = openSqliteConnection(path, 'write')
    connection.exec(
      `create trigger toy_guard before insert on toy_item when coalesce(new.id, '') = '' begin select raise(abort, 'no'); end`,
    )
    connection.close()
    await flip(path, damaged)
    const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
    const error = await failure(() => db.transact((tx) => TOY.insert(tx, toy('other'))))
    assert.is(error?.code, 'store_corrupt', error?.message)
    assert.match(error?.message ?? '', said)
    await db.close()
  }
})

file('says so of tables that are there before their migration', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await (await filled(path, 1)).close()
  const connection = openSqliteConnection(path, 'write')
  connection.exec('delete from kernel_migration')
  connection.close()
  const error = await failure(() => filled(path, 0))
  assert.is(error?.code, 'store_corrupt', error?.message)
  assert.match(error?.message ?? '', /table toy_item already exists/)
})

file('finds a page that lost its structure, beside the service', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await (await filled(path, 500)).close()
  assert.equal(await scanOf(path), { ok: true, rows: 500, problems: 0 })
  const bytes = await readFile(path)
  // Zeroes a page in the middle of the table.
  bytes.fill(0, 4096 * 6, 4096 * 7)
  await writeFile(path, bytes)
  const after = await scanOf(path)
  assert.not(after.ok)
  assert.ok(after.problems > 0)
})

async function scanOf(path: string): Promise<{ ok: boolean; rows: number; problems: number }> {
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  const { ok, rows, problems } = await scanIntegrity(db, [TOY])
  await db.close()
  return { ok, rows, problems: problems.length }
}

/** A store file with a WAL of ten commits that no checkpoint has copied, as kill -9 leaves it. */
async function killed(dir: string): Promise<string> {
  const path = join(dir, 'svc.db')
  await (await filled(path, 1)).close()
  const writer = openSqliteConnection(path, 'write')
  writer.pragma('synchronous = FULL')
  writer.pragma('wal_autocheckpoint = 0')
  for (let n = 0; n < 10; n++) writer.exec(`update toy_item set label = 'commit-${n}-commit'`)
  const copy = join(dir, 'killed.db')
  for (const end of ['', '-wal']) await writeFile(copy + end, await readFile(path + end))
  writer.close()
  return copy
}

file('opens the WAL of a killed process and has its last commit', async () => {
  await using dir = await tempDir()
  const path = await killed(dir.path)
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  assert.equal(await db.all('select label from toy_item'), [{ label: 'commit-9-commit' }])
  await db.close()
})

file('refuses a WAL whose damage would silently drop answered commits', async () => {
  await using dir = await tempDir()
  const path = await killed(dir.path)
  await flip(`${path}-wal`, 'commit-4-commit')
  const error = await failure(() => openDatabase({ url: `sqlite:${path}`, clock, log }))
  assert.is(error?.code, 'store_invalid')
  assert.match(error?.message ?? '', /-wal is damaged and at least \d+ answered commits/)
})

file('takes a torn last commit for what it is', async () => {
  await using dir = await tempDir()
  const path = await killed(dir.path)
  const { size } = await stat(`${path}-wal`)
  await truncate(`${path}-wal`, size - 100)
  const db = await openDatabase({ url: `sqlite:${path}`, clock, log })
  assert.equal(await db.all('select label from toy_item'), [{ label: 'commit-8-commit' }])
  await db.close()
})

file('accepts a WAL that still holds frames of an older generation', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await (await filled(path, 1)).close()
  const writer = openSqliteConnection(path, 'write')
  for (let n = 0; n < 10; n++) writer.exec(`update toy_item set n = ${n}`)
  writer.pragma('wal_checkpoint(RESTART)')
  writer.exec('update toy_item set n = 100')
  const copy = join(dir.path, 'killed.db')
  for (const end of ['', '-wal']) await writeFile(copy + end, await readFile(path + end))
  writer.close()
  const db = await openDatabase({ url: `sqlite:${copy}`, clock, log })
  assert.equal(await db.all('select n from toy_item'), [{ n: 100 }])
  await db.close()
})

file('gives a check up at any moment, and ends nobody with it', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const db = await filled(path, 1)
  await db.transact((tx) => tx.run('update toy_item set label = :label', { label: 'x'.repeat(3_000_000) }))
  const beganMs = performance.now()
  assert.equal(await sqliteFileProblems(path, new AbortController().signal), [])
  const wholeMs = performance.now() - beganMs
  // A thread that is ended while it loads SQLite ends the process: many moments around that one are tried.
  for (let n = 0; n < 60; n++) {
    const signal = AbortSignal.timeout(Math.round(wholeMs * (0.5 + n / 100)))
    const error = await failure(() => sqliteFileProblems(path, signal))
    assert.is(error === undefined || signal.aborted, true, error?.message)
  }
  assert.equal(await sqliteFileProblems(path, new AbortController().signal), [])
  await db.close()
})

file('finds the same wrong with a small file as with a large one', async () => {
  await using dir = await tempDir()
  for (const [name, rows] of Object.entries({ small: 200, large: 5_000 })) {
    const path = join(dir.path, name)
    const writer = openSqliteConnection(path, 'write')
    writer.exec('create table one (text text); create table two (text text)')
    const insert = writer.prepare('insert into two values (?)')
    writer.exec('begin')
    for (let n = 0; n < rows; n++) insert.run('y'.repeat(1_000))
    writer.exec('commit')
    writer.close()
    assert.equal(await sqliteFileProblems(path, new AbortController().signal), [], name)
    const bytes = await readFile(path)
    bytes.fill(0xff, bytes.length - 4_096, bytes.length - 4_088)
    await writeFile(path, bytes)
    const problems = sqliteFileProblems(path, new AbortController().signal)
    const error = await failure(async () => void (await problems))
    assert.is(error?.message, 'database disk image is malformed', name)
  }
})

file.run()
