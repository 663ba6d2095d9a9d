import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { descendantsOf } from '../../src/process/descendants.ts'
import { startKillGuard } from '../../src/process/kill-guard.ts'
import { isAlive, markOf, type ProcessMark } from '../../src/process/proc-fs.ts'
import { radioMark } from '../../src/process/radio-command.ts'
import { block } from '../support/silence.ts'

const guarding = suite('driver-ran/kill guard')

/** Shell texts that start `sleep` out of the group, and stay. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ['in a session of its own', 'setsid -w sleep 61; :'],
  ['by a double fork', '(setsid sleep 61 &); sleep 62'],
  ['without an environment', 'setsid -w env -i /bin/sleep 61; :'],
])

/** A group leader that carries the mark of `directory`, and all that runs with it. */
async function family(
  directory: string,
  script: string,
): Promise<{ readonly root: ProcessMark; readonly marks: readonly ProcessMark[] }> {
  const env = { PATH: '/usr/bin:/bin', STEEPLE_RADIO: directory }
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore', env })
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
    const guard = await startKillGuard(radioMark(folder.path), () => undefined, 5_000)
    const { root, marks } = await family(folder.path, script)
    try {
      assert.ok(marks.length > 1)
      guard.watch(root.pid, root.startTicks)
      guard.killIn(100)
      block(500)
      assert.equal(marks.filter(isAlive), [])
    } finally {
      guard.release()
      await guard.close()
      for (const { pid } of marks.filter(isAlive)) process.kill(pid, 'SIGKILL')
    }
  })
}

guarding('lets a group live, and others that carry another mark, as long as it is told so', async () => {
  await using folder = await tempDir()
  const guard = await startKillGuard(radioMark(folder.path), () => undefined, 200)
  const own = await family(folder.path, 'setsid -w sleep 61; :')
  const other = await family(`${folder.path}/other`, 'setsid -w sleep 61; :')
  try {
    guard.watch(own.root.pid, own.root.startTicks)
    const endMs = performance.now() + 600
    await eventually(() => performance.now() > endMs)
    assert.equal(own.marks.filter(isAlive), own.marks)
    block(500)
    assert.equal(own.marks.filter(isAlive), [])
    assert.equal(other.marks.filter(isAlive), other.marks)
  } finally {
    guard.release()
    await guard.close()
    for (const { pid } of [...own.marks, ...other.marks].filter(isAlive)) process.kill(pid, 'SIGKILL')
  }
})

guarding.run()
