/** What went over S6a since the start, by message. */
export interface S6aCounts {
  air: number
  aia: number
  airErrors: number
  ulr: number
  ula: number
  ulrErrors: number
  clr: number
  idr: number
  /** Subscribers that an MME serves. */
  imsis: number
}

export function noS6aCounts(): S6aCounts {
  return { air: 0, aia: 0, airErrors: 0, ulr: 0, ula: 0, ulrErrors: 0, clr: 0, idr: 0, imsis: 0 }
}

/** A view that is taken anew every `everyUs`, as the HSS does with its statistics; empty before the first. */
export function delayedCounts(counts: S6aCounts, nowUs: () => number, everyUs: number): () => S6aCounts {
  let seen = noS6aCounts()
  let takenUs = nowUs()
  return () => {
    if (nowUs() - takenUs >= everyUs) {
      takenUs = nowUs()
      seen = { ...counts }
    }
    return seen
  }
}
