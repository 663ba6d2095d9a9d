import { defineTable, type Migration, type Reader, sumOctets, type Table, type Tx } from '@steeple/contracts'
import type { Uplink } from './backhaul.ts'

/** How far the counters of an interface were taken. */
interface UplinkRow {
  readonly name: string
  readonly since: string
  readonly received_bytes: number
  readonly sent_bytes: number
}

/** What went through the uplinks in a month. */
export interface MonthRow {
  /** `2026-11`. */
  readonly month: string
  readonly received_bytes: number
  readonly sent_bytes: number
  /** When it was first and last counted. */
  readonly from_ms: number
  readonly until_ms: number
}

export const UPLINKS: Table<UplinkRow> = defineTable<UplinkRow>(
  'mesh_uplink',
  ['name', 'since', 'received_bytes', 'sent_bytes'],
  ['name'],
)
export const MONTHS: Table<MonthRow> = defineTable<MonthRow>(
  'mesh_backhaul',
  ['month', 'received_bytes', 'sent_bytes', 'from_ms', 'until_ms'],
  ['month'],
)

/** Tables of this part; see README. */
export const BACKHAUL_MIGRATIONS: readonly Migration[] = [
  {
    id: '0401_backhaul',
    up: [
      `create table mesh_uplink (
        name text primary key,
        since text not null,
        received_bytes bigint not null,
        sent_bytes bigint not null,
        row_sum bigint not null
      )`,
      `create table mesh_backhaul (
        month text primary key,
        received_bytes bigint not null,
        sent_bytes bigint not null,
        from_ms bigint not null,
        until_ms bigint not null,
        row_sum bigint not null
      )`,
    ],
  },
]

/** The newest months, newest first. */
export function newestMonths(reader: Reader, count: number): Promise<readonly MonthRow[]> {
  return MONTHS.select(reader, 'order by month desc limit :count', { count })
}

/**
 * Adds to the month what has passed since the last call, in one transaction with how far it was taken. An interface that is seen for the
 * first time begins to count now: what it carried before is of no known month.
 */
export async function addTo(
  tx: Tx,
  month: string,
  uplinks: readonly Uplink[],
  nowMs: number,
): Promise<MonthRow> {
  let received = 0
  let sent = 0
  for (const { name, since, receivedBytes, sentBytes } of uplinks) {
    const before = await UPLINKS.find(tx, { name })
    if (before !== undefined) {
      const isOn = before.since === since
      received = sumOctets(received, grown(isOn, before.received_bytes, receivedBytes))
      sent = sumOctets(sent, grown(isOn, before.sent_bytes, sentBytes))
    }
    await UPLINKS.put(tx, { name, since, received_bytes: receivedBytes, sent_bytes: sentBytes })
  }
  const known = await MONTHS.find(tx, { month })
  const row: MonthRow = {
    month,
    received_bytes: sumOctets(known?.received_bytes ?? 0, received),
    sent_bytes: sumOctets(known?.sent_bytes ?? 0, sent),
    from_ms: known?.from_ms ?? nowMs,
    until_ms: nowMs,
  }
  await MONTHS.put(tx, row)
  return row
}

/** By how much a counter has grown; one that began anew, or went back, has counted what it shows. */
function grown(isOn: boolean, before: number, now: number): number {
  return isOn && now >= before ? now - before : now
}
