import { existsSync, globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Debian's package `faketime`. */
const LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1'

/** A clock of a process and all that it starts with its environment, OpenSSL included. */
export interface FakedClock {
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
