import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Reader } from '@steeple/contracts'
import { BATCHES } from '../store/batch-store.ts'
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
    if ((await BATCHES.find(reader, { id: name })) !== undefined) continue
    await removeBatch(dataDir, name)
    removed.push(name)
  }
  return removed
}

async function isUnderWay(path: string, clock: Clock): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined || clock.nowMs() - found.mtimeMs < UNDER_WAY_MS
}
