import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { descendantsOf, stopAll } from './descendants.ts'
import type { ProcessMark } from './proc-fs.ts'

const END_POLL_MS = 20
const END_POLL_MAX_MS = 1_000
/**
 * Looks in turn that find nothing before nothing is left: in the moment of an exec a process has no environment, which
 * lasts long where the processor is busy. Somebody waits for an end that was asked for.
 */
const QUIET_LOOKS = { asked: 5, own: 10 } as const
/** When a look is taken after a start, ms: at first, until it is on air, and from then on. */
const FIRST_LOOK_MS = 100
const STARTING_LOOK_MS = 1_000
const LATER_LOOK_MS = 5_000

/** A radio's guard, its process and all that this has started, in their process groups or out of them. */
export interface RadioFamily {
  /** The ids of all of it that is there now. */
  members(): readonly number[]
  /** Whether something is out of the process groups. */
  hasEscaped(): boolean
  /** Whether anything besides the guard and the radio's own process runs. */
  isMore(): boolean
  /** Asks the radio to end. What is out of its group is killed: it would not hear. */
  ask(): void
  /** Kills all of it that is there now. */
  kill(): void
  /**
   * The guard was waited for: kills what is left until nothing is, however long that takes. `escaped` is
   * called whenever there is some of that, the first time in the same turn. `how`: whether the end was asked for.
   */
  end(how: keyof typeof QUIET_LOOKS, escaped: () => void): Promise<void>
  /** Looks every now and then whether something has left the group, until the function that it returns is called. */
  watch(isOnAir: () => boolean, escaped: () => void): () => void
}

/** The family of the guard `root`, which leads its group. `entry`: what its environment holds. */
export function radioFamily(root: number, mark: ProcessMark | undefined, entry: string): RadioFamily {
  const lineage = { root, sinceTicks: Number(mark?.startTicks ?? 0), entry, self: process.pid }
  const look = descendantsOf({ readdirSync, readFileSync }, lineage)
  let isWaitedFor = false
  const hasEscaped = (): boolean => look(true).some(({ isOutside }) => isOutside)
  /** How many there were. */
  const kill = (): number => {
    // Before the group dies: a child of a dead process has another parent.
    const near = stopAll(() => look(false), stop)
    // Once it was waited for, its id is kept from others only by members of its group.
    if (!isWaitedFor || near.some(({ isOutside }) => !isOutside)) send(-root, 'SIGKILL')
    for (const { pid } of near) send(pid, 'SIGKILL')
    const left = stopAll(() => look(true), stop)
    for (const { pid } of left) send(pid, 'SIGKILL')
    return near.length + left.length
  }
  return {
    members: () => look(true).map(({ pid }) => pid),
    hasEscaped,
    isMore: () => look(true).some(({ pid, parent }) => pid !== root && parent !== root),
    ask: () => {
      for (const { pid, isOutside } of look(true)) {
        if (pid !== root) send(pid, isOutside ? 'SIGKILL' : 'SIGTERM')
      }
    },
    kill,
    end: async (how, escaped) => {
      isWaitedFor = true
      await endAll(() => {
        const found = kill()
        // What is still in the group may have been about to leave it: a radio has nothing that outlives it.
        if (found > 0) escaped()
        return found
      }, QUIET_LOOKS[how])
    },
    watch: (isOnAir, escaped) => {
      let next: NodeJS.Timeout
      const lookIn = (ms: number): void => {
        next = setTimeout(() => {
          if (hasEscaped()) escaped()
          lookIn(isOnAir() ? LATER_LOOK_MS : STARTING_LOOK_MS)
        }, ms).unref()
      }
      lookIn(FIRST_LOOK_MS)
      return () => clearTimeout(next)
    },
  }
}

/** Kills until `quietLooks` in turn have found none. */
async function endAll(kill: () => number, quietLooks: number): Promise<void> {
  let pauseMs = END_POLL_MS
  for (let quiet = kill() === 0 ? 1 : 0; quiet < quietLooks; ) {
    await wait(quiet === 0 ? pauseMs : END_POLL_MS)
    pauseMs = Math.min(pauseMs * 1.3, END_POLL_MAX_MS)
    quiet = kill() === 0 ? quiet + 1 : 0
  }
}

function stop(pid: number): void {
  send(pid, 'SIGSTOP')
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // gone meanwhile, or another user's: then it is found again
  }
}
