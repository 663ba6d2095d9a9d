import { notReady } from '@steeple/contracts'
import type { CommitGroup, WriterTx } from '@steeple/store'
import { currentTerm, lostWords } from './leadership.ts'
import { epochOf } from './lease-row.ts'

/** Reads the epoch that a transaction commits under, once for each commit. */
export type EpochReader = (tx: WriterTx) => Promise<number>

/** A reader of epochs. */
export function epochReader(): EpochReader {
  const known = new WeakMap<CommitGroup, number>()
  return async (tx) => {
    const found = known.get(tx.group)
    if (found !== undefined) return found
    const { epoch } = await epochOf(tx)
    known.set(tx.group, epoch)
    return epoch
  }
}

/** For the store: what is written in the name of a term is refused with `not_ready` once another one has begun. */
export function termGuard(epochIn: EpochReader): () => ((tx: WriterTx) => Promise<void>) | undefined {
  return () => {
    const term = currentTerm()
    if (term === undefined) return undefined
    return async (tx) => {
      if ((await epochIn(tx)) !== term.epoch) throw notReady(lostWords(term))
    }
  }
}
