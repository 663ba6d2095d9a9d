import {
  createPause,
  type ImsiHash,
  type Reader,
  sumOctets,
  type Tx,
  type UsageIncrement,
} from '@steeple/contracts'
import { putAllInto, rowsIn } from '../store/bulk.ts'
import { LEDGER, type LedgerRow } from '../store/tables.ts'
import { type Counted, countHour, type SourceOrder } from './counting.ts'
import type { LocalHours } from './hours.ts'
import { addPiece, type Piece, piecesByHour, type Span, spansFromText, textFromSpans } from './spans.ts'

/** Octets of a subscriber as a source saw them. */
export interface Share extends Piece {
  readonly imsi: string
  readonly source: string
}

/** Adds octets to the ledger in one transaction: the rows; says by how much what counts has changed. */
export type LedgerWriter = (tx: Tx, shares: readonly Share[]) => Promise<readonly UsageIncrement[]>

/** Octets that came before spans are kept: longer ago than this, a span is taken to begin here. */
const LONGEST_SPAN_MS = 7 * 86_400_000

const putRows = putAllInto(LEDGER)

/** A row while octets are added to it. */
interface Open {
  readonly row: LedgerRow
  readonly spans: Span[]
  upBytes: number
  downBytes: number
  isIncomplete: boolean
  isTouched: boolean
}

/** The pieces of an hour of one subscriber, by source. */
type HourPieces = Map<string, Piece[]>

export function ledgerWriter(hours: LocalHours, order: SourceOrder): LedgerWriter {
  return async (tx, shares) => {
    const changes: Change[] = []
    for (const [hourMs, subscribers] of await byHour(shares, hours))
      changes.push(...(await changesOfHour(tx, hourMs, hours.nextHour(hourMs), subscribers, order)))
    await putRows(
      tx,
      changes.map(({ row }) => row),
    )
    return changes.flatMap(({ increment }) => increment ?? [])
  }
}

/** A row as it will be, and by how much what counts of it has changed. */
interface Change {
  readonly row: LedgerRow
  readonly increment: UsageIncrement | undefined
}

async function changesOfHour(
  reader: Reader,
  hourMs: number,
  nextMs: number,
  subscribers: ReadonlyMap<string, HourPieces>,
  order: SourceOrder,
): Promise<readonly Change[]> {
  const pause = createPause()
  const changes: Change[] = []
  const rows = await rowsIn(reader, LEDGER, 'imsi', [...subscribers.keys()], 'and hour_ms = :hour', {
    hour: hourMs,
  })
  const stored = Map.groupBy(rows, ({ imsi }) => imsi)
  for (const [imsi, pieces] of subscribers) {
    const own = stored.get(imsi) ?? []
    const opened = openRows(imsi, hourMs, own, pieces, nextMs)
    for (const { row, before } of countRows(opened, order, closedCounts(own, nextMs, order)))
      changes.push({ row, increment: incrementOf(row, before, pieces.get(row.source), hourMs, nextMs) })
    const waiting = pause()
    if (waiting !== undefined) await waiting
  }
  return changes
}

async function byHour(
  shares: readonly Share[],
  hours: LocalHours,
): Promise<ReadonlyMap<number, ReadonlyMap<string, HourPieces>>> {
  const pause = createPause()
  const all = new Map<number, Map<string, HourPieces>>()
  for (const { imsi, source, ...piece } of shares) {
    const fromMs = Math.max(piece.fromMs, piece.toMs - LONGEST_SPAN_MS)
    for (const part of piecesByHour({ ...piece, fromMs }, hours)) {
      const subscribers = madeIn(all, part.hourMs, () => new Map<string, HourPieces>())
      const sources = madeIn(subscribers, imsi, (): HourPieces => new Map())
      madeIn(sources, source, () => []).push(part.piece)
    }
    const waiting = pause()
    if (waiting !== undefined) await waiting
  }
  return all
}

function madeIn<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The rows of an hour of a subscriber with the pieces added. */
function openRows(
  imsi: string,
  hourMs: number,
  stored: readonly LedgerRow[],
  pieces: HourPieces,
  nextMs: number,
): readonly Open[] {
  const opened = stored.map((row) => openRow(row, nextMs))
  for (const [source, own] of pieces) {
    let open = opened.find(({ row }) => row.source === source)
    if (open === undefined) {
      open = openRow(emptyRow(imsi, hourMs, source), nextMs)
      opened.push(open)
    }
    open.isTouched = true
    for (const piece of own) {
      addPiece(open.spans, hourMs, piece)
      open.upBytes = sumOctets(open.upBytes, piece.upBytes)
      open.downBytes = sumOctets(open.downBytes, piece.downBytes)
      open.isIncomplete ||= piece.isIncomplete
    }
  }
  return opened
}

function openRow(row: LedgerRow, nextMs: number): Open {
  return {
    row,
    spans: row.spans === null ? closedSpans(row, nextMs) : spansFromText(row.spans, row.hour_ms),
    upBytes: row.up_bytes,
    downBytes: row.down_bytes,
    isIncomplete: row.is_incomplete === 1,
    isTouched: false,
  }
}

