import { sumOctets } from '@steeple/contracts'
/**
 * What one source saw of a subscriber within an hour, in one lane: octets of spans that begin and end in the same slots
 * of it. All parts are sums, extremes or an "or", so it is the same in whatever order volumes come.
 */
export interface Span {
  /** The APN; empty where the source does not know it. */
  readonly lane: string
  /** First and last slot of the hour that it touches. */
  readonly first: number
  readonly last: number
  /** The whole of it, ms since the epoch. */
  fromMs: number
  toMs: number
  /** Sum of the lengths of what came, ms: less than the whole where there are holes. */
  seenMs: number
  upBytes: number
  downBytes: number
  isIncomplete: boolean
}

/** Octets of a span within one hour that come to a source. */
export interface Piece {
  readonly lane: string
  readonly fromMs: number
  readonly toMs: number
  readonly upBytes: number
  readonly downBytes: number
  readonly isIncomplete: boolean
}

/** Short against the time that charging records span, long against that of polls, so that a row keeps few spans. */
const SLOT_MS = 5 * 60_000

/** Adds octets to the spans of an hour. */
export function addPiece(spans: Span[], hourMs: number, piece: Piece): void {
  const first = Math.floor((piece.fromMs - hourMs) / SLOT_MS)
  // What ends with a slot does not touch the next one.
  const last = Math.max(first, Math.ceil((piece.toMs - hourMs) / SLOT_MS) - 1)
  // The newest is the last one, mostly.
  const known = spans.findLast(
    (span) => span.first === first && span.last === last && span.lane === piece.lane,
  )
  if (known === undefined) {
    spans.push({ ...piece, first, last, seenMs: piece.toMs - piece.fromMs })
    return
  }
  known.fromMs = Math.min(known.fromMs, piece.fromMs)
  known.toMs = Math.max(known.toMs, piece.toMs)
  known.seenMs += piece.toMs - piece.fromMs
  known.upBytes = sumOctets(known.upBytes, piece.upBytes)
  known.downBytes = sumOctets(known.downBytes, piece.downBytes)
  known.isIncomplete ||= piece.isIncomplete
}

/** The spans as stored, times relative to the hour. */
export function textFromSpans(spans: readonly Span[], hourMs: number): string {
  return JSON.stringify(
    spans.map((span) => [
      span.lane,
      span.fromMs - hourMs,
      span.toMs - hourMs,
      span.seenMs,
      span.upBytes,
      span.downBytes,
      span.isIncomplete ? 1 : 0,
    ]),
  )
}

type Stored = readonly [string, number, number, number, number, number, number]

/** What `textFromSpans` has written. */
export function spansFromText(text: string, hourMs: number): Span[] {
  // The row's sum was checked: it is what was written.
  return (JSON.parse(text) as readonly Stored[]).map(([lane, from, to, seenMs, upBytes, downBytes, flag]) => {
    const first = Math.floor(from / SLOT_MS)
    return {
      lane,
      first,
      last: Math.max(first, Math.ceil(to / SLOT_MS) - 1),
      fromMs: hourMs + from,
      toMs: hourMs + to,
      seenMs,
      upBytes,
      downBytes,
      isIncomplete: flag === 1,
    }
  })
}

/** Cuts octets of a span at the hours that it touches, in proportion to time; the last part has what is over. */
export function piecesByHour(
  piece: Piece,
  hours: { hourOf(atMs: number): number; nextHour(atMs: number): number },
): readonly { readonly hourMs: number; readonly piece: Piece }[] {
  const whole = piece.toMs - piece.fromMs
  const parts: { readonly hourMs: number; readonly piece: Piece }[] = []
  let upBytes = 0
  let downBytes = 0
  for (let fromMs = piece.fromMs; ; ) {
    const hourMs = hours.hourOf(fromMs)
    const toMs = Math.min(hours.nextHour(fromMs), piece.toMs)
    const isLast = toMs >= piece.toMs
    const share = isLast ? 1 : (toMs - piece.fromMs) / whole
    const up = isLast ? piece.upBytes : Math.floor(piece.upBytes * share)
    const down = isLast ? piece.downBytes : Math.floor(piece.downBytes * share)
    parts.push({
      hourMs,
      piece: { ...piece, fromMs, toMs, upBytes: up - upBytes, downBytes: down - downBytes },
    })
    if (isLast) return parts
    upBytes = up
    downBytes = down
    fromMs = toMs
  }
}
