import { defineTable, type Migration, type Table } from '@steeple/contracts'

/** That a SIM was written on a card. */
export interface WrittenRow {
  readonly hash: string
  readonly written_at_ms: number
  /** Kind and id of who did it. */
  readonly written_by: string
  /** The last four digits of the card's own ICCID, which no writing changes. */
  readonly iccid_last4: string
}

export const WRITTEN: Table<WrittenRow> = defineTable(
  'card_writer_written',
  ['hash', 'written_at_ms', 'written_by', 'iccid_last4'],
  ['hash'],
)

/** Tables of this plugin; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_written',
    up: [
      `create table card_writer_written (
        hash text primary key,
        written_at_ms bigint not null,
        written_by text not null,
        iccid_last4 text not null,
        row_sum bigint not null
      )`,
    ],
  },
]
