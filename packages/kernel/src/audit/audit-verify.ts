import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AuditTrail, isServiceError, type Reader } from '@steeple/contracts'
import type { ScanPace } from '@steeple/store'
import {
  AUDIT_COLUMNS,
  type AuditCheckpoint,
  type AuditHead,
  type AuditRow,
  type AuditSeal,
  auditHash,
  GENESIS_HASH,
  isSameSignature,
  readAuditHead,
} from './audit-chain.ts'

/** What a check of the trail says. */
export type AuditVerdict = Awaited<ReturnType<AuditTrail['verify']>>

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
export interface AuditWalk {
  readonly last: AuditHead
  readonly checked: number
  readonly broken: { readonly seq: number; readonly reason: string } | undefined
}

/** The newest checkpoint with its signature, or undefined when nothing was ever removed. */
export async function newestCheckpoint(
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
export async function walkAudit(
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
export async function verifyAudit(
  reader: Reader,
  seal: AuditSeal,
  pace: ScanPace = AT_ONCE,
): Promise<AuditVerdict> {
  const newest = await newestCheckpoint(reader)
  if (newest !== undefined && !isSameSignature(seal.checkpoint(newest.checkpoint), newest.mac))
    return failed(
      0,
      newest.checkpoint.seq,
      `the checkpoint at ${newest.checkpoint.seq} is not signed by this node`,
    )
  const headBefore = await headOrReason(reader, seal)
  if (typeof headBefore === 'string') return { ok: false, checked: 0, reason: headBefore }
  const start = newest?.checkpoint ?? { seq: 0, hash: GENESIS_HASH }
  let atHead = start.seq === headBefore.seq ? start.hash : undefined
  const walk = await walkAudit(
    reader,
    { seq: start.seq, hash: start.hash },
    Number.MAX_SAFE_INTEGER,
    (row) => {
      if (row.seq === headBefore.seq) atHead = row.hash
    },
    pace,
  )
  if (walk.broken !== undefined) return failed(walk.checked, walk.broken.seq, walk.broken.reason)
  if (walk.last.seq < headBefore.seq)
    return failed(
      walk.checked,
      walk.last.seq + 1,
      `the entries from ${walk.last.seq + 1} to ${headBefore.seq} are gone`,
    )
  if (atHead !== headBefore.hash)
    return failed(
      walk.checked,
      headBefore.seq,
      `entry ${headBefore.seq} is not the one that the head record names`,
    )
  const headAfter = await headOrReason(reader, seal)
  if (typeof headAfter === 'string') return { ok: false, checked: walk.checked, reason: headAfter }
  if (walk.last.seq > headAfter.seq)
    return failed(
      walk.checked,
      headAfter.seq + 1,
      `entry ${headAfter.seq + 1} was not written by this service`,
    )
  return { ok: true, checked: walk.checked }
}

/** The head, or what is wrong with it. */
export async function headOrReason(reader: Reader, seal: AuditSeal): Promise<AuditHead | string> {
  try {
    return await readAuditHead(reader, seal)
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'store_corrupt') throw error
    const isThere = (await reader.get(HAS_HEAD)) !== undefined
    if (isThere) return 'the head record is not signed by this node'
    const { count } = (await reader.get<{ count: number }>(COUNT)) ?? { count: 0 }
    return `the head record is missing, and ${count === 0 ? 'there is no entry: the trail was erased' : `${count} entries are left`}`
  }
}

function failed(checked: number, firstBroken: number, reason: string): AuditVerdict {
  return { ok: false, checked, firstBroken, reason }
}
