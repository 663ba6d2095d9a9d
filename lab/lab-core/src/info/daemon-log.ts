import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Writes a line as the daemon does. */
export type DaemonLog = (level: 'INFO' | 'WARNING' | 'ERROR' | 'FATAL', text: string) => void

/** A log of a daemon that is open. */
export interface OpenLog {
  readonly write: DaemonLog
  close(): void
}

/** A larger log is put aside, so that there are at most two of this size. */
const LARGEST_BYTES = 1024 * 1024

/**
 * The log file of a daemon in `directory`, in the form that Open5GS writes: `MM/DD hh:mm:ss.mmm: [name] LEVEL: text`, local
 * time. It holds IMSIs, as theirs do: for its owner alone.
 */
export function openDaemonLog(directory: string, name: string): OpenLog {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${name}.log`)
  let file = openSync(path, 'a', 0o600)
  let size = fstatSync(file).size
  return {
    write: (level, text) => {
      const line = `${timestamp(new Date())}: [${name}] ${level}: ${text}\n`
      size += writeSync(file, line)
      if (size < LARGEST_BYTES) return
      closeSync(file)
      renameSync(path, `${path}.1`)
      file = openSync(path, 'a', 0o600)
      size = 0
    },
    close: () => closeSync(file),
  }
}

function timestamp(now: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${two(now.getMonth() + 1)}/${two(now.getDate())}`
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`
  return `${day} ${time}.${String(now.getMilliseconds()).padStart(3, '0')}`
}
