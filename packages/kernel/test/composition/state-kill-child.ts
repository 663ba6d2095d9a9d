// One half of a restore in a process that kills itself at a call to the file system: half, data directory, number of the call.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const [, , half = '', dataDir = '', at = ''] = process.argv

/** What changes a file system, or makes a change durable. */
const CALLS = [
  'renameSync',
  'mkdirSync',
  'rmSync',
  'writeFileSync',
  'fsyncSync',
  'openSync',
  'closeSync',
] as const

const { decide } = await import('../../src/state/node-state.ts')
const { completeRestore } = await import('../../src/state/complete-restore.ts')
const { defaultSettings } = await import('@steeple/testkit')

let calls = 0
for (const name of CALLS) {
  const call = fs[name] as (...args: unknown[]) => unknown
  Reflect.set(fs, name, (...args: unknown[]) => {
    calls += 1
    if (calls === Number(at)) process.kill(process.pid, 'SIGKILL')
    return call.apply(fs, args)
  })
}
syncBuiltinESMExports()

const place = {
  dataDir,
  clock: { nowMs: () => Date.UTC(2026, 10, 22), monotonicMs: () => 0 },
  storeFile: join(dataDir, 'svc.db'),
  keysDir: join(dataDir, 'keys'),
  pluginsDir: join(dataDir, 'plugins'),
}
if (half === 'decide') decide(place, join(dataDir, 'restore-staging'), true)
else await completeRestore(defaultSettings({ server: { data_dir: dataDir } }))
