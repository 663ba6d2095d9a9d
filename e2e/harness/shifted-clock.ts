import { existsSync, globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Debian's package `faketime`. */
const LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1'

/** A clock of a process and all that it starts with its environment, OpenSSL included. */
interface FakedClock {
  env(): Readonly<Record<string, string>>
  /** From now on so many seconds ahead of the real one. */
  shift(seconds: number): void
}

/** In `folder`: the file that says how far the clock is off. The monotonic clock is the real one. */
export function fakedClock(folder: string): FakedClock {
  const library = globSync(LIBRARIES)[0]
  if (library === undefined) throw new Error('libfaketime is not installed (Debian: faketime)')
  const file = join(folder, 'clock')
  const shift = (seconds: number): void => {
    // Whoever reads it meanwhile reads a whole one.
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}s\n`)
    renameSync(`${file}.new`, file)
  }
  if (!existsSync(file)) shift(0)
  return {
    env: () => ({
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    }),
    shift,
  }
}

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
