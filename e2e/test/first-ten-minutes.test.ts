import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, stretched, suite, unusedPort } from '@steeple/testkit'
import { withoutOurs } from '../harness/documented/commands.ts'
import { ROOT } from '../harness/launch.ts'
import { type TypedShell, takeStep, tenMinutesSteps, typedShell } from '../harness/tutorial-steps.ts'

// The lab core's addresses are free there, and the kernel's rules nobody else's.
enterOwnNetwork(import.meta.filename)

const tutorial = suite('e2e/first-ten-minutes', { limitMs: 600_000 })

/** Starting both programs on a busy machine takes its time. */
const START_MS = 60_000
const CTRL_C = '\u0003'

/** `npm start` on a terminal of its own, and what it shows there. */
interface Screen {
  readonly child: ChildProcess
  readonly text: () => string
  readonly exited: Promise<unknown>
}

const processes: ChildProcess[] = []
let dir: string
tutorial.before.each(() => {
  dir = mkdtempSync(join(tmpdir(), 'steeple-tutorial-'))
})
tutorial.after.each(() => {
  for (const child of processes.splice(0)) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})

tutorial('holds what it announces, word by word, on a terminal and in a shell', async () => {
  const port = await unusedPort()
  // A folder and a port of this test's own, and as much longer waits as this machine is slower; all else is as it stands there.
  const longer = (seconds: string): string =>
    `sleep ${Math.ceil(Math.min(3 * Number(seconds), stretched(Number(seconds) * 1_000) / 1_000))}`
  const own = (text: string): string =>
    text
      .replace(/sleep (\d+)/g, (_, seconds: string) => longer(seconds))
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll('./data', join(dir, 'data'))
      .replaceAll('npm start', `npm start -- --listen 127.0.0.1:${port} --data-dir ${join(dir, 'data')}`)
  let screen = await startOn(own('npm start'))
  const [, token = ''] = /export SVC_TOKEN=(svc_\S+)/.exec(screen.text()) ?? []
  const shell = openShell({ SVC_URL: `http://127.0.0.1:${port}`, LAB_CORE_URL: labAt(screen) })
  let announced = 0
  const steps = tenMinutesSteps()
  for (const step of steps) {
    if (step.script.includes('npm start')) {
      screen.child.stdin?.write(CTRL_C)
      await screen.exited
      screen = await startOn(own(step.script.trim()))
      await shell.run(`export LAB_CORE_URL=${labAt(screen)}`)
      continue
    }
    const typed = own(step.script.replace('svc_…', token))
    announced += await takeStep(shell, { ...step, announced: step.announced.map(own) }, typed)
  }
  assert.ok(steps.length >= 15, `${steps.length} steps`)
  assert.ok(announced >= 22, `${announced} announced results`)
  assert.not.match(screen.text(), /Try:[\s\S]*Ctrl-C ends it\.[\s\S]*"level":"error"/)
  screen.child.stdin?.write(CTRL_C)
  await screen.exited
})

async function startOn(command: string): Promise<Screen> {
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: ROOT,
    env: withoutOurs(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  processes.push(child)
  let text = ''
  child.stdout?.on('data', (chunk) => {
    text += chunk
  })
  const exited = once(child, 'exit')
  await eventually(async () => text.includes('Ctrl-C ends it.'), START_MS)
  return { child, text: () => text, exited }
}

function labAt(screen: Screen): string {
  return /lab core +(http:\S+)/.exec(screen.text())?.[1] ?? ''
}

function openShell(env: Readonly<Record<string, string>>): TypedShell {
  const child = spawn('bash', { cwd: ROOT, env: { ...withoutOurs(), ...env }, stdio: 'pipe' })
  processes.push(child)
  return typedShell(child)
}

tutorial.run()
