import { sumOctets } from '@steeple/contracts'
import type { Span } from './spans.ts'

/** What one source saw of a subscriber within an hour. */
interface SeenBySource {
  readonly source: string
  readonly spans: readonly Span[]
}

export interface Counted {
  readonly upBytes: number
  readonly downBytes: number
  /** Some octets may be missing, and no other source has seen all of that time. */
  readonly isIncomplete: boolean
}

/** Sorts sources, the one that counts first in front. Those that give 0 are not compared with each other. */
export type SourceOrder = (one: string, other: string) => number

/** Clocks of sources on one machine, and times in whole seconds, differ by less, ms. */
const SLACK_MS = 5_000

/** Octets of a better source that a worse one may have seen as well. */
interface Left {
  readonly span: Span
  readonly upBytes: number
  readonly downBytes: number
}

/**
 * What counts of an hour, by the order of sources. Depends on what was seen and not on the order in which it came.
 *
 * The best source counts whole. Of a worse one a span counts for nothing when better ones have seen all of that time
 * without a gap. Otherwise what it has more than they have in that time counts: so the larger figure stands where the
 * better source has a gap, and all of it where no better one was. What was used at another box no source of this one has seen: it
 * counts whole.
 */
export function countHour(seen: readonly SeenBySource[], order: SourceOrder): ReadonlyMap<string, Counted> {
  const counted = new Map<string, Counted>()
  let better: readonly Left[] = []
  let alike: Left[] = []
  let before: string | undefined
  const here = seen.filter(({ source }) => !source.startsWith(VISIT))
  for (const { source, spans } of seen)
    if (source.startsWith(VISIT))
      counted.set(source, { ...totalOf(spans), isIncomplete: spans.some((span) => span.isIncomplete) })
  const sorted = here.toSorted((a, b) => order(a.source, b.source) || (a.source < b.source ? -1 : 1))
  for (const { source, spans } of sorted) {
    if (before !== undefined && order(before, source) !== 0) {
      better = [...better, ...alike].sort((a, b) => byEnd(a.span, b.span))
      alike = []
    }
    before = source
    const lefts = beyondOf(spans.toSorted(byEnd), better)
    alike.push(...lefts)
    const isIncomplete = spans.some((span) => span.isIncomplete && !isSeenByOthers(span, source, here))
    counted.set(source, { ...totalOf(lefts), isIncomplete })
  }
  return counted
}

function totalOf(parts: readonly Pick<Left, 'upBytes' | 'downBytes'>[]): Omit<Counted, 'isIncomplete'> {
  return {
    upBytes: parts.reduce((all, { upBytes }) => sumOctets(all, upBytes), 0),
    downBytes: parts.reduce((all, { downBytes }) => sumOctets(all, downBytes), 0),
  }
}

/** What spans have beyond the better ones; each octet of a better one is set against one octet. */
function beyondOf(spans: readonly Span[], better: readonly Left[]): readonly Left[] {
  const up = better.map(({ upBytes }) => upBytes)
  const down = better.map(({ downBytes }) => downBytes)
  const complete = better.map(({ span }) => span).filter(isWhole)
  return spans.map((span) => {
    if (covers(complete, span)) return { span, upBytes: 0, downBytes: 0 }
    const beside = better.flatMap((each, index) => (sharesTime(each.span, span) ? [index] : []))
    return {
      span,
      upBytes: against(span.upBytes, up, beside),
      downBytes: against(span.downBytes, down, beside),
    }
  })
}

/** Takes as much of `octets` as there is at `indexes` of `left`; gives what is over. */
function against(octets: number, left: number[], indexes: readonly number[]): number {
  let over = octets
  for (const index of indexes) {
    const taken = Math.min(over, left[index] ?? 0)
    left[index] = (left[index] ?? 0) - taken
    over -= taken
  }
  return over
}

function isSeenByOthers(span: Span, source: string, seen: readonly SeenBySource[]): boolean {
  const others = seen.filter((each) => each.source !== source)
  return covers(
    others.flatMap(({ spans }) => spans.filter(isWhole)),
    span,
  )
}

/** Whether nothing can be missing in it. */
function isWhole(span: Span): boolean {
  return !span.isIncomplete && span.seenMs + SLACK_MS >= span.toMs - span.fromMs
}

/** Whether spans of its lane leave no gap in the time of `span`. */
function covers(spans: readonly Span[], span: Span): boolean {
  let untilMs = span.fromMs
  const beside = spans.filter((each) => touches(each, span)).sort((a, b) => a.fromMs - b.fromMs)
  if (beside.length === 0) return false
  for (const { fromMs, toMs } of beside) {
    if (fromMs > untilMs + SLACK_MS) return false
    untilMs = Math.max(untilMs, toMs)
  }
  return untilMs + SLACK_MS >= span.toMs
}

function isSameLane(one: Span, other: Span): boolean {
  return one.lane === other.lane || one.lane === '' || other.lane === ''
}

function touches(one: Span, other: Span): boolean {
  return isSameLane(one, other) && one.fromMs <= other.toMs + SLACK_MS && other.fromMs <= one.toMs + SLACK_MS
}

/** Whether both may have seen the same octets: what overlaps by no more than clocks differ follows on each other. */
function sharesTime(one: Span, other: Span): boolean {
  if (!isSameLane(one, other)) return false
  const commonMs = Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs)
  const shorterMs = Math.min(one.toMs - one.fromMs, other.toMs - other.fromMs)
  return commonMs > Math.min(SLACK_MS, shorterMs / 2) || (shorterMs === 0 && commonMs === 0)
}

function byEnd(one: Span, other: Span): number {
  return (
    one.toMs - other.toMs ||
    one.fromMs - other.fromMs ||
    (one.lane < other.lane ? -1 : one.lane > other.lane ? 1 : 0)
  )
}

/** Submissions come from anybody; that two of them are of the same octets is nothing that is known. */
export const SUBMISSION: string = 'submission:'
/** What a SIM has used at another box, by its name. It is told later, and has nothing to do with what is seen here at that time. */
const VISIT = 'visit:'
/** Who is not told apart any more. */
export const OTHER_SUBMISSION: string = `${SUBMISSION}other`

/** Sources as they are named, then others by name, then all submissions alike. */
export function sourceOrder(named: readonly string[]): SourceOrder {
  const classOf = (source: string): number => {
    if (source.startsWith(SUBMISSION)) return named.length + 1
    const index = named.indexOf(source)
    return index < 0 ? named.length : index
  }
  return (one, other) => {
    const difference = classOf(one) - classOf(other)
    if (difference !== 0 || classOf(one) !== named.length || one === other) return difference
    return one < other ? -1 : 1
  }
}
