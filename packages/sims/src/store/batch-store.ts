import { type Db, defineTable, type Reader, type Table } from '@steeple/contracts'

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
  /** Kind and id of who issued it; null for one from before that was kept. */
  readonly issued_by: string | null
  /** Since when its files are known to be on the disk; null while they are not. */
  readonly files_at_ms: number | null
}

/** The issued batches. */
export const BATCHES: Table<BatchRow> = defineTable<BatchRow>(
  'sims_batch',
  ['id', 'created_at_ms', 'sims', 'profile', 'plmn', 'label', 'key_sealed', 'issued_by', 'files_at_ms'],
  ['id'],
)

const WITHOUT_FILES = 'select id from sims_batch where files_at_ms is null order by id limit :limit'
const IDS_AFTER = 'select id from sims_batch where id > :id order by id limit :limit'

/** At most `limit` batches whose files are not known to be on the disk. */
export function batchesWithoutFiles(reader: Reader, limit: number): Promise<readonly string[]> {
  return idsOf(reader, WITHOUT_FILES, { limit })
}

/** At most `limit` batches with an id behind `id`, by id. */
export function batchesAfter(reader: Reader, id: string, limit: number): Promise<readonly string[]> {
  return idsOf(reader, IDS_AFTER, { id, limit })
}

async function idsOf(
  reader: Reader,
  sql: string,
  params: Readonly<Record<string, string | number>>,
): Promise<readonly string[]> {
  return (await reader.all<{ readonly id: string }>(sql, params)).map(({ id }) => id)
}

/** Remembers that the files of batches are durable since `atMs`. */
export async function markFilesDurable(db: Db, ids: readonly string[], atMs: number): Promise<void> {
  await markFiles(db, ids, atMs)
}

/** Has the files of batches looked at again. */
export async function markFilesGone(db: Db, ids: readonly string[]): Promise<void> {
  await markFiles(db, ids, null)
}

/** A batch whose row is damaged stays as it is. */
async function markFiles(db: Db, ids: readonly string[], atMs: number | null): Promise<void> {
  if (ids.length === 0) return
  await db.write(async (tx) => {
    for (const id of ids) {
      const { rows } = await BATCHES.sound(tx, 'where id = :id', { id })
      for (const row of rows) await BATCHES.put(tx, { ...row, files_at_ms: atMs })
    }
  })
}

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
