import { openDatabase } from '../src/open.ts'
import { TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

/** Adds rows in large commits and says after each how many it has added, until it is killed. */
const [, , url = ''] = process.argv
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
const ROWS = 500

const db = await openDatabase({ url, clock, log })
await db.migrate('toy', TOY_MIGRATIONS, [TOY])
const known = await db.get<{ readonly rows: number }>('select count(*) as rows from toy_item')
for (let count = known?.rows ?? 0; ; ) {
  await db.transact(async (tx) => {
    // Scattered, and as wide as a SIM, so that each commit changes hundreds of pages.
    for (let n = count; n < count + ROWS; n++)
      await TOY.insert(tx, toy(`${(n * 7919) % 99_991}-${n}`, n, 'x'.repeat(600)))
  })
  count += ROWS
  process.stdout.write(`${count}\n`)
}
