import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase, openSqliteConnection } from '@steeple/store'
import { assert, suite, tempDir } from '@steeple/testkit'
import { systemClock } from '../../src/clock/deadline.ts'
import { removeCaptures } from '../../src/state/node-state.ts'

const test = suite('a backup that is killed', { limitMs: 1_200_000 })

const CHILD = fileURLToPath(new URL('./state-capture-child.ts', import.meta.url))
const POINTS = 50
const ROWS = 300
const LOG = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A node with a store, and names and words of keys and plugins. */
async function makeNode(dataDir: string): Promise<ReadonlyMap<string, string>> {
  const names = Array.from({ length: 12 }, (_, n) => [`keys/${n}.key`, `plugins/hello@1.0.0/${n}.js`]).flat()
  for (const name of names) {
    mkdirSync(join(dataDir, name, '..'), { recursive: true })
    writeFileSync(join(dataDir, name), name)
  }
  const db = await openDatabase({ url: `sqlite:${join(dataDir, 'svc.db')}`, clock: systemClock(), log: LOG })
  await db.migrate('toy', [
    { id: '0001_item', up: ['create table toy_item (id integer not null primary key)'] },
  ])
  await db.transact(async (tx) => {
    for (let id = 1; id <= ROWS; id++) await tx.run('insert into toy_item (id) values (:id)', { id })
  })
  await db.close()
  return new Map(names.map((name) => [name, name]))
}

/** Takes a backup in a process that is killed at `at`; what it said before. */
function run(dataDir: string, at: string): { readonly said: string; readonly wasKilled: boolean } {
  const { signal, stdout, stderr, status } = spawnSync(process.execPath, [CHILD, dataDir, at])
  if (signal === null) assert.is(status, 0, String(stderr))
  return { said: String(stdout), wasKilled: signal === 'SIGKILL' }
}

function assertWhole(dataDir: string, files: ReadonlyMap<string, string>, where: string): void {
  removeCaptures(dataDir)
  const left = readdirSync(dataDir).filter((name) => name.startsWith('.backup-'))
  assert.equal(left, [], where)
  for (const [name, text] of files) assert.is(readFileSync(join(dataDir, name), 'utf8'), text, where)
  const store = openSqliteConnection(join(dataDir, 'svc.db'), 'read')
  assert.equal(store.prepare('select count(*) as n from toy_item').all(), [{ n: ROWS }], where)
  assert.equal(store.pragma('integrity_check', { simple: true }), 'ok', where)
  store.close()
}

test(`at ${POINTS} of its calls, while the store is copied and while it is packed: the node is what it was`, async () => {
  await using dir = await tempDir()
  const files = await makeNode(dir.path)
  const whole = run(dir.path, 'release')
  assert.not(whole.wasKilled)
  const { calls, files: held } = JSON.parse(whole.said) as {
    readonly calls: number
    readonly files: string[]
  }
  assert.equal(held.toSorted(), ['store.db', ...files.keys()].toSorted())
  assert.ok(calls >= POINTS, `${calls} calls`)
  assert.equal(
    readdirSync(dir.path).filter((name) => name.startsWith('.backup-')),
    [],
  )
  for (let point = 0; point < POINTS; point++) {
    const at = String(1 + Math.floor((point * calls) / POINTS))
    assert.ok(run(dir.path, at).wasKilled, `call ${at}`)
    assertWhole(dir.path, files, `killed at call ${at}`)
  }
  for (const at of ['copy', 'copy', 'packing']) {
    assert.ok(run(dir.path, at).wasKilled, at)
    assertWhole(dir.path, files, `killed while it was at ${at}`)
  }
})

test.run()
