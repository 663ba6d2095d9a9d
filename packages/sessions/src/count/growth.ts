import type { Volume } from '@steeple/contracts'
import type { CounterRow } from '../store/tables.ts'

/** Octets that moved in a span. */
export interface Moved {
  readonly fromMs: number
  readonly toMs: number
  readonly upBytes: number
  readonly downBytes: number
}

/** What a reading of a counter says: its growth, with the row that counts it; that it went back; or nothing new. */
export type Growth =
  | { readonly result: 'grown'; readonly moved: Moved; readonly row: CounterRow }
  | { readonly result: 'backwards' | 'same' }

/**
 * The growth of a counter since it was counted last: all of it for one that was never counted, unless it had counted for
 * others before. Nothing grew before `untilMs`, when its source was last read: it would have been read then.
 *
 * A counter that went back in one direction is not believed in the other either; what was counted stays the mark.
 */
export function growthOf(
  source: string,
  volume: Volume & { readonly count: Exclude<Volume['count'], 'delta'> },
  known: CounterRow | undefined,
  untilMs: number | undefined,
): Growth {
  const { upBytes, downBytes, toMs } = volume
  const { counter, generation, isBeginning } = volume.count
  const row = { source, counter, generation, up_bytes: upBytes, down_bytes: downBytes, to_ms: toMs }
  if (known === undefined) {
    const octets = isBeginning === true ? { upBytes: 0, downBytes: 0 } : { upBytes, downBytes }
    const moved = { fromMs: volume.fromMs, toMs, ...octets }
    return { result: 'grown', moved, row }
  }
  const up = upBytes - known.up_bytes
  const down = downBytes - known.down_bytes
  if (up < 0 || down < 0) return { result: 'backwards' }
  if (up === 0 && down === 0 && !volume.isIncomplete) return { result: 'same' }
  // What was read later than now, was by a clock that has been set back since: then its source's last reading alone tells.
  const beforeMs = known.to_ms > toMs ? (untilMs ?? toMs) : Math.max(known.to_ms, untilMs ?? 0)
  const fromMs = Math.min(toMs, beforeMs)
  return {
    result: 'grown',
    moved: { fromMs, toMs, upBytes: up, downBytes: down },
    row: { ...row, to_ms: Math.max(toMs, known.to_ms) },
  }
}

/** A later time has no timestamp, and soon none that a calendar knows. */
const YEAR_10000_MS = 253_402_300_800_000

/** What is wrong with a volume that no source that works gives; undefined when nothing is. */
export function volumeProblem({ upBytes, downBytes, fromMs, toMs }: Volume): string | undefined {
  if (![upBytes, downBytes].every((octets) => Number.isSafeInteger(octets) && octets >= 0)) return 'octets'
  if (![fromMs, toMs].every((ms) => Number.isSafeInteger(ms) && ms >= 0 && ms < YEAR_10000_MS)) return 'span'
  if (fromMs > toMs) return 'span'
  return undefined
}
