// Takes a copy of a node's state in a process that kills itself at a call to the file system: data directory, number of the
// call. Says how many calls there were when it comes to its end.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import type { StateParts } from '../../src/state/node-state.ts'

const [, , dataDir = '', at = ''] = process.argv

const CALLS = [
  'closeSync',
  'existsSync',
  'linkSync',
  'lstatSync',
  'mkdirSync',
  'mkdtempSync',
  'openSync',
  'readFileSync',
  'readdirSync',
  'statSync',
] as const

const { captureState } = await import('../../src/state/node-state.ts')
const { openDatabase } = await import('@steeple/store')
const { systemClock } = await import('@steeple/kernel')

const clock = systemClock()
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const storeFile = join(dataDir, 'svc.db')
const db = await openDatabase({ url: `sqlite:${storeFile}`, clock, log })
const parts = {
  dataDir,
  keysDir: join(dataDir, 'keys'),
  pluginsDir: join(dataDir, 'plugins'),
  storeFile,
  db,
  identity: { nodeId: '5c0d8a1e-5c3b-4f43-9d3c-0f6a4d3f2b11', name: 'hill' },
  clock,
  version: '0.1.0',
} as StateParts // the rest is not asked for

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
// What takes longest is another process: killed while that is at work too.
const copyTo = db.copyTo.bind(db)
Reflect.set(db, 'copyTo', async (target: string, signal: AbortSignal) => {
  if (at === 'copy') setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20)
  return await copyTo(target, signal)
})

const state = await captureState(parts, true, new AbortController().signal)
process.stdout.write(JSON.stringify({ calls, files: state.files.map(({ name }) => name) }))
// Killed while it is packed: nobody releases it.
if (at !== 'release') process.kill(process.pid, 'SIGKILL')
await state.release()
await db.close()
