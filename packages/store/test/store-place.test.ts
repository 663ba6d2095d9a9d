import { spawn } from 'node:child_process'
import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, fakeClock, rounds, suite, tempDir } from '@steeple/testkit'
import type { Database } from '../src/database.ts'
import { openDatabase } from '../src/open.ts'
import { openSqliteConnection } from '../src/sqlite-binding.ts'
import { failure, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'
import { acceptLoss, commitAfter, commitsMissing } from '../src/wal-check.ts'

const place = suite('store/place')
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = fakeClock()

const open = (path: string): Promise<Database> => openDatabase({ url: `sqlite:${path}`, clock, log })
const add = (db: Database, id: string): Promise<void> => db.transact((tx) => TOY.insert(tx, toy(id)))
const ids = async (db: Database): Promise<readonly string[]> =>
  (await db.all<{ readonly id: string }>('select id from toy_item order by id')).map(({ id }) => id)

/** As the check of the store has it, in a process with a connection of its own. */
const problemsOfFile = (db: Database): Promise<readonly string[]> =>
  db.fileProblems(new AbortController().signal)

/** A store with two rows that still are in its WAL alone. */
async function inUse(work: (db: Database, path: string) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const db = await open(path)
  try {
    await db.migrate('toy', TOY_MIGRATIONS)
    await add(db, 'a')
    await add(db, 'b')
    await work(db, path)
  } finally {
    await db.close()
  }
}

place('answers no change after the store was removed, and says so', async () => {
  await inUse(async (db, path) => {
    for (const part of ['', '-wal', '-shm']) await rm(path + part)
    const error = await failure(() => add(db, 'c'))
    assert.is(error?.code, 'store_unavailable')
    assert.match(error?.message ?? '', /svc\.db was removed while the service runs.*put .*svc\.db back/)
    assert.match((await db.probe()) ?? '', /svc\.db was removed/)
    assert.match(db.writeTrouble() ?? '', /svc\.db was removed/)
    assert.equal(await ids(db), ['a', 'b'])
  })
})

place('answers no change after another store was put in its place', async () => {
  await inUse(async (db, path) => {
    await copyFile(path, `${path}.other`)
    await rename(`${path}.other`, path)
    assert.match((await failure(() => add(db, 'c')))?.message ?? '', /svc\.db was replaced by another file/)
  })
})

place('takes changes again when the very file is back', async () => {
  await inUse(async (db, path) => {
    await rename(path, `${path}.away`)
    assert.ok(await failure(() => add(db, 'c')))
    await rename(`${path}.away`, path)
    await add(db, 'd')
    assert.equal(await ids(db), ['a', 'b', 'd'])
    assert.is(await db.probe(), undefined)
  })
})

place('saves what was answered when the WAL alone was removed', async () => {
  await inUse(async (db, path) => {
    await rm(`${path}-wal`)
    const error = await failure(() => add(db, 'c'))
    assert.match(error?.message ?? '', /svc\.db-wal was removed.*all that was answered is in .*svc\.db now/)
    // As after kill -9: the database alone, read by another process's connection.
    await copyFile(path, `${path}.after`)
    const after = await open(`${path}.after`)
    assert.equal(await ids(after), ['a', 'b'])
    await after.close()
  })
})

place('saves what was answered when somebody has opened the store since its WAL was removed', async () => {
  await inUse(async (db, path) => {
    await rm(`${path}-wal`)
    // It cannot read what is in the WAL that is gone.
    assert.ok(await failure(() => problemsOfFile(db)))
    const error = await failure(() => add(db, 'c'))
    assert.match(
      error?.message ?? '',
      /svc\.db-wal was replaced by another file.*all that was answered is in .*svc\.db now/,
    )
    await copyFile(path, `${path}.after`)
    const after = await open(`${path}.after`)
    assert.equal(await ids(after), ['a', 'b'])
    await after.close()
  })
})

/** Adds rows with an open store in a process of its own, which kills itself. */
async function killed(path: string, rows: readonly string[]): Promise<void> {
  const source = `
    const { openDatabase } = await import(${JSON.stringify(new URL('../src/open.ts', import.meta.url).href)})
    const quiet = () => undefined
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
    const db = await openDatabase({ url: ${JSON.stringify(`sqlite:${path}`)}, clock, log })
    await db.transact((tx) => tx.run("create table if not exists toy_item (id text)"))
    for (const id of ${JSON.stringify(rows)})
      await db.transact((tx) => tx.run("insert into toy_item (id) values (:id)", { id }))
    process.kill(process.pid, 'SIGKILL')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('close', resolve))
}

/** A killed store with the rows a to e, of which the WAL alone has most. */
async function withKilled(work: (path: string, folder: string) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await killed(path, ROWS)
  await work(path, dir.path)
}
const ROWS = ['a', 'b', 'c', 'd', 'e']

/** The rows that the store has when it opens. */
async function rowsOf(path: string): Promise<readonly string[]> {
  const db = await open(path)
  try {
    return await ids(db)
  } finally {
    await db.close()
  }
}

place(
  'refuses at the start a store whose WAL has vanished with answered commits, until that is accepted',
  async () => {
    await withKilled(async (path, folder) => {
      const wal = `${path}-wal`
      await rename(wal, `${wal}.away`)
      const error = await failure(() => open(path))
      assert.is(error?.code, 'store_invalid')
      assert.match(
        error?.message ?? '',
        /svc\.db lacks the last 5 answered commit.*-wal is missing.*svc store accept/,
      )
      await rename(`${wal}.away`, wal)
      assert.equal(await rowsOf(path), ROWS)
      assert.equal(await readdir(folder), ['svc.db', 'svc.db-committed'])
      assert.match(
        (await failure(async () => void (await acceptLoss(path, 'x'))))?.message ?? '',
        /lacks nothing that was answered/,
      )
    })
  },
)

place('opens a killed store that somebody has looked into, whose WAL is in the database since', async () => {
  await withKilled(async (path, folder) => {
    const look = openSqliteConnection(path, 'write')
    look.prepare('select count(*) as n from toy_item').get()
    look.close()
    assert.equal(await readdir(folder), ['svc.db', 'svc.db-committed'])
    assert.equal(await rowsOf(path), ROWS)
  })
})

place('is never without an answered commit for a flipped byte of the WAL, wherever it is', async () => {
  await withKilled(async (path, folder) => {
    const wal = await readFile(`${path}-wal`)
    const [database, note] = [await readFile(path), await readFile(`${path}-committed`)]
    const seen = { refused: 0, whole: 0 }
    const last = wal.length - 8_300
    const flips = rounds(40)
    // Each fourth in the last commit, which looks like one that a power cut has torn.
    const spread = Array.from({ length: flips }, (_, n) =>
      Math.floor(n % 4 === 0 ? last + (n * 8_300) / flips : (n * wal.length) / flips),
    )
    const header = [0, 3, 6, 10, 11, 14, 17, 23, 26, 31]
    for (const [n, at] of [...header, ...spread].entries()) {
      const flipped = Buffer.from(wal)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (n % 8))
      for (const name of await readdir(folder)) await rm(join(folder, name))
      await writeFile(path, database)
      await writeFile(`${path}-wal`, flipped)
      await writeFile(`${path}-committed`, note)
      const error = await failure(async () => assert.equal(await rowsOf(path), ROWS, `octet ${at}`))
      if (error !== undefined) assert.is(error.code, 'store_invalid', error.message)
      if (error !== undefined)
        assert.match(error.message, /-wal is damaged|lacks the last \d+ answered commit/)
      seen[error === undefined ? 'whole' : 'refused'] += 1
    }
    assert.ok(seen.refused > header.length + flips / 2, JSON.stringify(seen))
  })
})

place('goes on without what a damaged WAL has lost once that is accepted, and keeps the WAL', async () => {
  await withKilled(async (path, folder) => {
    const wal = await readFile(`${path}-wal`)
    wal[wal.length - 1] = (wal.at(-1) ?? 0) ^ 1
    await writeFile(`${path}-wal`, wal)
    assert.match((await failure(() => open(path)))?.message ?? '', /lacks the last 1 answered commit/)
    assert.match(await acceptLoss(path, 'then'), /lacks the last 1 answered commit/)
    assert.equal(await rowsOf(path), ['a', 'b', 'c', 'd'])
    assert.equal(await readFile(join(folder, 'svc.db-wal-then')), wal)
  })
})

place('refuses an older copy of the store, and takes one that is as new', async () => {
  await withKilled(async (path) => {
    assert.equal(await rowsOf(path), ROWS)
    await copyFile(path, `${path}.older`)
    const db = await open(path)
    await db.transact((tx) => tx.run("insert into toy_item (id) values ('f')"))
    await db.close()
    await copyFile(path, `${path}.newest`)
    await copyFile(`${path}.older`, path)
    assert.match((await failure(() => open(path)))?.message ?? '', /lacks the last 1 answered.*an older copy/)
    await copyFile(`${path}.newest`, path)
    assert.equal(await rowsOf(path), [...ROWS, 'f'])
  })
})

place('believes no damaged note, and writes no number for what changes nothing', async () => {
  await withKilled(async (path) => {
    const note = await readFile(`${path}-committed`, 'latin1')
    await writeFile(`${path}-committed`, note.replace('5', '9'))
    const db = await open(path)
    await db.transact((tx) => tx.run("delete from toy_item where id = 'none'"))
    assert.not.match(await readFile(`${path}-committed`, 'latin1'), /6/)
    await db.close()
    assert.equal(await rowsOf(path), ROWS)
  })
})

place('takes numbers that went round for what they are', () => {
  const last = 2 ** 31 - 1
  assert.is(commitAfter(last), 0)
  assert.is(commitsMissing(last, 0), 1)
  assert.is(commitsMissing(0, last), 0)
  assert.is(commitsMissing(7, undefined), 0)
})

place.run()
