import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { runSvc, startService } from '../harness/service.ts'

const KEEP = join(import.meta.dirname, '../../scripts/compiled/keep.mjs')
/** As the service does when it listens. */
const PROGRAM = `import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
enableCompileCache(process.argv[2])
const { sum } = await import('./sum.mjs')
const { text } = await import('./text.cjs')
setFlagsFromString('--heap-growing-percent=30')
console.log(sum(3), text(4))
`
/** Functions that are compiled when they are first called, and so not when their module is. */
const MODULES = {
  'main.mjs': PROGRAM,
  'sum.mjs': 'export function sum(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }\n',
  'text.cjs': `function text(n) { const all = []; for (let i = 0; i < n; i++) all.push(String(i)); return all.join('-') }\nexports.text = text\n`,
}

const compiled = suite('e2e/compiled')

compiled('has the functions that were called in what node keeps, and node takes it', async () => {
  await using dir = await tempDir()
  const folder = program(dir.path)
  const plain = run(folder, 'plain')
  const kept = run(folder, 'kept', ['--no-warnings', '--expose-internals', '--import', KEEP])
  assert.is(plain.stdout, '3 0-1-2-3\n')
  assert.is(kept.stdout, plain.stdout)
  const [before, after] = [bytesIn(folder, 'plain'), bytesIn(folder, 'kept')]
  assert.is(after.length, before.length)
  for (const at of before.keys()) assert.ok((after[at] ?? 0) > (before[at] ?? 0), `${after} and ${before}`)

  const again = run(folder, 'kept', [], { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' })
  const said = `${again.stdout}${again.stderr}`
  assert.is(said.match(/\baccepted\b/g)?.length, 2, said)
  assert.not.match(said, /\brejected\b/)
  assert.match(said, /^3 0-1-2-3$/m)
})

compiled('is of no effect on what has changed since', async () => {
  await using dir = await tempDir()
  const folder = program(dir.path)
  run(folder, 'kept', ['--no-warnings', '--expose-internals', '--import', KEEP])
  writeFileSync(join(folder, 'sum.mjs'), MODULES['sum.mjs'].replace('s += i', 's -= i'))
  assert.is(run(folder, 'kept').stdout, '-3 0-1-2-3\n')
})

compiled('leaves a file alone that it does not know', async () => {
  await using dir = await tempDir()
  const folder = program(dir.path)
  run(folder, 'kept')
  const [path = ''] = filesIn(folder, 'kept')
  writeFileSync(path, readFileSync(path).subarray(0, 30))
  const kept = run(folder, 'kept', ['--no-warnings', '--expose-internals', '--import', KEEP])
  assert.is(kept.stdout, '3 0-1-2-3\n')
  assert.is(run(folder, 'kept').stdout, '3 0-1-2-3\n')
})

compiled(
  'is taken by each module of a start of this checkout, and by those of a command after it',
  async () => {
    const env = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE,CODE_CACHE' }
    const service = await startService({ env: { ...env, SVC_HSS_DRIVER: 'none' } })
    await service.stop()
    const start = service.output()
    assert.ok(linesWith(start, 'accepted').filter(isOurs).length > 50, start.slice(-2_000))
    // What of node itself is loaded by what it loads later is not ours to name.
    assert.equal(linesWith(start, 'rejected').filter(isOurs), [])

    const { stderr } = await runSvc(['sim', 'list', '--url', 'http://127.0.0.1:1'], env)
    assert.ok(linesWith(stderr, 'accepted').filter(isOurs).length > 5, stderr.slice(-2_000))
    assert.equal(linesWith(stderr, 'rejected'), [])
  },
)

function linesWith(text: string, word: string): readonly string[] {
  return text.split('\n').filter((line) => line.includes(`was ${word}`) || line.endsWith(`is ${word}`))
}

function isOurs(line: string): boolean {
  return line.startsWith('[compile cache]')
}

/** Puts a program of three modules into a folder, and gives that. */
function program(folder: string): string {
  for (const [name, text] of Object.entries(MODULES)) writeFileSync(join(folder, name), text)
  return folder
}

function run(folder: string, cache: string, flags: readonly string[] = [], more: NodeJS.ProcessEnv = {}) {
  mkdirSync(join(folder, cache), { recursive: true })
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const words = [...flags, join(folder, 'main.mjs'), join(folder, cache)]
  const done = spawnSync(process.execPath, words, { encoding: 'utf8', env: { ...env, ...more } })
  assert.is(done.status, 0, done.stderr)
  return done
}

function filesIn(folder: string, cache: string): readonly string[] {
  const below = join(folder, cache)
  return readdirSync(below, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

function bytesIn(folder: string, cache: string): readonly number[] {
  return filesIn(folder, cache).map((path) => readFileSync(path).length)
}

compiled.run()
