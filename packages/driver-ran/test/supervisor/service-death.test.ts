import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { isAlive, markOf, type ProcessMark } from '../../src/process/proc-fs.ts'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, nowMs, openLab, readSamples, standInFiles } from '../support/lab.ts'

const death = suite('driver-ran/death of the service')
const children: ChildProcess[] = []
death.after.each(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
const SERVICE = fileURLToPath(new URL('../support/service.ts', import.meta.url))

interface Service {
  readonly process: ChildProcess
  readonly radio: ProcessMark
}

/** A service in a process of its own, on air. */
async function service(root: string, mode: 'run' | 'block' = 'run'): Promise<Service> {
  const child = spawn(process.execPath, ['--no-warnings', SERVICE, root, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const radio = markOf(Number(/^on air (\d+)/.exec(line)?.[1]))
    if (radio !== undefined) return { process: child, radio }
  }
  throw new Error('the service did not get on air')
}

async function inFolder(
  scenario: Partial<Scenario>,
  body: (root: string, radio: ReturnType<typeof standInFiles>) => Promise<void>,
): Promise<void> {
  const folder = await tempDir()
  const radio = standInFiles(folder.path)
  radio.play(scenario)
  try {
    await body(folder.path, radio)
  } finally {
    await folder.remove()
  }
}

const STUBBORN: Partial<Scenario> = { ...GOOD, onTerm: 'ignore', ignoresInput: true }

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGABRT'] as const) {
  death(`leaves no transmitter on when it dies by ${signal}`, () =>
    inFolder(STUBBORN, async (root, radio) => {
      const { process: running, radio: mark } = await service(root)
      running.kill(signal)
      const deadMs = nowMs()
      await eventually(() => !isAlive(mark))
      await wait(100)
      const lastMs = readSamples(radio.samples).at(-1)?.atMs ?? 0
      assert.ok(lastMs - deadMs < 100, `${lastMs - deadMs} ms after its death`)
    }),
  )
}

death('leaves no transmitter on when it is killed while it is stopped', () =>
  inFolder(STUBBORN, async (root, radio) => {
    const { process: running, radio: mark } = await service(root)
    running.kill('SIGSTOP')
    await eventually(() => readFileSync(`/proc/${running.pid}/stat`, 'utf8').includes(') T '))
    assert.ok(isAlive(mark))
    running.kill('SIGKILL')
    await eventually(() => !isAlive(mark))
    assert.equal(radio.alive(), [])
  }),
)

death(
  'leaves no transmitter on when its event loop does not turn any more',
  () =>
    inFolder(STUBBORN, async (root, radio) => {
      const { process: running, radio: mark } = await service(root, 'block')
      const blockedMs = nowMs()
      await eventually(() => !isAlive(mark), 8_000)
      const lastMs = readSamples(radio.samples).at(-1)?.atMs ?? 0
      assert.ok(lastMs - blockedMs < 6_000, `${lastMs - blockedMs} ms`)
      assert.is(running.exitCode, null)
    }),
  { limitMs: 15_000 },
)

/** A radio that an earlier run has left behind: nothing holds it any more. */
function orphan(
  root: string,
  radio: ReturnType<typeof standInFiles>,
  mark: 'environment' | 'note',
): ProcessMark {
  const directory = join(root, 'ran')
  mkdirSync(directory, { mode: 0o700, recursive: true })
  const child = spawn(radio.binary, [join(directory, 'enb.conf')], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', ...(mark === 'environment' ? { STEEPLE_RADIO: directory } : {}) },
  })
  child.unref()
  children.push(child)
  const found = markOf(child.pid ?? 0)
  if (found === undefined) throw new Error('the orphan did not start')
  if (mark === 'note') writeFileSync(join(directory, 'radio.json'), JSON.stringify(found))
  return found
}

for (const mark of ['environment', 'note'] as const) {
  death(`kills an orphan that is found by its ${mark}, before anything else, with a closed gate`, () =>
    inFolder(STUBBORN, async (root, radio) => {
      const left = orphan(root, radio, mark)
      await eventually(() => readSamples(radio.samples).length > 3)
      const lab = await openLab({ root, isDriven: false })
      await lab.supervisor.sweep()
      const sweptMs = nowMs()
      assert.is(isAlive(left), false)
      await lab.close()
      await wait(100)
      assert.is(readSamples(radio.samples).filter(({ atMs }) => atMs > sweptMs).length, 0)
    }),
  )
}

death('kills what an orphan has started in a session of its own and without an environment', () =>
  inFolder({ ...STUBBORN, leaves: { isBare: true } }, async (root, radio) => {
    const left = orphan(root, radio, 'environment')
    try {
      await eventually(() => readSamples(radio.samples).length > 3)
      process.kill(left.pid, 'SIGUSR2')
      await eventually(() => radio.alive().length === 2)
      const lab = await openLab({ root, isDriven: false })
      await lab.supervisor.sweep()
      assert.equal(radio.alive(), [])
      await lab.close()
    } finally {
      for (const pid of radio.alive()) process.kill(pid, 'SIGKILL')
    }
  }),
)

death('confirms no stop before the orphan is gone', () =>
  inFolder(STUBBORN, async (root, radio) => {
    const left = orphan(root, radio, 'environment')
    await eventually(() => readSamples(radio.samples).length > 3)
    const lab = await openLab({ root, isDriven: false })
    await lab.supervisor.stop()
    assert.is(isAlive(left), false)
    await lab.close()
  }),
)

death('touches no process that merely got the number of a radio, or reads its files', () =>
  inFolder(GOOD, async (root) => {
    const directory = join(root, 'ran')
    mkdirSync(directory, { mode: 0o700 })
    const reader = spawn('/bin/sh', ['-c', 'sleep 20', join(directory, 'enb.conf')], { stdio: 'ignore' })
    const mark = markOf(reader.pid ?? 0)
    assert.ok(mark)
    const stale = { ...mark, startTicks: String(Number(mark?.startTicks) - 5) }
    writeFileSync(join(directory, 'radio.json'), JSON.stringify(stale))
    const lab = await openLab({ root, isDriven: false })
    await lab.supervisor.sweep()
    assert.is(mark !== undefined && isAlive(mark), true)
    reader.kill('SIGKILL')
    await lab.close()
  }),
)

death('goes on air again after a restart only if the gate is still open', () =>
  inFolder(STUBBORN, async (root, radio) => {
    const { process: running, radio: mark } = await service(root)
    running.kill('SIGKILL')
    await eventually(() => !isAlive(mark))
    const deadMs = nowMs()
    const lab = await openLab({ root })
    await wait(200)
    assert.is(lab.starts, 0)
    assert.is(readSamples(radio.samples).filter(({ atMs }) => atMs > deadMs + 100).length, 0)
    lab.gate.arm('mast')
    await lab.onAir()
    await lab.close()
  }),
)

death.run()
