import { defineTable, type Reader, type Table } from '@steeple/contracts'

/** One issued batch. */
export interface BatchRow {
  readonly id: string
  readonly created_at_ms: number
  readonly sims: number
  readonly profile: string
  readonly plmn: string
  readonly label: string | null
  /** Of versions up to 0.2.0, which kept a file of cards under it: empty since, and sealed; AAD `sims_batch/<id>`. */
  readonly key_sealed: Uint8Array
  /** Kind and id of who issued it; null for one from before that was kept. */
  readonly issued_by: string | null
  /** Of versions up to 0.2.0: since when those files were on the disk. */
  readonly files_at_ms: number | null
}

/** The issued batches. */
export const BATCHES: Table<BatchRow> = defineTable<BatchRow>(
  'sims_batch',
  ['id', 'created_at_ms', 'sims', 'profile', 'plmn', 'label', 'key_sealed', 'issued_by', 'files_at_ms'],
  ['id'],
)

const LABEL_OF_BATCH = `select hash from sims_sim
  where batch_id = :batch_id and label = :label and hash <> :but limit 1`

/** Whether a SIM of a batch other than `but` has that label. */
export async function isLabelOfBatch(
  reader: Reader,
  batch_id: string,
  label: string,
  but: string,
): Promise<boolean> {
  return (await reader.get(LABEL_OF_BATCH, { batch_id, label, but })) !== undefined
}
