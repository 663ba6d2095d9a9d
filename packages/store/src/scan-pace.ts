import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How fast work beside the service's own goes on. */
export interface ScanPace {
  /** Rows of one piece: others wait for as long as one takes. */
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

/** Rows of a piece beside requests: about a millisecond of work. */
const PIECE_ROWS = 32
/** Work before the first rest, ms: a small store is looked through at once. */
const HEAD_START_MS = 250

/** Takes `share` of a core: after each piece it rests so much longer than the piece took. */
export function gentlePace(signal: AbortSignal, share: number): ScanPace {
  let since = performance.now()
  let workedMs = 0
  return {
    rows: PIECE_ROWS,
    rest: async () => {
      signal.throwIfAborted()
      const pieceMs = performance.now() - since
      workedMs += pieceMs
      if (workedMs < HEAD_START_MS) await nextTurn()
      else await delay(pieceMs * (1 / share - 1), undefined, { signal, ref: false })
      since = performance.now()
    },
  }
}
