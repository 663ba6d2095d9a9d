import { isServiceError, type Outcome, type Reconciler } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { FILES_RESOURCE, type SimsParts } from '../parts.ts'
import { BATCHES, type BatchRow, batchesWithoutFiles, markFilesDurable } from '../store/batch-store.ts'
import { isBatchWhole, replaceBatch, syncBatch, syncBatchNames } from './batch-files.ts'
import { filesFromRows } from './rebuild.ts'

/** Batches of one call. */
const BATCH = 50
/** Batches of one listing: what a burst has left goes to the disk bit by bit. */
const MOST_LISTED = 2_000
/** How often batches are listed; by then the system has mostly written them out itself, and a sync costs little. */
const LIST_MS = 60_000
const RETRY_MS = 15_000

/**
 * Brings the files of batches to the disk for good, and writes what is missing or damaged anew from the rows. It works
 * off what the rows call not durable, so neither a crash nor a full disk leaves a batch without its files for long.
 */
export function filesReconciler(parts: SimsParts): Reconciler {
  const { context } = parts
  return {
    resource: FILES_RESOURCE,
    resyncMs: LIST_MS,
    batch: BATCH,
    keys: () => batchesWithoutFiles(context.db, MOST_LISTED),
    reconcile: async (keys, signal) => {
      const outcomes = new Map<string, Outcome>()
      const durable: string[] = []
      for (const id of keys) {
        signal.throwIfAborted()
        const outcome = await tend(parts, id)
        outcomes.set(id, outcome)
        if (outcome.state === 'converged') durable.push(id)
      }
      if (durable.length > 0) await syncBatchNames(context.settings.server.data_dir)
      await markFilesDurable(context.db, durable, context.clock.nowMs())
      return outcomes
    },
  }
}

async function tend(parts: SimsParts, id: string): Promise<Outcome> {
  const { context, vault, batchTrouble } = parts
  const dataDir = context.settings.server.data_dir
  let batch: BatchRow | undefined
  try {
    batch = await BATCHES.find(context.db, { id })
    if (batch === undefined) return { state: 'converged' }
    if (!(await isBatchWhole(dataDir, id, batch.sims))) {
      await replaceBatch(dataDir, id, await filesFromRows(context.db, vault, batch))
      context.log.warn({ batch: id }, 'files of a batch were written anew')
    }
    await syncBatch(dataDir, id)
    batchTrouble.mended(id)
    return { state: 'converged' }
  } catch (error) {
    const now = await BATCHES.find(context.db, { id }).catch(() => batch)
    // One of its SIMs was erased between two reads.
    if (now?.sims !== batch?.sims)
      return { state: 'pending', afterMs: 0, reason: 'its SIMs have changed meanwhile' }
    const reason = safeText(error)
    batchTrouble.failed(id, reason)
    const isDamaged = isServiceError(error) && error.code === 'store_corrupt'
    return isDamaged ? { state: 'terminal', reason } : { state: 'pending', afterMs: RETRY_MS, reason }
  }
}
