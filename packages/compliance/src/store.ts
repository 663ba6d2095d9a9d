import {
  createPause,
  defineTable,
  type Reader,
  type SqlParams,
  type Table,
  type TableSpec,
  type TimeSpan,
  type Tx,
} from '@steeple/contracts'

/**
 * How a move was learnt: in the transaction that made it, as what was there when the record began, by comparison (it happened
 * while nobody recorded), or by an erasure.
 */
type How = 'move' | 'snapshot' | 'found' | 'erased'

/** One move. Rows are added and, by retention, removed; none is changed. */
export interface MoveRow {
  /** Grows with each move. */
  readonly seq: number
  readonly at_ms: number
  /** Of a SIM (subject: its hash), or of a node (its id). */
  readonly kind: 'sim' | 'lifecycle'
  readonly subject: string
  readonly from_state: string | null
  readonly to_state: string
  readonly reason: string | null
  readonly how: How
}

/** The state that the record knows of a SIM or a node. */
export interface StandingRow {
  readonly subject: string
  readonly state: string
  readonly reason: string | null
}

/** What retention has left in the place of rows. */
export interface CheckpointRow {
  readonly id: number
  readonly at_ms: number
  readonly kind: 'move' | 'tx'
  readonly before_ms: number
  readonly first_id: string
  readonly last_id: string
  readonly removed: number
  readonly sha256: string
  /** By the node's key: ECDSA P-256, SHA-256, DER, base64. */
  readonly signature: string
}

/** A SIM that is to be erased as soon as nothing needs its IMSI any more. */
export interface ErasureRow {
  readonly subject: string
  readonly asked_at_ms: number
  readonly asked_by: string
}

export const MOVES: Table<MoveRow> = defineTable(
  'compliance_move',
  ['seq', 'at_ms', 'kind', 'subject', 'from_state', 'to_state', 'reason', 'how'],
  ['seq'],
)
export const STANDINGS: Table<StandingRow> = defineTable(
  'compliance_standing',
  ['subject', 'state', 'reason'],
  ['subject'],
)
export const CHECKPOINTS: Table<CheckpointRow> = defineTable(
  'compliance_checkpoint',
  ['id', 'at_ms', 'kind', 'before_ms', 'first_id', 'last_id', 'removed', 'sha256', 'signature'],
  ['id'],
)
export const ERASURES: Table<ErasureRow> = defineTable(
  'compliance_erasure',
  ['subject', 'asked_at_ms', 'asked_by'],
  ['subject'],
)
/** The checksummed tables, for the integrity scan. */
export const TABLES: readonly TableSpec[] = [MOVES, STANDINGS, CHECKPOINTS, ERASURES]

/** The number that a query answers; 0 without one. */
async function numberIn(reader: Reader, sql: string, params: SqlParams = {}): Promise<number> {
  return Number((await reader.get<{ readonly n: number | null }>(sql, params))?.n ?? 0)
}

const LAST_SEQ = 'select max(seq) as n from compliance_move'

/** The numbers of the first and of the last move that is kept; 0 without one. */
export async function moveNumbers(
  reader: Reader,
): Promise<{ readonly first: number; readonly last: number }> {
  const first = await numberIn(reader, 'select min(seq) as n from compliance_move')
  return { first, last: await numberIn(reader, LAST_SEQ) }
}

/** Adds moves behind the last one, and says where their subjects stand now. */
export async function addMoves(tx: Tx, moves: readonly Omit<MoveRow, 'seq'>[]): Promise<void> {
  let last = await numberIn(tx, LAST_SEQ)
  const pause = createPause()
  for (const move of moves) {
    await pause()
    last += 1
    await MOVES.insert(tx, { seq: last, ...move })
    const { subject, to_state: state, reason } = move
    if (move.how === 'erased') await STANDINGS.remove(tx, { subject })
    else await STANDINGS.put(tx, { subject, state, reason })
  }
}

const BETWEEN = `where seq > :after and seq <= :up_to and kind = :kind and at_ms >= :from_ms and at_ms < :to_ms
  order by seq`

/** Moves of a kind in a span with numbers behind `after` up to `upTo`. Throws `store_corrupt`. */
export function movesBetween(
  reader: Reader,
  kind: MoveRow['kind'],
  { fromMs, toMs }: TimeSpan,
  after: number,
  upTo: number,
): Promise<readonly MoveRow[]> {
  return MOVES.select(reader, BETWEEN, { kind, from_ms: fromMs, to_ms: toMs, after, up_to: upTo })
}

/** Removes the oldest moves from before then, at most `limit`, and gives them. Never the last one: numbers are not used again. */
export async function takeMoves(tx: Tx, before: number, limit: number): Promise<readonly MoveRow[]> {
  const last = await numberIn(tx, LAST_SEQ)
  const rows = await MOVES.select(tx, 'where seq < :last order by seq limit :limit', { last, limit })
  const kept = rows.findIndex(({ at_ms }) => at_ms >= before)
  const taken = kept === -1 ? rows : rows.slice(0, kept)
  await tx.run('delete from compliance_move where seq <= :up_to', { up_to: taken.at(-1)?.seq ?? 0 })
  return taken
}

const SUBJECTS = 'where subject > :after order by subject limit :limit'

/** At most `limit` erasures that are under way, behind that subject. Throws `store_corrupt`. */
export function openErasures(reader: Reader, after: string, limit: number): Promise<readonly ErasureRow[]> {
  return ERASURES.select(reader, SUBJECTS, { after, limit })
}

/** How many erasures are under way; of those that were asked for before then, if it is given. */
export function countErasures(reader: Reader, before_ms = Number.MAX_SAFE_INTEGER): Promise<number> {
  const sql = 'select count(*) as n from compliance_erasure where asked_at_ms < :before_ms'
  return numberIn(reader, sql, { before_ms })
}

/** Adds a checkpoint behind the last one. */
export async function addCheckpoint(tx: Tx, row: Omit<CheckpointRow, 'id'>): Promise<void> {
  const last = await numberIn(tx, 'select max(id) as n from compliance_checkpoint')
  await CHECKPOINTS.insert(tx, { id: last + 1, ...row })
}

const CHECKPOINTS_WITHIN =
  'where id > :after and at_ms >= :from_ms and at_ms < :to_ms order by id limit :limit'

/** Checkpoints made in a span, behind the one with that number. Throws `store_corrupt`. */
export function checkpointsWithin(
  reader: Reader,
  { fromMs, toMs }: TimeSpan,
  after: number,
  limit: number,
): Promise<readonly CheckpointRow[]> {
  return CHECKPOINTS.select(reader, CHECKPOINTS_WITHIN, { after, from_ms: fromMs, to_ms: toMs, limit })
}
