import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { restAfter } from '@steeple/contracts'

/** How fast work beside the service's own goes on. */
export interface ScanPace {
  /** Rows of the next piece: others wait for as long as one takes. */
  readonly rows: number
  /** Called after each piece. Rejects when the signal aborts. */
  rest(): Promise<void>
}

/** At full speed: for a command that nobody else waits for. */
export function fullPace(signal: AbortSignal): ScanPace {
  return {
    rows: 500,
    rest: async () => {
      signal.throwIfAborted()
      await nextTurn()
    },
  }
}

/** Rows of a piece beside requests: about a millisecond of work, more where a processor is quick. */
const FEWEST_ROWS = 32
const MOST_ROWS = 256
/** A piece of less work has twice as many rows the next time, one of more than twice that half as many, ms. */
const SHORT_MS = 0.6
/** Work before the first rest, ms: a small store is looked through at once. */
const HEAD_START_MS = 250

/** The longest rest for time that a piece did not work but waited, ms. */
const MOST_REST_FOR_WAITS_MS = 500

/**
 * Takes `share` of a core, with all else that takes one (`restAfter`): after each piece it rests so much longer than the
 * piece worked. A piece that waited for the disk or for a processor rests for that too, but not for long: on a busy machine a
 * check of a small store took minutes.
 */
export function gentlePace(signal: AbortSignal, share: number): ScanPace {
  const times = 1 / share - 1
  let since = performance.now()
  let sinceCpuMs = threadCpuMs()
  let passedMs = 0
  let rows = FEWEST_ROWS
  return {
    get rows() {
      return rows
    },
    rest: async () => {
      signal.throwIfAborted()
      const pieceMs = performance.now() - since
      const cpuMs = threadCpuMs() - sinceCpuMs
      const restMs = Math.max(cpuMs * times, Math.min(pieceMs * times, MOST_REST_FOR_WAITS_MS))
      rows = rowsAfter(rows, cpuMs)
      passedMs += pieceMs
      if (passedMs < HEAD_START_MS) await nextTurn()
      else await delay(restAfter(restMs), undefined, { signal, ref: false })
      since = performance.now()
      sinceCpuMs = threadCpuMs()
    },
  }
}

function rowsAfter(rows: number, cpuMs: number): number {
  if (cpuMs < SHORT_MS) return Math.min(2 * rows, MOST_ROWS)
  return cpuMs > 2 * SHORT_MS ? Math.max(rows / 2, FEWEST_ROWS) : rows
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
