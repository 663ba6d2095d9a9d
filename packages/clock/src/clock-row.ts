import { defineTable, type Reader, type Table, type TableSpec, type Tx } from '@steeple/contracts'

/** What a node remembers of its time over a restart. */
export interface ClockRow {
  readonly node_id: string
  /** The service's time when this was written. */
  readonly at_ms: number
  /** The boot of the machine, and how long it was up then. */
  readonly boot_id: string | null
  readonly up_ms: number
  /** The last step that was believed. */
  readonly step_at_ms: number | null
  readonly step_by_ms: number | null
}

const CLOCK_TABLE = 'kernel_clock'
/** Its table. */
export const CLOCK_DDL: string = `create table ${CLOCK_TABLE} (node_id text not null primary key, at_ms bigint not null,
    boot_id text, up_ms bigint not null, step_at_ms bigint, step_by_ms bigint, row_sum bigint not null)`
const CLOCK: Table<ClockRow> = defineTable<ClockRow>(
  CLOCK_TABLE,
  ['node_id', 'at_ms', 'boot_id', 'up_ms', 'step_at_ms', 'step_by_ms'],
  ['node_id'],
)
/** Its columns, for the integrity scan. */
export const CLOCK_SPEC: TableSpec = CLOCK

const NEWEST_ENTRY = 'select at_ms from kernel_audit order by seq desc limit 1'

/** The row of a node. One that fails its checksum is as good as none: the next write replaces it. */
export async function readClockRow(reader: Reader, nodeId: string): Promise<ClockRow | undefined> {
  return await CLOCK.find(reader, { node_id: nodeId })
}

/** Puts the row of its node in place. */
export async function writeClockRow(tx: Tx, row: ClockRow): Promise<void> {
  await CLOCK.put(tx, row)
}

/** When the newest entry of the audit trail was written. */
export async function newestEntryMs(reader: Reader): Promise<number | undefined> {
  return (await reader.get<{ readonly at_ms: number }>(NEWEST_ENTRY))?.at_ms
}
