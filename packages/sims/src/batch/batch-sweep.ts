import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Reader } from '@steeple/contracts'
import { batchesDir, removeBatch } from './batch-files.ts'

/** Longer than a batch can be on its way into the store. */
const UNDER_WAY_MS = 10 * 60_000

/**
 * Removes the directories of batches that never came into the store (the service was killed in between). Nobody has
 * the key of their cards. Gives their names.
 */
export async function sweepBatches(
  dataDir: string,
  reader: Reader,
  clock: Clock,
): Promise<readonly string[]> {
  const parent = batchesDir(dataDir)
  const names = await readdir(parent).catch(() => [])
  const removed: string[] = []
  for (const name of names.filter((entry) => /^b-[0-9a-z-]+$/.test(entry))) {
    if (await isUnderWay(join(parent, name), clock)) continue
    if (await isKnown(reader, name)) continue
    await removeBatch(dataDir, name)
    removed.push(name)
  }
  return removed
}

/** Whether there is a row, a damaged one included. */
async function isKnown(reader: Reader, id: string): Promise<boolean> {
  return (await reader.get('select id from sims_batch where id = :id', { id })) !== undefined
}

async function isUnderWay(path: string, clock: Clock): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined || clock.nowMs() - found.mtimeMs < UNDER_WAY_MS
}
