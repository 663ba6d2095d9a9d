import { readdir, rm, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context, Vault } from '@steeple/contracts'
import { wipe } from '../secrets/card.ts'
import { BATCHES } from '../store/batch-store.ts'
import { cardsOfBatch } from './cards.ts'

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
