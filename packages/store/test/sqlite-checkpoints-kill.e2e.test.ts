import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { assert, rounds, suite, tempDir, testSeed } from '@steeple/testkit'
import { openDatabase } from '../src/open.ts'
import { TOY } from '../src/testing.ts'

const kill = suite('store/sqlite-checkpoints, killed')

const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
/** Commits until a thread takes over what they leave, and some more. */
const FEWEST_COMMITS = 20

/** Runs the child until it has answered so many commits; gives how many rows it has answered in all. */
async function killedAfter(url: string, commits: number): Promise<number> {
  const script = new URL('./sqlite-checkpoints-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let answered = 0
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    answered = Number(line)
    seen += 1
    if (seen === commits) child.kill('SIGKILL')
  }
  assert.equal(await ended, [null, 'SIGKILL'])
  return answered
}

kill('keeps what was answered when it is killed beside checkpoints', async () => {
  await using dir = await tempDir()
  const url = `sqlite:${join(dir.path, 'svc.db')}`
  const seed = testSeed()
  for (let round = 0; round < rounds(4); round++) {
    const commits = FEWEST_COMMITS + ((seed + 5 * round) % 17)
    const answered = await killedAfter(url, commits)
    const db = await openDatabase({ url, clock, log })
    const rows = await TOY.select(db, 'order by n')
    assert.ok(
      rows.length >= answered,
      `after ${commits} commits: ${rows.length} rows, ${answered} were answered`,
    )
    assert.ok(
      rows.every(({ n }, at) => n === at),
      'none is missing',
    )
    assert.equal(await db.fileProblems(new AbortController().signal), [])
    await db.close()
  }
})

kill.run()
