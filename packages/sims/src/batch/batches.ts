import { readdir, rm, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Context, defineTable, type Reader, type Table, type Vault } from '@steeple/contracts'
import { wipe } from '../secrets/card.ts'
import { cardsOfBatch } from './cards.ts'

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

/** The directory of one batch, as the answer of an issue names it. Nothing is written there. */
export function batchDir(dataDir: string, batchId: string): string {
  return join(batchesDir(dataDir), batchId)
}

/**
 * Removes the sealed card files that versions up to 0.2.0 wrote at each issue: cards are made from the rows when they are
 * exported. A batch with damaged rows keeps its files.
 */
export async function removeOldFiles(context: Context, vault: Vault): Promise<void> {
  const { data_dir: dataDir } = context.settings.server
  const names = await readdir(batchesDir(dataDir)).catch(() => [])
  for (const id of names.filter((name) => /^b-[0-9a-z-]+$/.test(name))) {
    if (context.retiring.aborted) return
    try {
      const batch = await BATCHES.find(context.db, { id })
      if (batch !== undefined) wipe(await cardsOfBatch(context.db, vault, batch))
      await rm(batchDir(dataDir, id), { recursive: true, force: true })
    } catch (err) {
      context.log.warn({ batch: id, err }, 'files of a batch stay: its SIMs cannot be read')
    }
    await nextTurn()
  }
  // It stays where something else lies in it.
  await rmdir(batchesDir(dataDir)).catch(() => undefined)
}

function batchesDir(dataDir: string): string {
  return resolve(join(dataDir, 'batches'))
}
