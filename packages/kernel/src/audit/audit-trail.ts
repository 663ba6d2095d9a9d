import { createHmac, type KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type AuditEntry,
  type AuditFilter,
  type AuditTrail,
  type Clock,
  countText,
  createTurns,
  isServiceError,
  type Log,
  type Reader,
  type SqlParams,
  storeCorrupt,
} from '@steeple/contracts'
import { readKeyFile, replaceKeyFile } from '@steeple/secrets'
import type { Database, ScanPace, WriterTx } from '@steeple/store'
import { anchorTrail } from './audit-beginning.ts'
import {
  AUDIT_COLUMNS,
  type AuditCheckpoint,
  type AuditHead,
  type AuditRow,
  type AuditSeal,
  auditEntry,
  auditHash,
  auditSeal,
  auditShortfall,
  canonicalJson,
  derivedKey,
  GENESIS_HASH,
  isSameSignature,
  readAuditHead,
} from './audit-chain.ts'

/** What the node knows of its trails. */
interface AnchorRecord {
  /** When each trail of this node began, ms since the epoch, oldest first. Empty when the record is not to be trusted. */
  readonly beganAtMs: readonly number[]
  /** Whether this node has signed it. */
  readonly isSigned: boolean
}

/**
 * That this node keeps a trail, remembered outside the store: a store whose trail was erased, triggers and all, is not
 * taken for a new one.
 */
export interface AuditAnchor {
  /** Undefined as long as no trail began on this node. Throws `secrets_invalid` when others may read or write it. */
  read(): AnchorRecord | undefined
  /** Adds the beginning of a trail, durable before it returns. */
  remember(beganAtMs: number): void
}

const FILE = 'audit.anchor'

/** The anchor in `audit.anchor` (mode 0600) of a keys directory, sealed under a key derived from `auditKey`. */
export function auditAnchor(directory: string, auditKey: KeyObject): AuditAnchor {
  const key = derivedKey(auditKey, 'anchor')
  const sign = (beganAtMs: readonly number[]): string =>
    createHmac('sha256', key)
      .update(canonicalJson({ began_at_ms: [...beganAtMs] }))
      .digest('hex')

  const read = (): AnchorRecord | undefined => {
    const bytes = readKeyFile(directory, FILE)
    if (bytes === undefined) return undefined
    const parsed = parse(bytes)
    const isSigned = parsed !== undefined && isSameSignature(sign(parsed.beganAtMs), parsed.mac)
    return isSigned ? { beganAtMs: parsed.beganAtMs, isSigned } : { beganAtMs: [], isSigned: false }
  }

  return {
    read,
    remember: (beganAtMs) => {
      const known = read()?.beganAtMs ?? []
      const all = [...new Set([...known, beganAtMs])].toSorted((a, b) => a - b)
      const text = JSON.stringify({ began_at_ms: all, mac: sign(all) })
      replaceKeyFile(directory, FILE, Buffer.from(`${text}\n`))
    },
  }
}

function parse(bytes: Buffer): { readonly beganAtMs: readonly number[]; readonly mac: string } | undefined {
  try {
    const { began_at_ms: beganAtMs, mac } = Object(JSON.parse(bytes.toString())) as Record<string, unknown>
    const isList = Array.isArray(beganAtMs) && beganAtMs.every((ms) => Number.isSafeInteger(ms))
    return isList && typeof mac === 'string' ? { beganAtMs, mac } : undefined
  } catch {
    // Not signed, then: the caller says so.
    return undefined
  }
}

/** What a check of the trail says. */
type AuditVerdict = Awaited<ReturnType<AuditTrail['verify']>>

/** Entries checked before the event loop gets its turn. */
const SLICE_ENTRIES = 500
const AT_ONCE: ScanPace = { rows: SLICE_ENTRIES, rest: () => nextTurn() }

const NEWEST_CHECKPOINT =
  'select seq, hash, at_ms, removed, mac from kernel_audit_checkpoint order by seq desc limit 1'
const SLICE = `select ${AUDIT_COLUMNS} from kernel_audit where seq > :seq order by seq limit :limit`

const HAS_HEAD = 'select 1 as one from kernel_audit_head where id = 1'
const COUNT = 'select count(*) as count from kernel_audit'

type CheckpointRow = { seq: number; hash: string; at_ms: number; removed: number; mac: string }

/** Where a walk over the trail stands, and the first thing that is wrong. */
interface AuditWalk {
  readonly last: AuditHead
  readonly checked: number
  readonly broken: { readonly seq: number; readonly reason: string } | undefined
}