/** Of an hour whose spans are no longer kept: one over all of it. */
function closedSpans(row: LedgerRow, nextMs: number): Span[] {
  const spans: Span[] = []
  addPiece(spans, row.hour_ms, {
    lane: '',
    fromMs: row.hour_ms,
    toMs: nextMs,
    upBytes: row.up_bytes,
    downBytes: row.down_bytes,
    isIncomplete: row.is_incomplete === 1,
  })
  return spans
}

function emptyRow(imsi: string, hourMs: number, source: string): LedgerRow {
  return {
    imsi,
    hour_ms: hourMs,
    source,
    up_bytes: 0,
    down_bytes: 0,
    counted_up: 0,
    counted_down: 0,
    is_incomplete: 0,
    counted_incomplete: 0,
    is_open: 1,
    spans: '[]',
  }
}

type Counts = ReadonlyMap<string, Counted>

function countsOf(opened: readonly Open[], order: SourceOrder): Counts {
  const [only] = opened
  return opened.length === 1 && only !== undefined
    ? new Map([[only.row.source, only]])
    : countHour(
        opened.map(({ row, spans }) => ({ source: row.source, spans })),
        order,
      )
}

/** What would count of stored rows whose spans are no longer kept; undefined while all of them have theirs. */
function closedCounts(stored: readonly LedgerRow[], nextMs: number, order: SourceOrder): Counts | undefined {
  if (stored.every(({ spans }) => spans !== null)) return undefined
  return countsOf(
    stored.map((row) => openRow(row, nextMs)),
    order,
  )
}

/** What counts of a row now. What counted while all spans were known stays: what is late adds what it would to `closed`. */
function countedNow(
  { row, isIncomplete }: Open,
  counts: Counted | undefined,
  closed: Counts | undefined,
): Pick<LedgerRow, 'counted_up' | 'counted_down' | 'counted_incomplete'> {
  const now = counts ?? NOTHING
  if (closed === undefined)
    return {
      counted_up: now.upBytes,
      counted_down: now.downBytes,
      counted_incomplete: now.isIncomplete ? 1 : 0,
    }
  const before = closed.get(row.source) ?? NOTHING
  const isNewlyIncomplete = isIncomplete && row.is_incomplete === 0 && now.isIncomplete
  return {
    counted_up: Math.max(0, sumOctets(row.counted_up, now.upBytes - before.upBytes)),
    counted_down: Math.max(0, sumOctets(row.counted_down, now.downBytes - before.downBytes)),
    counted_incomplete: isNewlyIncomplete ? 1 : row.counted_incomplete,
  }
}

const NOTHING: Counted = { upBytes: 0, downBytes: 0, isIncomplete: false }

/** The rows that have changed, and as they were before. */
function countRows(
  opened: readonly Open[],
  order: SourceOrder,
  closed: Counts | undefined,
): readonly { readonly row: LedgerRow; readonly before: LedgerRow }[] {
  const counted = countsOf(opened, order)
  return opened.flatMap((open) => {
    const { row: before, spans, upBytes, downBytes, isIncomplete, isTouched } = open
    const hasSpans = isTouched && before.spans !== null
    // Column by column: to copy a row takes longer than all else that is done about it here.
    const row: LedgerRow = {
      imsi: before.imsi,
      hour_ms: before.hour_ms,
      source: before.source,
      up_bytes: upBytes,
      down_bytes: downBytes,
      ...countedNow(open, counted.get(before.source), closed),
      is_incomplete: isIncomplete ? 1 : 0,
      is_open: hasSpans ? 1 : before.is_open,
      spans: hasSpans ? textFromSpans(spans, before.hour_ms) : before.spans,
    }
    const isSame =
      row.counted_up === before.counted_up &&
      row.counted_down === before.counted_down &&
      row.counted_incomplete === before.counted_incomplete
    return isTouched || !isSame ? [{ row, before }] : []
  })
}

function incrementOf(
  row: LedgerRow,
  before: LedgerRow,
  pieces: readonly Piece[] | undefined,
  hourMs: number,
  nextMs: number,
): UsageIncrement | undefined {
  const upBytes = row.counted_up - before.counted_up
  const downBytes = row.counted_down - before.counted_down
  const isIncomplete = row.counted_incomplete === 1
  if (upBytes === 0 && downBytes === 0 && row.counted_incomplete === before.counted_incomplete)
    return undefined
  const from = pieces?.map(({ fromMs }) => fromMs) ?? [hourMs]
  const to = pieces?.map(({ toMs }) => toMs) ?? [nextMs]
  return {
    // Stored from a sighting's or a volume's own.
    imsi: row.imsi as ImsiHash,
    source: row.source,
    fromMs: Math.min(...from),
    toMs: Math.max(...to),
    upBytes,
    downBytes,
    isIncomplete,
  }
}
