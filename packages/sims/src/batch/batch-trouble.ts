/** Batches whose files could not be written, and why. */
export interface BatchTrouble {
  failed(batchId: string, reason: string): void
  mended(batchId: string): void
  /** In words; undefined while every batch has its files. */
  view(): string | undefined
}

/** No trouble. */
export function batchTrouble(): BatchTrouble {
  const reasons = new Map<string, string>()
  return {
    failed: (batchId, reason) => void reasons.set(batchId, reason),
    mended: (batchId) => void reasons.delete(batchId),
    view: () => {
      const [reason] = reasons.values()
      return reason === undefined ? undefined : `${reasons.size} batches have no files: ${reason}`
    },
  }
}
