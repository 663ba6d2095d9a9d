import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A machine's clock that a test sets while the service runs. */
export interface ShiftedClock {
  /** Node's flags that make a process go by it. */
  readonly nodeFlags: readonly string[]
  /** From now on the machine's clock is so many ms ahead of the real one. */
  shift(ms: number): void
}

/** In `dir`: a module that is loaded before the service and moves `Date.now`, and the file that says how far. */
export function shiftedClock(dir: string): ShiftedClock {
  const file = join(dir, 'shift')
  const module = join(dir, 'shifted-clock.mjs')
  // Whole at once: an empty file would be no shift.
  const shift = (ms: number): void => {
    writeFileSync(`${file}.new`, String(ms))
    renameSync(`${file}.new`, file)
  }
  shift(0)
  writeFileSync(
    module,
    `import { readFileSync } from 'node:fs'
const real = Date.now
Date.now = () => real() + Number(readFileSync(${JSON.stringify(file)}, 'utf8'))\n`,
  )
  return { nodeFlags: ['--import', module], shift }
}
