import { copyFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { openSqliteConnections, type SqliteConnections } from '../src/sqlite-backend.ts'
import { openSqliteConnection } from '../src/sqlite-binding.ts'
import { type Checkpoints, type CheckpointsOf, sqliteCheckpoints } from '../src/sqlite-checkpoints.ts'

const checkpoints = suite('store/sqlite-checkpoints')

const ROWS = 1_000
const COMMITS = 8

interface Written extends AsyncDisposable {
  readonly path: string
  readonly connections: SqliteConnections
  readonly checkpoints: Checkpoints
  /** Frames of the WAL at which the writer takes them over itself. */
  bound(): number
  /** Rows that are in the database file, without its WAL. */
  rowsTakenOver(): Promise<number>
}

/** A store into which large commits were written, each told of. All of it is a few hundred frames: no checkpoint of the writer's own. */
async function written(dir: string, of: Partial<CheckpointsOf> = {}): Promise<Written> {
  const path = join(dir, 'svc.db')
  const connections = openSqliteConnections(path)
  const { write } = connections
  const own = sqliteCheckpoints({ write, path, isThere: () => true, ...of })
  write.exec('create table row (n integer primary key)')
  write.pragma('wal_checkpoint(TRUNCATE)')
  const insert = write.prepare('insert into row (n) values (?)')
  for (let commit = 0; commit < COMMITS; commit++) {
    write.exec('begin immediate')
    for (let n = 0; n < ROWS; n++) insert.run(commit * ROWS + n)
    write.exec('commit')
    own.committed(ROWS)
  }
  return {
    path,
    connections,
    checkpoints: own,
    bound: () => Number(write.pragma('wal_autocheckpoint', { simple: true })),
    rowsTakenOver: async () => {
      const copy = join(dir, 'copy.db')
      await copyFile(path, copy)
      const alone = openSqliteConnection(copy, 'read')
      const { rows } = alone.prepare('select count(*) as rows from row').get() as { readonly rows: number } // as selected
      alone.close()
      return rows
    },
    [Symbol.asyncDispose]: async () => {
      await own.close()
      connections.read.close()
      connections.write.close()
    },
  }
}

checkpoints('takes large commits into the database file, which the writer leaves to it', async () => {
  await using dir = await tempDir()
  await using store = await written(dir.path)
  assert.is(store.bound(), 4_000)
  await eventually(async () => {
    // The thread was not there yet for those before.
    store.checkpoints.committed(ROWS)
    assert.is(await store.rowsTakenOver(), COMMITS * ROWS)
  })
})

checkpoints('ends its thread when no large commit has come for a while, and begins anew', async () => {
  await using dir = await tempDir()
  await using store = await written(dir.path, { restMs: 20 })
  for (let round = 0; round < 2; round++) {
    await eventually(() => assert.is(store.bound(), 1_000))
    for (let commit = 0; commit < COMMITS; commit++) store.checkpoints.committed(ROWS)
    assert.is(store.bound(), 4_000)
  }
})

checkpoints('leaves no long WAL behind, which each start would look through', async () => {
  await using dir = await tempDir()
  await using store = await written(dir.path, { isThere: () => false })
  const { write } = store.connections
  const walBytes = async (): Promise<number> => (await stat(`${store.path}-wal`)).size
  write.exec('create table wide (text text)')
  const insert = write.prepare('insert into wide (text) values (?)')
  // Nobody takes anything over meanwhile, as where the thread does not come after.
  write.pragma('wal_autocheckpoint = 0')
  for (let commit = 0; commit < 24; commit++) insert.run('x'.repeat(500_000))
  assert.ok((await walBytes()) > 10 * 1_048_576)
  write.pragma('wal_autocheckpoint = 1000')
  for (let commit = 0; commit < 3; commit++) insert.run('x')
  assert.ok((await walBytes()) <= 6 * 1_048_576, `${await walBytes()} octets`)
})

checkpoints('leaves small commits, and few large ones, to the writer', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const { write, read } = openSqliteConnections(path)
  const own = sqliteCheckpoints({ write, path, isThere: () => true })
  for (let commit = 0; commit < 1_000; commit++) own.committed(199)
  own.committed(2_999)
  assert.is(write.pragma('wal_autocheckpoint', { simple: true }), 1_000)
  await own.close()
  for (const connection of [read, write]) connection.close()
})

checkpoints('opens no file that is not the one of the writer', async () => {
  await using dir = await tempDir()
  await using store = await written(dir.path, { isThere: () => false })
  assert.is(store.bound(), 1_000)
  assert.is(await store.rowsTakenOver(), 0)
})

checkpoints('leaves all to the writer again when the thread fails', async () => {
  await using dir = await tempDir()
  await using store = await written(dir.path, { path: join(dir.path, 'no', 'svc.db') })
  await eventually(() => {
    store.checkpoints.committed(ROWS)
    assert.is(store.bound(), 1_000)
  })
  for (let commit = 0; commit < COMMITS; commit++) store.checkpoints.committed(ROWS)
  assert.is(store.bound(), 1_000)
})

checkpoints('is over when it is closed, amid a pass too', async () => {
  await using dir = await tempDir()
  const store = await written(dir.path)
  store.checkpoints.committed(ROWS)
  await Promise.all([store.checkpoints.close(), store.checkpoints.close()])
  assert.is(store.bound(), 1_000)
  // The last connection takes all that is left over and removes the WAL: so no other is open.
  store.connections.read.close()
  store.connections.write.close()
  assert.is(await store.rowsTakenOver(), COMMITS * ROWS)
})

checkpoints.run()
