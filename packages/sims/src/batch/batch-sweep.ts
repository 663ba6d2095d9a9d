import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Db } from '@steeple/contracts'
import { batchesAfter, markFilesGone } from '../store/batch-store.ts'
import { batchesDir, removeBatch } from './batch-files.ts'

/** Longer than a batch can be on its way into the store. */
const UNDER_WAY_MS = 10 * 60_000
const PAGE = 5_000

/** What a sweep has found. */
export interface Swept {
  /** Directories without a batch in the store: nobody has the key of their cards. They are removed. */
  readonly removed: readonly string[]
  /** Batches of the store without a directory; their files are to be written anew. */
  readonly missing: readonly string[]
}

/** Compares the directories of batches with the store. */
export async function sweepBatches(dataDir: string, db: Db, clock: Clock): Promise<Swept> {
  const parent = batchesDir(dataDir)
  const names = await readdir(parent).catch(() => [])
  const strange = new Set(names.filter((entry) => /^b-[0-9a-z-]+$/.test(entry)))
  const missing: string[] = []
  for (let last: string | undefined = ''; last !== undefined; ) {
    // A damaged row counts: damage is never taken for absence.
    const page: readonly string[] = await batchesAfter(db, last, PAGE)
    for (const id of page) if (!strange.delete(id)) missing.push(id)
    last = page.length < PAGE ? undefined : page.at(-1)
  }
  if (missing.length > 0) await markFilesGone(db, missing)
  const removed: string[] = []
  for (const name of strange) {
    if (await isUnderWay(join(parent, name), clock)) continue
    await removeBatch(dataDir, name)
    removed.push(name)
  }
  return { removed, missing }
}

async function isUnderWay(path: string, clock: Clock): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined || clock.nowMs() - found.mtimeMs < UNDER_WAY_MS
}