/** The newest checkpoint with its signature, or undefined when nothing was ever removed. */
async function newestCheckpoint(
  reader: Reader,
): Promise<{ readonly checkpoint: AuditCheckpoint; readonly mac: string } | undefined> {
  const row = await reader.get<CheckpointRow>(NEWEST_CHECKPOINT)
  if (row === undefined) return undefined
  return { checkpoint: { seq: row.seq, hash: row.hash, atMs: row.at_ms, removed: row.removed }, mac: row.mac }
}

/**
 * Follows the chain from behind `from` to its end or up to `upToSeq`, and stops at the first entry that does not fit.
 * `visit` sees each sound entry.
 */
async function walkAudit(
  reader: Reader,
  from: AuditHead,
  upToSeq: number,
  visit: (row: AuditRow) => void = () => undefined,
  pace: ScanPace = AT_ONCE,
): Promise<AuditWalk> {
  let last = from
  let checked = 0
  while (last.seq < upToSeq) {
    const limit = Math.min(pace.rows, upToSeq - last.seq)
    const rows = await reader.all<AuditRow>(SLICE, { seq: last.seq, limit })
    for (const row of rows) {
      const reason = misfit(row, last)
      if (reason !== undefined) return { last, checked, broken: { seq: last.seq + 1, reason } }
      visit(row)
      last = { seq: row.seq, hash: row.hash }
      checked++
    }
    if (rows.length < limit) break
    await pace.rest()
  }
  return { last, checked, broken: undefined }
}

function misfit(row: AuditRow, last: AuditHead): string | undefined {
  if (row.seq !== last.seq + 1) return `entry ${last.seq + 1} is missing; the next one is ${row.seq}`
  if (row.prev_hash !== last.hash) return `entry ${row.seq} does not follow the one before it`
  if (auditHash(row) !== row.hash) return `entry ${row.seq} was changed: its hash does not match its content`
  return undefined
}

/** Checks checkpoint, chain and head; what is around them is `checkAudit`'s. New entries may be appended meanwhile; nothing may be pruned. */
async function verifyAudit(reader: Reader, seal: AuditSeal, pace: ScanPace = AT_ONCE): Promise<AuditVerdict> {
  let checked = 0
  const failed = (firstBroken: number, reason: string): AuditVerdict => ({
    ...{ ok: false, checked, firstBroken, reason },
  })
  const newest = await newestCheckpoint(reader)
  if (newest !== undefined && !isSameSignature(seal.checkpoint(newest.checkpoint), newest.mac)) {
    const { seq } = newest.checkpoint
    return failed(seq, `the checkpoint at ${seq} is not signed by this node`)
  }
  const head = await headOrReason(reader, seal)
  if (typeof head === 'string') return { ok: false, checked, reason: head }
  const { seq, hash } = newest?.checkpoint ?? { seq: 0, hash: GENESIS_HASH }
  let atHead = seq === head.seq ? hash : undefined
  const see = (row: AuditRow): void => {
    if (row.seq === head.seq) atHead = row.hash
  }
  const walk = await walkAudit(reader, { seq, hash }, Number.MAX_SAFE_INTEGER, see, pace)
  checked = walk.checked
  const last = walk.last.seq
  if (walk.broken !== undefined) return failed(walk.broken.seq, walk.broken.reason)
  if (last < head.seq) return failed(last + 1, `the entries from ${last + 1} to ${head.seq} are gone`)
  if (atHead !== head.hash)
    return failed(head.seq, `entry ${head.seq} is not the one that the head record names`)
  const headAfter = await headOrReason(reader, seal)
  if (typeof headAfter === 'string') return { ok: false, checked, reason: headAfter }
  if (last <= headAfter.seq) return { ok: true, checked }
  return failed(headAfter.seq + 1, `entry ${headAfter.seq + 1} was not written by this service`)
}

/** The head, or what is wrong with it. */
async function headOrReason(reader: Reader, seal: AuditSeal): Promise<AuditHead | string> {
  try {
    return await readAuditHead(reader, seal)
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'store_corrupt') throw error
    const isThere = (await reader.get(HAS_HEAD)) !== undefined
    if (isThere) return 'the head record is not signed by this node'
    const { count } = (await reader.get<{ count: number }>(COUNT)) ?? { count: 0 }
    return `the head record is missing, and ${count === 0 ? 'there is no entry: the trail was erased' : countText(count, 'entry is left', 'entries are left')}`
  }
}

/** What the audit trail needs. `auditKey` is the one that the mutations use. */
interface AuditTrailOptions {
  readonly db: Database
  readonly clock: Clock
  readonly auditKey: KeyObject
  readonly anchor: AuditAnchor
}

/** A filter that matches little is looked for window by window, so that a scan does not hold the event loop. */
const WINDOW_ENTRIES = 10_000
/** Entries removed in one transaction. */
const REMOVED_AT_ONCE = 5_000

