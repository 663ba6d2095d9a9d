import { openDatabase } from '../src/open.ts'
import { COLOURED, migrations } from './row-step.ts'

const [, , url = '', last = ''] = process.argv
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
const db = await openDatabase({ url, clock, log })
let begun = 0
const onBatch = (row: string): void => {
  process.stdout.write(`${row}\n`)
  begun += 1
  // Amid this batch it waits for its end.
  if (begun === Number(last)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
await db.migrate('toy', migrations(onBatch), [COLOURED])
await db.close()
