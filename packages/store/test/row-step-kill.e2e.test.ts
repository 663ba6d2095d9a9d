import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { assert, suite, tempDir } from '@steeple/testkit'
import { openDatabase } from '../src/open.ts'
import { TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'
import { COLOURED } from './row-step.ts'

const kill = suite('store/row step, killed')

const ROWS = 3_000
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }

/** Runs the next version's migrations; killed amid the `batch`-th batch. Gives the first ids of the batches that it began. */
async function upgrade(url: string, batch: number): Promise<readonly string[]> {
  const script = new URL('./row-step-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, url, String(batch)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const begun: string[] = []
  for await (const row of createInterface({ input: child.stdout })) {
    begun.push(row)
    if (begun.length === batch) child.kill('SIGKILL')
  }
  await ended
  return begun
}

kill('goes on where kill -9 has cut it off, and does no batch twice that was kept', async () => {
  await using dir = await tempDir()
  const url = `sqlite:${join(dir.path, 'svc.db')}`
  const first = await openDatabase({ url, clock, log })
  await first.migrate('toy', TOY_MIGRATIONS, [TOY])
  await first.transact(async (tx) => {
    for (let n = 0; n < ROWS; n++) await TOY.insert(tx, toy(`r${String(n).padStart(5, '0')}`, n))
  })
  await first.close()

  const starts: string[] = []
  for (const batch of [2, 3, 5]) starts.push((await upgrade(url, batch))[0] ?? '')
  starts.push((await upgrade(url, Number.POSITIVE_INFINITY))[0] ?? 'nothing left')
  const later = starts.every((start, at) => at === 0 || start > (starts[at - 1] ?? ''))
  assert.ok(later, `each run begins behind the one before: ${starts.join(', ')}`)

  const last = await openDatabase({ url, clock, log })
  const rows = await COLOURED.select(last, '')
  assert.equal([rows.length, rows.every((row) => row.colour === `c${row.n}`)], [ROWS, true])
  await last.close()
})

kill.run()
