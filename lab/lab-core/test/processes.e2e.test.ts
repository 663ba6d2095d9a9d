import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assert, eventually, stretched, suite, tempDir } from '@steeple/testkit'
import { RECORDED } from './support/lab.ts'

const processes = suite('lab-core/processes')
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))
const TOOL = fileURLToPath(new URL('../dist/open5gs-dbctl.js', import.meta.url))
const PLACES = ['mme', 'smf', 'upf', 'hss', 'pcrf', 'enb', 'sgwu', 'control']
const FREE = PLACES.flatMap((place) => [`--${place}`, '127.0.0.1:0'])
const { imsi, ki, opc } = RECORDED
const started: ChildProcess[] = []

processes.after(() => {
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL')
})

interface Told {
  readonly urls?: { readonly mme: string; readonly control: string }
  readonly problem?: string
}

/** A lab core as `npm start` has it, with a channel. */
async function asChild(directory: string, flags: readonly string[] = FREE) {
  const child = spawn(process.execPath, [MAIN, 'serve', '--dir', directory, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  started.push(child)
  const [told] = (await once(child, 'message')) as [Told] // what main.ts sends first
  return { child, told }
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  return (await once(child, 'exit'))[0]
}

async function tool(directory: string, words: readonly string[], input = '') {
  const child = spawn(TOOL, words, { env: { ...process.env, LAB_CORE_DIR: directory } })
  let output = ''
  child.stdout.on('data', (bytes) => {
    output += bytes
  })
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, output }
}

processes('ends with its parent, not with a Ctrl-C that is meant for all, and cleanly', async () => {
  await using dir = await tempDir()
  const { child, told } = await asChild(dir.path)
  assert.is((await fetch(told.urls?.mme ?? '')).status, 200)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) child.kill(signal)
  assert.is((await fetch(told.urls?.mme ?? '')).status, 200)
  child.disconnect()
  assert.is(await exitOf(child), 0)
})

processes('ends at SIGTERM when it was started alone', async () => {
  await using dir = await tempDir()
  const child = spawn(process.execPath, [MAIN, 'serve', '--dir', dir.path, ...FREE])
  started.push(child)
  const [printed] = await once(child.stdout, 'data')
  assert.match(String(printed), /^mme http:\/\/127/)
  child.kill('SIGTERM')
  assert.is(await exitOf(child), 0)
})

processes('says why it cannot start: an address or a directory in use, an address of others', async () => {
  await using dir = await tempDir()
  const { child, told } = await asChild(dir.path)
  const taken = new URL(told.urls?.mme ?? '').host
  const other = await asChild(join(dir.path, 'other'), ['--mme', taken])
  assert.match(String(other.told.problem), new RegExp(`EADDRINUSE.*${taken}`))
  assert.is(await exitOf(other.child), 1)
  assert.match(String((await asChild(dir.path)).told.problem), /another lab core runs on/)
  const open = await asChild(join(dir.path, 'open'), ['--control', '0.0.0.0:9091'])
  assert.match(String(open.told.problem), /takes a loopback address/)
  child.disconnect()
  await exitOf(child)
})

processes('has a tool that keeps what it was told over a kill, in a folder however deep', async () => {
  await using dir = await tempDir()
  const deep = join(dir.path, 'd'.repeat(100), 'e'.repeat(100))
  await mkdir(deep, { recursive: true })
  const first = await asChild(deep)
  assert.match((await tool(deep, ['add', imsi, ki, opc])).output, /^\{\n {2}acknowledged: true,/)
  first.child.kill('SIGKILL')
  await exitOf(first.child)
  const gone = await tool(deep, ['remove', imsi])
  assert.match(gone.output, /^MongoNetworkError/)
  const second = await asChild(deep)
  assert.match((await tool(deep, ['remove', imsi])).output, /deletedCount: 1/)
  second.child.disconnect()
  await exitOf(second.child)
})

processes(
  'has a tool that is quick, knows its commands alone, and takes many on standard input',
  async () => {
    await using dir = await tempDir()
    const { child } = await asChild(dir.path)
    const help = await tool('/nowhere', ['help'])
    assert.is(help.code, 1)
    for (const name of ['add', 'block', 'unblock', 'set_sqn', 'cancel_location', 'show', 'batch'])
      assert.match(help.output, new RegExp(`^   ${name}( \\{[^}]*\\})?:`, 'm'))
    const lines = Array.from({ length: 500 }, (_none, i) => ['add', `9997000000${10_000 + i}`, ki, opc])
    const begun = performance.now()
    const { output } = await tool(
      dir.path,
      ['batch'],
      lines.map((words) => `${JSON.stringify(words)}\n`).join(''),
    )
    process.stdout.write(`# 500 adds in one run: ${Math.round(performance.now() - begun)} ms\n`)
    const answers = output.trim().split('\n')
    assert.is(answers.filter((line) => line.includes('insertedId')).length, 500)
    const times: number[] = []
    for (let i = 0; i < 9; i += 1) {
      const from = performance.now()
      await tool(dir.path, ['block', '999700000010000'])
      times.push(performance.now() - from)
    }
    const middle = times.sort((a, b) => a - b)[4] ?? 0
    process.stdout.write(`# one command: ${Math.round(middle)} ms\n`)
    assert.ok(middle < stretched(250), `${middle} ms`)
    child.disconnect()
    await exitOf(child)
  },
)

processes('ends a line of garbage without harm', async () => {
  await using dir = await tempDir()
  const { child } = await asChild(dir.path)
  const socket = connect(join(dir.path, 'dbctl.sock'))
  socket.end('{not json\n')
  await once(socket, 'close')
  assert.match((await tool(dir.path, ['add', imsi, ki, opc])).output, /insertedId/)
  child.disconnect()
  await exitOf(child)
})

processes('has commands for the phones', async () => {
  await using dir = await tempDir()
  const { child, told } = await asChild(dir.path)
  const env = { ...process.env, LAB_CORE_URL: told.urls?.control }
  const lab = async (...words: readonly string[]) =>
    (await promisify(execFile)(process.execPath, [MAIN, ...words], { env })).stdout
  await tool(dir.path, ['add', imsi, ki, opc])
  const insert = spawn(process.execPath, [MAIN, 'insert'], { env })
  insert.stdin.end(JSON.stringify([RECORDED]))
  assert.is((await once(insert, 'exit'))[0], 0)
  await eventually(async () => assert.match(await lab('phones'), / connected +10\.45\.0\.2 +0 +0$/m))
  assert.match(await lab('data', 'all', '--up', '500', '--down', '7000'), / 500 +7000$/m)
  assert.match(await lab('data', 'all', '--up', '500', '--kbps', '8000', '--n3'), / 7000$/m)
  await eventually(async () => assert.match(await lab('phones'), / 1000 +7000$/m))
  await lab('traffic', 'all', '--down', '800')
  await eventually(async () => assert.not.match(await lab('phones'), / 7000$/m))
  await lab('traffic', 'all')
  assert.match(await lab('radio', 'down'), /"down"/)
  const failure = await lab('attach', '000000000000').then(
    () => undefined,
    (error: { stderr: string }) => error.stderr,
  )
  assert.match(String(failure), /^lab-core: no phone 000000000000\n$/)
  child.disconnect()
  await exitOf(child)
})

processes.run()
