import {
  type BatchResult,
  createPause,
  type HssDriver,
  isServiceError,
  type Outcome,
  type Reader,
  untilAborted,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'

/** What is left of the keys of a call once they are read. */
export interface ReadKeys {
  readonly rows: readonly SimRow[]
  /** Outcomes of the keys without a row that could be used. */
  readonly outcomes: Map<string, Outcome>
  /** Keys behind the last row that was taken. */
  readonly unread: readonly string[]
}

/**
 * Reads the rows of keys, in their order, until it has `enough`. A row that fails its checksum waits until somebody has
 * mended it.
 */
export async function readKeys(
  reader: Reader,
  keys: readonly string[],
  enough?: { readonly rows: number; readonly of: (row: SimRow) => boolean },
): Promise<ReadKeys> {
  const rows: SimRow[] = []
  const outcomes = new Map<string, Outcome>()
  const pause = createPause()
  let counted = 0
  for (const [i, hash] of keys.entries()) {
    if (enough !== undefined && counted >= enough.rows) return { rows, outcomes, unread: keys.slice(i) }
    await pause()
    try {
      const row = await SIMS.find(reader, { hash })
      if (row === undefined) outcomes.set(hash, { state: 'converged' })
      else {
        rows.push(row)
        if (enough?.of(row) === true) counted += 1
      }
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'store_corrupt') throw error
      outcomes.set(hash, { state: 'terminal', reason: 'the stored row fails its checksum' })
    }
  }
  return { rows, outcomes, unread: [] }
}

/** While nobody can be pushed to: when to look again; undefined when it is worth a try now. */
export function notNow(parts: SimsParts, driver: HssDriver | undefined): Outcome | undefined {
  const restMs = parts.hss.restMs()
  const { problem = 'the HSS rests' } = parts.hss.view()
  if (driver === undefined) return { state: 'pending', afterMs: ABSENT_MS, reason: problem }
  return restMs > 0 ? { state: 'pending', afterMs: restMs, reason: problem } : undefined
}

/** A driver that comes is noticed at once (see plugin.ts); this is only the net below. */
const ABSENT_MS = 60_000
/** Bound on one call of a driver. */
const CALL_MS = 20_000
const LATE = `the HSS did not answer within ${CALL_MS / 1_000} s`

/**
 * One call of the driver, bounded in time. Undefined when it failed as a whole, which the link then knows.
 * Throws only when the reconciler itself was told to stop.
 */
export async function called<T>(
  parts: SimsParts,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const bound = AbortSignal.timeout(CALL_MS)
  try {
    const result = await untilAborted(call(AbortSignal.any([signal, bound])), bound)
    parts.hss.worked()
    return result
  } catch (error) {
    signal.throwIfAborted()
    parts.hss.failed(bound.aborted ? new Error(LATE) : error)
    return undefined
  }
}

/** The error of one subscriber; a driver that forgets one has not done it. */
export function errorOf(result: BatchResult, imsi: Parameters<BatchResult['get']>[0]): Error | undefined {
  return result.has(imsi) ? result.get(imsi) : new Error('the HSS driver gave no result for it')
}
