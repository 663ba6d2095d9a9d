import { readdirSync, readFileSync } from 'node:fs'
import type { Place } from './files.ts'

/** Looks at the command lines of all processes of this machine again and again. */
export interface ProcessWatch {
  /** Every command line that was seen, each once. */
  stop(): readonly Place[]
}

const LOOK_MS = 4
/** A process gets its command line after it has begun, and few change it later: it is read at its first looks, and then seldom. */
const FIRST_LOOKS = 10
const SELDOM = 50

/** Starts to look; processes that run less than some milliseconds can be missed. */
export function watchProcesses(): ProcessWatch {
  const seen = new Map<string, Place>()
  let looks = new Map<string, number>()
  const look = (): void => {
    const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    looks = new Map(running.map((pid) => [pid, (looks.get(pid) ?? 0) + 1]))
    for (const [pid, times] of looks) {
      if (times > FIRST_LOOKS && times % SELDOM !== 0) continue
      const content = commandLine(pid)
      if (content.length > 0) seen.set(content.toString('latin1'), { name: `/proc/${pid}/cmdline`, content })
    }
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return [...seen.values()]
    },
  }
}

function commandLine(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/cmdline`)
  } catch {
    // It has ended.
    return Buffer.alloc(0)
  }
}