const LAST_SEQ = 'select coalesce(max(seq), 0) as seq from kernel_audit'
const FIRST_SEQ = 'select coalesce(min(seq), 0) as seq from kernel_audit'
const FIRST_KEPT = 'select seq from kernel_audit where at_ms >= :cutoff order by seq limit 1'
const HASH_AT = 'select hash from kernel_audit where seq = :seq'
const CHECKPOINT = `insert into kernel_audit_checkpoint (seq, hash, at_ms, removed, mac)
  values (:seq, :hash, :at_ms, :removed, :mac)`
const REMOVE = 'delete from kernel_audit where seq <= :seq'

/** The conditions that a filter adds, with its parameters. */
function conditionsOf(filter: AuditFilter): { readonly sql: string; readonly params: SqlParams } {
  const parts: readonly (readonly [string, string, string | number | undefined])[] = [
    ['action = :action', 'action', filter.action],
    ['principal_id = :principal', 'principal', filter.principal],
    ['target = :target', 'target', filter.target],
    ['at_ms >= :from_ms', 'from_ms', filter.fromMs],
    ['at_ms <= :to_ms', 'to_ms', filter.toMs],
  ]
  const params: Record<string, string | number> = {}
  let sql = ''
  for (const [condition, name, value] of parts) {
    if (value === undefined) continue
    sql += ` and ${condition}`
    params[name] = value
  }
  return { sql, params }
}

/** The trail as the kernel's own periodic check uses it. */
export interface PacedAuditTrail extends AuditTrail {
  /** As `verify`, beside other work. What it takes for a fault is looked at again at full speed, alone. */
  verifyGently(pace: ScanPace): ReturnType<AuditTrail['verify']>
}

/** Reads, checks and prunes the trail (docs/explanation/audit.md). */
export function createAuditTrail({ db, clock, auditKey, anchor }: AuditTrailOptions): PacedAuditTrail {
  const seal = auditSeal(auditKey)
  // Verify and prune of this instance wait for each other: a prune takes away what a verify is about to read.
  const alone = createTurns()
  return {
    list: (filter, limit, beforeSeq) => listAudit(db, filter, limit, { order: 'desc', from: beforeSeq }),
    listAfter: (filter, limit, afterSeq) => listAudit(db, filter, limit, { order: 'asc', from: afterSeq }),
    head: async () => {
      const head = await readAuditHead(db, seal)
      return { ...head, seal: seal.head(head) }
    },
    verify: () => alone(() => checkAudit({ db, seal, anchor })),
    verifyGently: async (pace) => {
      // Not alone, or somebody who asks for a check would wait for long: a prune meanwhile looks like a fault.
      const verdict = await checkAudit({ db, seal, anchor, pace })
      return verdict.ok ? verdict : await alone(() => checkAudit({ db, seal, anchor }))
    },
    prune: (olderThanMs) => alone(() => pruneAudit(db, seal, olderThanMs, clock.nowMs())),
  }
}

/** Entries in that order, behind `from`. */
async function listAudit(
  db: Database,
  filter: AuditFilter,
  limit: number,
  { order, from }: { readonly order: 'asc' | 'desc'; readonly from: number | undefined },
): Promise<readonly AuditEntry[]> {
  const { sql, params } = conditionsOf(filter)
  const select = `select ${AUDIT_COLUMNS} from kernel_audit where seq between :low and :high${sql}
    order by seq ${order} limit :limit`
  const isUp = order === 'asc'
  let low = (await db.get<{ seq: number }>(FIRST_SEQ))?.seq ?? 0
  let high = (await db.get<{ seq: number }>(LAST_SEQ))?.seq ?? 0
  if (isUp) low = Math.max(low, (from ?? 0) + 1)
  else high = Math.min(high, (from ?? high + 1) - 1)
  const entries: AuditEntry[] = []
  while (low <= high && entries.length < limit) {
    const window = isUp
      ? { low, high: Math.min(high, low + WINDOW_ENTRIES - 1) }
      : { low: Math.max(low, high - WINDOW_ENTRIES + 1), high }
    const rows = await db.all<AuditRow>(select, { ...params, ...window, limit: limit - entries.length })
    entries.push(...rows.map(auditEntry))
    if (isUp) low = window.high + 1
    else high = window.low - 1
    if (low <= high && entries.length < limit) await nextTurn()
  }
  return entries
}

/**
 * Removes a prefix. The prefix is checked first, so that a broken chain is never hidden behind a checkpoint; the
 * checkpoint is committed first, so that a crash leaves entries too many and never a hole.
 */
