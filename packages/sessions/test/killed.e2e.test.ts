import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '@steeple/store'
import { assert, fakeClock, rounds, suite, tempDir } from '@steeple/testkit'
import { imsiOf, movedBetween, PHONES, START_TICK } from './support/moving-phones.ts'

const killed = suite('sessions/killed')
const MAIN = fileURLToPath(new URL('./support/killed-main.ts', import.meta.url))
const KILLS = rounds(20)
const nothing = (): void => undefined
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--no-warnings', MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Resolves at the first round that it has counted. */
async function counts(child: ChildProcess): Promise<void> {
  const { stdout } = child
  if (stdout === null) throw new Error('the child has no output')
  const ended = once(child, 'exit').then(([code]) => assert.unreachable(`it ended with ${code}`))
  await Promise.race([once(stdout, 'data'), ended])
}

killed(
  'counts every octet once, however often it is killed amid a round',
  async () => {
    await using dir = await tempDir()
    const url = `sqlite:${join(dir.path, 'svc.db')}`
    const began = String(Date.now())
    let ticks = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const child = start([url, began])
      const over = once(child, 'exit')
      await counts(child)
      // Anywhere in the rounds that follow: 0 to some hundred ms later.
      await wait((kill * 37) % 101)
      child.kill('SIGKILL')
      await over
      ticks = Math.floor((Date.now() - Number(began)) / 5)
    }
    const end = START_TICK + ticks + 10
    const last = start([url, began, String(end)])
    assert.equal(await once(last, 'exit'), [0, null])
    const db = await openDatabase({ url, clock: fakeClock(), log })
    const sums = await db.all<{ readonly imsi: string; readonly up: number; readonly down: number }>(
      'select imsi, sum(counted_up) as up, sum(counted_down) as down from sessions_ledger group by imsi order by imsi',
    )
    const live = await db.all('select id from sessions_session where is_live = 1')
    const held = await db.all('select source from sessions_held')
    await db.close()
    const truth = Array.from({ length: PHONES }, (_, phone) => {
      const up = movedBetween(phone, START_TICK, end)
      return { imsi: imsiOf(phone) as string, up, down: 3 * up }
    })
    assert.equal(sums, truth)
    assert.equal([live.length, held.length], [PHONES, 0])
  },
  { limitMs: KILLS * 30_000 },
)

killed.run()
