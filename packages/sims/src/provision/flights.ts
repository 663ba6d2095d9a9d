import type { SimRow } from '../store/sim-row.ts'

/** SIMs that a reconciler is pushing or cutting off now. Two never work on one SIM at a time. */
export interface Flights {
  has(hash: string): boolean
  /** Runs `work`; the rows are under way until it has ended. */
  during<T>(rows: readonly SimRow[], work: () => Promise<T>): Promise<T>
}

/** Nothing under way. */
export function createFlights(): Flights {
  const busy = new Set<string>()
  return {
    has: (hash) => busy.has(hash),
    during: async (rows, work) => {
      for (const { hash } of rows) busy.add(hash)
      try {
        return await work()
      } finally {
        for (const { hash } of rows) busy.delete(hash)
      }
    },
  }
}