async function pruneAudit(
  db: Database,
  seal: AuditSeal,
  olderThanMs: number,
  nowMs: number,
): Promise<number> {
  const start = await startOf(db, seal)
  const kept = await db.get<{ seq: number }>(FIRST_KEPT, { cutoff: olderThanMs })
  const last = kept === undefined ? ((await db.get<{ seq: number }>(LAST_SEQ))?.seq ?? 0) : kept.seq - 1
  if (last > start.seq) {
    const walk = await walkAudit(db, start, last)
    if (walk.broken !== undefined || walk.last.seq !== last) throw storeCorrupt('kernel_audit')
    await db.transact((tx) => leaveCheckpoint(tx, seal, start, walk.last, nowMs))
  }
  await removeUpTo(db, Math.max(last, start.seq))
  return Math.max(0, last - start.seq)
}

async function startOf(db: Database, seal: AuditSeal): Promise<AuditHead> {
  const newest = await newestCheckpoint(db)
  if (newest === undefined) return { seq: 0, hash: GENESIS_HASH }
  const { checkpoint, mac } = newest
  if (!isSameSignature(seal.checkpoint(checkpoint), mac)) throw storeCorrupt('kernel_audit_checkpoint')
  return { seq: checkpoint.seq, hash: checkpoint.hash }
}

async function leaveCheckpoint(
  tx: WriterTx,
  seal: AuditSeal,
  start: AuditHead,
  last: AuditHead,
  atMs: number,
): Promise<void> {
  const stored = await tx.get<{ hash: string }>(HASH_AT, { seq: last.seq })
  if (stored?.hash !== last.hash) throw storeCorrupt('kernel_audit')
  const checkpoint = { ...last, atMs, removed: last.seq - start.seq }
  const { seq, hash, removed } = checkpoint
  await tx.run(CHECKPOINT, { seq, hash, at_ms: atMs, removed, mac: seal.checkpoint(checkpoint) })
}

async function removeUpTo(db: Database, seq: number): Promise<void> {
  const first = (await db.get<{ seq: number }>(FIRST_SEQ))?.seq ?? 0
  if (first === 0) return
  for (let upTo = first - 1; upTo < seq; ) {
    upTo = Math.min(seq, upTo + REMOVED_AT_ONCE)
    const bound = upTo
    await db.transact((tx) => tx.run(REMOVE, { seq: bound }))
  }
}

/** What a check of the whole trail looks at. */
interface AuditCheckOptions {
  readonly db: Database
  readonly seal: AuditSeal
  readonly anchor: AuditAnchor
  /** At full speed when absent. */
  readonly pace?: ScanPace
}

/** Checks the chain, and that everything that protects it is in place: tables, triggers, anchor. */
async function checkAudit({ db, seal, anchor, pace }: AuditCheckOptions): Promise<AuditVerdict> {
  const around = await protectionProblems(db, anchor)
  if (around.isUnreadable) return { ok: false, checked: 0, reason: around.problems.join('; ') }
  const chain = await verifyAudit(db, seal, pace)
  if (around.problems.length === 0) return chain
  const reason = [...(chain.reason === undefined ? [] : [chain.reason]), ...around.problems].join('; ')
  return { ...chain, ok: false, reason }
}

/**
 * What a start does: looks at head, tables, triggers and anchor (not at the entries), and makes the anchor when there is
 * none. Returns what is wrong; undefined when nothing is.
 */
export async function settleAudit(
  options: AuditCheckOptions & { readonly clock: Clock; readonly log: Log },
): Promise<string | undefined> {
  const { db, seal, anchor, clock, log } = options
  const { isUnreadable, problems } = await protectionProblems(db, anchor)
  const head = isUnreadable ? undefined : await headOrReason(db, seal)
  if (typeof head === 'object' && (await anchorTrail(db, { anchor, clock })))
    log.warn(
      {},
      'the store is new, but this node had an audit trail before; the new one says so in its entry 1',
    )
  const all = typeof head === 'string' ? [head, ...problems] : problems
  if (all.length === 0) return undefined
  const reason = all.join('; ')
  log.error({ reason }, 'the audit trail is damaged')
  return reason
}

async function protectionProblems(
  db: Database,
  anchor: AuditAnchor,
): Promise<{ readonly isUnreadable: boolean; readonly problems: readonly string[] }> {
  const { tables, triggers } = await auditShortfall(db, db.dialect)
  const isForged = anchor.read()?.isSigned === false
  const problems = [
    ...named('table', tables, 'missing'),
    ...(tables.length > 0
      ? []
      : named('trigger', triggers, 'missing or changed, so the trail is not append-only')),
    ...(isForged ? ['the anchor beside the keys is not signed by this node'] : []),
  ]
  return { isUnreadable: tables.length > 0, problems }
}

function named(kind: string, names: readonly string[], what: string): readonly string[] {
  if (names.length === 0) return []
  return [
    `the ${kind}${names.length > 1 ? 's' : ''} ${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} ${what}`,
  ]
}
