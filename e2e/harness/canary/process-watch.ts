import { readdirSync } from 'node:fs'
import { childrenOf, ofProcess, type Place } from './files.ts'

/**
 * Looks at the command lines of all that this process has started, and of what that has, again and again, and now and then at those of
 * all processes of this machine.
 */
export interface ProcessWatch {
  /** Every command line that was seen, each once. */
  stop(): readonly Place[]
}

const LOOK_MS = 4
/** A process gets its command line after it has begun, and few change it later: it is read at its first looks, and then seldom. */
const FIRST_LOOKS = 10
/** One look of so many is at all processes of the machine, whoever started them: their list alone costs more than what is on it. */
const SELDOM = 50

/** Starts to look; processes that run less than some milliseconds can be missed. */
export function watchProcesses(): ProcessWatch {
  const seen = new Map<string, Place>()
  let looks = new Map<string, number>()
  let count = 0
  const look = (): void => {
    const isEverywhere = count % SELDOM === 0
    count += 1
    const running = isEverywhere ? everyProcess() : childrenOf(process.pid).map(String)
    looks = new Map(running.map((pid) => [pid, (looks.get(pid) ?? 0) + 1]))
    for (const [pid, times] of looks) {
      if (times > FIRST_LOOKS && !isEverywhere) continue
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

function everyProcess(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
}

const NOTHING = Buffer.alloc(0)

function commandLine(pid: string): Buffer {
  try {
    return ofProcess(`/proc/${pid}/cmdline`) ?? NOTHING
  } catch {
    // It is not ours to look at.
    return NOTHING
  }
}
