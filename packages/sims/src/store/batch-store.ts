import { defineTable, type Table } from '@steeple/contracts'

/** One issued batch. Its cards are in a file that only the sealed key opens. */
export interface BatchRow {
  readonly id: string
  readonly created_at_ms: number
  readonly sims: number
  readonly profile: string
  readonly plmn: string
  readonly label: string | null
  /** The key of `cards.csv.sealed`, sealed; AAD `sims_batch/<id>`. */
  readonly key_sealed: Uint8Array
}

/** The issued batches. */
export const BATCHES: Table<BatchRow> = defineTable<BatchRow>(
  'sims_batch',
  ['id', 'created_at_ms', 'sims', 'profile', 'plmn', 'label', 'key_sealed'],
  ['id'],
)
