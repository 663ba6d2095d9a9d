import { readFileSync } from 'node:fs'
import { listed } from '../process/proc-fs.ts'

/** A look is taken this often at most, ms. */
const LOOK_MS = 1_000
/**
 * A radio whose samples flow wakes its threads hundreds of times a second, since a subframe takes 1 ms. One whose device
 * has stalled wakes them at the pace of its time-outs: ten times a second or not at all.
 */
const LEAST_WAKES_PER_S = 20
/** A thread that never sleeps works too: a twentieth of a processor counts as so many wakes. A tick is 10 ms. */
const WAKES_PER_TICK = 4
/** Threads that handle samples: of srsenb, and of gnb. Others go on when no samples flow. */
const SAMPLE_THREADS = /^(?:TXRX|WORKER\d+|lower_phy.*|phy_worker.*)$/

/** Whether the work of a radio on air goes on. Times are ms of the monotonic clock. */
export interface Progress {
  /** One look at the process and its children. */
  look(pid: number | undefined, nowMs: number): void
  /** For how long it has done nothing; 0 while it works or is not known. */
  stillMs(nowMs: number): number
  /** Whether it has ever worked since its start. */
  readonly hasMoved: boolean
}

/** Progress of a radio of which nothing is known yet. */
export function radioProgress(): Progress {
  let last: { readonly wakes: number; readonly atMs: number } | undefined
  let stillSinceMs: number | undefined
  let hasMoved = false
  return {
    look: (pid, nowMs) => {
      if (last !== undefined && nowMs - last.atMs < LOOK_MS) return
      const wakes = pid === undefined ? undefined : wakesOf(pid)
      if (wakes === undefined) {
        last = undefined
        stillSinceMs = undefined
        return
      }
      if (last !== undefined) {
        const perSecond = (Math.abs(wakes - last.wakes) * 1_000) / (nowMs - last.atMs)
        const isMoving = perSecond >= LEAST_WAKES_PER_S
        hasMoved ||= isMoving
        stillSinceMs = isMoving ? undefined : (stillSinceMs ?? last.atMs)
      }
      last = { wakes, atMs: nowMs }
    },
    stillMs: (nowMs) => (stillSinceMs === undefined ? 0 : nowMs - stillSinceMs),
    get hasMoved() {
      return hasMoved
    },
  }
}

/** How often the threads that handle samples were woken, and what they worked; of all threads where none has such a name. */
function wakesOf(pid: number): number | undefined {
  const threads = [pid, ...childrenOf(pid)].flatMap(threadsOf)
  const sampling = threads.filter(({ name }) => SAMPLE_THREADS.test(name))
  const counted = sampling.length > 0 ? sampling : threads
  return counted.length === 0 ? undefined : counted.reduce((sum, { wakes }) => sum + wakes, 0)
}

function threadsOf(pid: number): readonly { readonly name: string; readonly wakes: number }[] {
  return listed(`/proc/${pid}/task`).flatMap((id) => {
    const status = read(`/proc/${pid}/task/${id}/status`)
    const name = /^Name:\t(.*)$/m.exec(status)?.[1]
    if (name === undefined) return []
    const counts = [...status.matchAll(/ctxt_switches:\t(\d+)$/gm)].map(([, count]) => Number(count))
    const ticks = ticksOf(read(`/proc/${pid}/task/${id}/stat`))
    return [{ name, wakes: counts.reduce((sum, count) => sum + count, ticks * WAKES_PER_TICK) }]
  })
}

/** Processor time, fields 14 and 15 of `stat`. The name in parentheses may hold blanks and parentheses itself. */
function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}

/** In a container the process that is known has started the radio. Not every kernel tells. */
function childrenOf(pid: number): readonly number[] {
  const text = read(`/proc/${pid}/task/${pid}/children`).trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // gone meanwhile, or not ours to look at
  }
}
