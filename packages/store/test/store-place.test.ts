import { spawn } from 'node:child_process'
import { copyFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import type { Database } from '../src/database.ts'
import { openDatabase } from '../src/open.ts'
import { failure, TOY, TOY_MIGRATIONS, toy } from '../src/testing/index.ts'

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

/** Runs `code` with an open store in a process of its own, which kills itself. */
async function killed(path: string): Promise<void> {
  const source = `
    const { openDatabase } = await import(${JSON.stringify(new URL('../src/open.ts', import.meta.url).href)})
    const quiet = () => undefined
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
    const db = await openDatabase({ url: ${JSON.stringify(`sqlite:${path}`)}, clock, log })
    await db.transact((tx) => tx.run("create table toy_item (id text)"))
    await db.transact((tx) => tx.run("insert into toy_item (id) values ('a')"))
    process.kill(process.pid, 'SIGKILL')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('close', resolve))
}

place('refuses at the start a store whose WAL has vanished since it was killed', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await killed(path)
  const wal = `${path}-wal`
  await rename(wal, `${wal}.away`)
  const error = await failure(() => open(path))
  assert.is(error?.code, 'store_invalid')
  assert.match(error?.message ?? '', /svc\.db-wal is missing .*remove .*svc\.db-in-use/)
  await rename(`${wal}.away`, wal)
  const db = await open(path)
  assert.equal(await ids(db), ['a'])
  await db.close()
  assert.equal(await readdir(dir.path), ['svc.db'], 'a proper end leaves no mark')
})

place('opens a store that was killed and then closed properly by a command', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  await killed(path)
  await (await open(path)).close()
  const db = await open(path)
  assert.equal(await ids(db), ['a'])
  await db.close()
})

place.run()
