import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assert, eventually, stretched, tempDir } from '@steeple/testkit'
import { isAlive, markOf, type ProcessMark } from '../../src/process/proc-fs.ts'
import { renderRadio } from '../../src/render/render-radio.ts'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, nowMs, openLab, readSamples, standInFiles } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { gnbInput } from '../support/radio-input.ts'

const death = processSuite('driver-ran/death of the service')
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
    // It may be gone by now: the mark is as the service saw it.
    const radio = /^on air (.+)/.exec(line)?.[1]
    if (radio !== undefined) return { process: child, radio: JSON.parse(radio) as ProcessMark }
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
      assert.ok(lastMs - deadMs < stretched(500), `${lastMs - deadMs} ms after its death`)
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

death('leaves no transmitter on when it is stopped for longer than the lease', () =>
  inFolder(STUBBORN, async (root, radio) => {
    const { process: running, radio: mark } = await service(root)
    running.kill('SIGSTOP')
    const stoppedMs = nowMs()
    await eventually(() => !isAlive(mark))
    const lastMs = readSamples(radio.samples).at(-1)?.atMs ?? 0
    assert.ok(lastMs - stoppedMs > 200, 'it was off before the lease was over')
    assert.ok(lastMs - stoppedMs < stretched(5_000), `${lastMs - stoppedMs} ms after it was stopped`)
    assert.match(readFileSync(`/proc/${running.pid}/stat`, 'latin1'), /\) T /)
    assert.equal(radio.alive(), [])
  }),
)

/** The processes of the guard: the one that waits for the radio, and the one that reads the signs of life. */
function guardsOf(radio: ProcessMark): readonly number[] {
  const parentOf = (pid: number): number =>
    Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1])
  const waiting = parentOf(radio.pid)
  const children = readFileSync(`/proc/${waiting}/task/${waiting}/children`, 'latin1').trim().split(' ')
  return [waiting, ...children.map(Number).filter((pid) => pid !== radio.pid)]
}

for (const [which, name] of [
  [0, 'the guard that waits for the radio'],
  [1, 'the guard that reads the signs of life'],
] as const) {
  death(`leaves no transmitter on when ${name} is killed, although the service is stopped`, () =>
    inFolder(STUBBORN, async (root, radio) => {
      const { process: running, radio: mark } = await service(root)
      const guards = guardsOf(mark)
      assert.is(guards.length, 2)
      running.kill('SIGSTOP')
      process.kill(guards[which] ?? Number.NaN, 'SIGKILL')
      const killedMs = nowMs()
      await eventually(() => !isAlive(mark))
      const lastMs = readSamples(radio.samples).at(-1)?.atMs ?? 0
      assert.ok(lastMs - killedMs < stretched(500), `${lastMs - killedMs} ms after the guard was killed`)
    }),
  )
}

death('ends a radio whose guard is stopped, since nobody would hold the lease', () =>
  inFolder(STUBBORN, async (root) => {
    const { radio: mark } = await service(root)
    const [, keeper = Number.NaN] = guardsOf(mark)
    process.kill(keeper, 'SIGSTOP')
    await eventually(() => !isAlive(mark))
  }),
)

death(
  'leaves no transmitter on when its event loop does not turn any more',
  () =>
    inFolder(STUBBORN, async (root, radio) => {
      const { process: running, radio: mark } = await service(root, 'block')
      const blockedMs = nowMs()
      await eventually(() => !isAlive(mark))
      const lastMs = readSamples(radio.samples).at(-1)?.atMs ?? 0
      assert.ok(lastMs - blockedMs < stretched(5_000), `${lastMs - blockedMs} ms`)
      assert.is(running.exitCode, null)
    }),
  { limitMs: 360_000 },
)

/** A radio that an earlier run has left behind: nothing holds it any more. */
function orphan(
  root: string,
  radio: ReturnType<typeof standInFiles>,
  mark: 'environment' | 'note',
): ProcessMark {
  const directory = join(root, 'ran')
  mkdirSync(directory, { mode: 0o700, recursive: true })
  const file = join(directory, 'gnb.yml')
  writeFileSync(file, renderRadio(gnbInput()).rendered.files.get('gnb.yml') ?? '')
  const child = spawn(radio.binary, [file], {
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
