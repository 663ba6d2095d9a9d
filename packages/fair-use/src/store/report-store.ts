import type { Reader, Tx } from '@steeple/contracts'
import { storableName } from '@steeple/telecom'

/** A usage report that was taken. */
export interface ReportRow {
  readonly hash: string
  readonly report_id: string
  readonly source: string
  readonly up_bytes: number
  readonly down_bytes: number
  /** When it came; of one that names its time, that. */
  readonly taken_at_ms: number
}

const INSERT = `insert into fair_use_report (hash, report_id, source, up_bytes, down_bytes, taken_at_ms)
  values (:hash, :report_id, :source, :up_bytes, :down_bytes, :taken_at_ms)
  on conflict (hash, report_id) do nothing`
const FIND = `select source, up_bytes, down_bytes from fair_use_report
  where hash = :hash and report_id = :report_id`

/** Whether the report is `new`, is there already (`same`), or another one has its id (`other`). A new one is kept. */
export async function takeReport(tx: Tx, report: ReportRow): Promise<'new' | 'same' | 'other'> {
  const { hash } = report
  const report_id = storableName(report.report_id)
  if ((await tx.run(INSERT, { ...report, report_id })) > 0) return 'new'
  const known = await tx.get<Pick<ReportRow, 'source' | 'up_bytes' | 'down_bytes'>>(FIND, { hash, report_id })
  const isSame =
    known?.source === report.source &&
    known.up_bytes === report.up_bytes &&
    known.down_bytes === report.down_bytes
  return isSame ? 'same' : 'other'
}

const REPORTED = `select sum(up_bytes) as up, sum(down_bytes) as down from fair_use_report
  where hash = :hash and source = :source and taken_at_ms >= :from_ms and taken_at_ms <= :to_ms`

/** What the source of a report has told of its SIM between two moments, this report included once it is taken. */
export async function reportedBy(
  reader: Reader,
  { hash, source }: Pick<ReportRow, 'hash' | 'source'>,
  fromMs: number,
  toMs: number,
): Promise<{ readonly upBytes: number; readonly downBytes: number }> {
  const params = { hash, source, from_ms: fromMs, to_ms: toMs }
  const row = await reader.get<{ readonly up: number | null; readonly down: number | null }>(REPORTED, params)
  return { upBytes: Number(row?.up ?? 0), downBytes: Number(row?.down ?? 0) }
}

const OLD = `delete from fair_use_report where (hash, report_id) in
  (select hash, report_id from fair_use_report where taken_at_ms < :before_ms limit :most)`

/** Forgets at most `most` reports from before that; says how many. */
export async function pruneReports(tx: Tx, beforeMs: number, most: number): Promise<number> {
  return await tx.run(OLD, { before_ms: beforeMs, most })
}

/** Forgets the reports of a SIM. */
export async function removeReports(tx: Tx, hash: string): Promise<void> {
  await tx.run('delete from fair_use_report where hash = :hash', { hash })
}
