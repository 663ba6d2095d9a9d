import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'

/** Until when nobody is told of a rule and a subject, also when it fires anew. */
export interface SilenceRow {
  /** As `openKey` gives it. */
  readonly open_key: string
  readonly until_ms: number
  readonly silenced_by: string
}

/** The silences that were asked for. */
export const SILENCES: Table<SilenceRow> = defineTable(
  'alerts_silence',
  ['open_key', 'until_ms', 'silenced_by'],
  ['open_key'],
)

/** More than anybody asks for. */
const MOST = 5_000

/** The silences that last then, by rule and subject. */
export async function silencesAt(reader: Reader, nowMs: number): Promise<ReadonlyMap<string, SilenceRow>> {
  const { rows } = await SILENCES.sound(reader, `where until_ms > :now limit ${MOST}`, { now: nowMs })
  return new Map(rows.map((row) => [row.open_key, row]))
}

/** Forgets silences that ended before then. */
export async function pruneSilences(tx: Tx, before: number): Promise<number> {
  return await tx.run('delete from alerts_silence where until_ms < :before', { before })
}
