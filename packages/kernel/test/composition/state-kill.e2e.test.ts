import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, defaultSettings, suite, tempDir } from '@steeple/testkit'
import { completeRestore } from '../../src/state/complete-restore.ts'

const test = suite('a restore that is killed', { limitMs: 1_200_000 })

const CHILD = fileURLToPath(new URL('./state-kill-child.ts', import.meta.url))
/** More than either half takes. */
const MOST_CALLS = 400

/** What a node consists of, each with the word of its state. */
const FILES: Readonly<Record<string, string>> = {
  store: 'svc.db',
  wal: 'svc.db-wal',
  key: 'keys/vault.key',
  plugin: 'plugins/hello@1.0.0-0a1b2c3d/index.js',
}

/** A node in the old state, with the new one staged beside it or decided. */
function makeNode(dataDir: string, stage: 'restore-staging' | 'restore-pending'): void {
  for (const name of Object.values(FILES)) write(join(dataDir, name), 'old')
  const coming = join(dataDir, stage, 'new')
  for (const name of ['store.db', 'keys/vault.key', 'plugins/hello@1.0.0-0a1b2c3d/index.js'])
    write(join(coming, name), 'new')
  if (stage === 'restore-pending') writeFileSync(join(dataDir, stage, 'restore.json'), planOf(dataDir))
}

function planOf(dataDir: string): string {
  return JSON.stringify({
    kept: 'restore-20261122T000000Z',
    store_file: join(dataDir, 'svc.db'),
    keys_dir: join(dataDir, 'keys'),
    plugins_dir: join(dataDir, 'plugins'),
    has_keys: true,
  })
}

function write(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

/** What the node would read now: the word of each of its files, and `gone` for what is not there. */
function stateOf(dataDir: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(FILES).map(([what, name]) => {
      const path = join(dataDir, name)
      return [what, existsSync(path) ? readFileSync(path, 'utf8') : 'gone']
    }),
  )
}

const OLD = { store: 'old', wal: 'old', key: 'old', plugin: 'old' }
const NEW = { store: 'new', wal: 'gone', key: 'new', plugin: 'new' }

/** Runs a half in a process that is killed at its call number `at` to the file system; whether it was. */
function run(half: 'decide' | 'complete', dataDir: string, at: number): boolean {
  const { signal, status, stderr } = spawnSync(process.execPath, [CHILD, half, dataDir, String(at)])
  if (signal === null) assert.is(status, 0, String(stderr))
  return signal === 'SIGKILL'
}

/** What the next start does first. */
async function start(dataDir: string): Promise<void> {
  await completeRestore(defaultSettings({ server: { data_dir: dataDir } }))
}

test('at any call of its completion, the next start completes it, and what was before is kept', async () => {
  await using dir = await tempDir()
  const model = join(dir.path, 'model')
  makeNode(model, 'restore-pending')
  let kills = 0
  for (let at = 1; at < MOST_CALLS; at++) {
    const dataDir = join(dir.path, `data-${at}`)
    cpSync(model, dataDir, { recursive: true })
    writeFileSync(join(dataDir, 'restore-pending', 'restore.json'), planOf(dataDir))
    const wasKilled = run('complete', dataDir, at)
    if (wasKilled) {
      kills += 1
      await start(dataDir)
    }
    assert.equal(stateOf(dataDir), NEW, `killed at call ${at}`)
    const kept = join(dataDir, 'restore-20261122T000000Z')
    assert.equal(stateOf(kept), OLD, `killed at call ${at}`)
    assert.equal(
      readdirSync(dataDir).filter((name) => name.startsWith('restore-')),
      ['restore-20261122T000000Z'],
    )
    rmSync(dataDir, { recursive: true })
    if (!wasKilled) break
  }
  assert.ok(kills >= 25, `${kills} calls were tried`)
})

test('at any call of its decision, it is the old state or, once decided, the new one', async () => {
  await using dir = await tempDir()
  const outcomes = { old: 0, new: 0 }
  for (let at = 1; at < MOST_CALLS; at++) {
    const dataDir = join(dir.path, `data-${at}`)
    makeNode(dataDir, 'restore-staging')
    const wasKilled = run('decide', dataDir, at)
    const isDecided = existsSync(join(dataDir, 'restore-pending'))
    await start(dataDir)
    assert.equal(stateOf(dataDir), isDecided ? NEW : OLD, `killed at call ${at}`)
    outcomes[isDecided ? 'new' : 'old'] += 1
    rmSync(dataDir, { recursive: true })
    if (!wasKilled) break
  }
  assert.ok(outcomes.old >= 10 && outcomes.new >= 2, JSON.stringify(outcomes))
})

test.run()
