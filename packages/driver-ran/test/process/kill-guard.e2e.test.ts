import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, stretched, suite, tempDir } from '@steeple/testkit'
import { descendantsOf } from '../../src/process/descendants.ts'
import { radioMark } from '../../src/process/guard-script.ts'
import { startKillGuard } from '../../src/process/kill-guard.ts'
import { argumentsOf, isAlive, markOf, type ProcessMark, processIds } from '../../src/process/proc-fs.ts'
import { radioFamily } from '../../src/process/radio-process.ts'
import { block } from '../support/silence.ts'

const guarding = suite('driver-ran/kill guard')

/** Shell texts that start `sleep` out of the group, and stay. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ['in a session of its own', 'setsid -w sleep 61; :'],
  ['by a double fork', '(setsid sleep 61 &); sleep 62'],
  ['without an environment', 'setsid -w env -i /bin/sleep 61; :'],
])

/** A shell that leads its group and carries the mark of `directory`. */
function shellOf(directory: string, script: string): ChildProcess {
  const env = { PATH: '/usr/bin:/bin', STEEPLE_RADIO: directory }
  return spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore', env })
}

/** A group leader that carries the mark of `directory`, and all that runs with it. */
async function family(
  directory: string,
  script: string,
): Promise<{ readonly root: ProcessMark; readonly marks: readonly ProcessMark[] }> {
  const child = shellOf(directory, script)
  const root = markOf(child.pid ?? 0)
  if (root === undefined) throw new Error('the shell did not start')
  const look = descendantsOf(
    { readdirSync, readFileSync },
    {
      root: root.pid,
      sinceTicks: Number(root.startTicks),
      entry: radioMark(directory),
      self: process.pid,
    },
  )
  const isSleeping = (pid: number): boolean =>
    readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('\x0061')
  await eventually(() => look(true).some(({ pid }) => isSleeping(pid)))
  const marks = look(true).flatMap(({ pid }) => markOf(pid) ?? [])
  return { root, marks }
}

for (const [how, script] of WAYS) {
  guarding(`kills what was started ${how} although no event loop turns`, async () => {
    await using folder = await tempDir()
    const guard = await startKillGuard(
      { entry: radioMark(folder.path), note: join(folder.path, 'note') },
      () => undefined,
      5_000,
    )
    const { root, marks } = await family(folder.path, script)
    try {
      assert.ok(marks.length > 1)
      guard.watch(root.pid, root.startTicks)
      guard.killIn(100)
      block(stretched(500))
      assert.equal(marks.filter(isAlive), [])
    } finally {
      guard.release()
      await guard.close()
      for (const { pid } of marks.filter(isAlive)) process.kill(pid, 'SIGKILL')
    }
  })
}

/** Starts programs out of the group and without an environment, one after the other, and ends with them. */
const GOES_ON = `at=0
while [ $at -lt 300 ]; do at=$((at + 1)); setsid env -i /bin/sleep SECONDS & done
wait`

/** A shell that is about to start programs which nobody can tell by anything but their parent. */
async function starting(directory: string, body: (root: ProcessMark) => Promise<void>): Promise<void> {
  const seconds = `600.${randomInt(1e9)}`
  const left = (): readonly number[] =>
    processIds().filter((pid) => argumentsOf(pid).some((argument) => argument.includes(seconds)))
  const root = markOf(shellOf(directory, GOES_ON.replace('SECONDS', seconds)).pid ?? 0)
  if (root === undefined) throw new Error('the shell did not start')
  try {
    await eventually(() => left().length > 5)
    await body(root)
    await eventually(() => assert.equal(left(), []), 10_000)
  } finally {
    for (const pid of left()) process.kill(pid, 'SIGKILL')
  }
}

guarding('kills what a script is about to start out of the group and without an environment', async () => {
  await using folder = await tempDir()
  for (const round of [1, 2, 3]) {
    const directory = `${folder.path}/${round}`
    await starting(directory, async (root) => radioFamily(root.pid, root, radioMark(directory)).kill())
  }
})

guarding('kills it although no event loop turns', async () => {
  await using folder = await tempDir()
  const guard = await startKillGuard(
    { entry: radioMark(folder.path), note: join(folder.path, 'note') },
    () => undefined,
    60_000,
  )
  try {
    await starting(folder.path, async (root) => {
      guard.watch(root.pid, root.startTicks)
      guard.killIn(0)
    })
  } finally {
    guard.release()
    await guard.close()
  }
})

guarding('kills soon after somebody has noted a disarm, although no event loop turns', async () => {
  await using folder = await tempDir()
  const note = join(folder.path, 'note')
  const blank = ' '.repeat(2_048)
  writeFileSync(note, '{"by":"of before"}'.padEnd(2_048))
  const guard = await startKillGuard({ entry: radioMark(folder.path), note }, () => undefined, 60_000)
  const { root, marks } = await family(folder.path, 'setsid -w sleep 61; :')
  try {
    guard.watch(root.pid, root.startTicks)
    block(stretched(500))
    assert.equal(marks.filter(isAlive), marks, 'one of before its start is not meant')
    writeFileSync(note, blank)
    block(stretched(200))
    assert.equal(marks.filter(isAlive), marks)
    writeFileSync(note, '{"by":"local:root"}'.padEnd(2_048))
    block(stretched(600))
    assert.equal(marks.filter(isAlive), [])
  } finally {
    guard.release()
    await guard.close()
    for (const { pid } of marks.filter(isAlive)) process.kill(pid, 'SIGKILL')
  }
})

guarding('lets a group live, and others that carry another mark, as long as it is told so', async () => {
  await using folder = await tempDir()
  const leaseMs = 2_500
  const guard = await startKillGuard(
    { entry: radioMark(folder.path), note: join(folder.path, 'note') },
    () => undefined,
    leaseMs,
  )
  const own = await family(folder.path, 'setsid -w sleep 61; :')
  const other = await family(`${folder.path}/other`, 'setsid -w sleep 61; :')
  try {
    guard.watch(own.root.pid, own.root.startTicks)
    const endMs = performance.now() + 1.5 * leaseMs
    await eventually(() => performance.now() > endMs)
    assert.equal(own.marks.filter(isAlive), own.marks)
    block(2 * leaseMs)
    assert.equal(own.marks.filter(isAlive), [])
    assert.equal(other.marks.filter(isAlive), other.marks)
  } finally {
    guard.release()
    await guard.close()
    for (const { pid } of [...own.marks, ...other.marks].filter(isAlive)) process.kill(pid, 'SIGKILL')
  }
})

guarding.run()
