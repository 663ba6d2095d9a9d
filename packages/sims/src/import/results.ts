import type { PlannedRow } from './import-plan.ts'
import type { Overwritten } from './overwritten.ts'

/** What became of a row. */
export type RowStatus = 'imported' | 'updated' | 'exists' | 'error' | 'not_imported'

/** One line of the report. */
export interface RowResult {
  readonly row: number
  readonly line: number | null
  readonly imsi_sha256_12: string | null
  readonly status: RowStatus
  readonly error: string | null
  /** In a dry run, of a subscriber that the HSS has already. */
  readonly overwrites?: readonly Overwritten[]
}

/** How many rows came to what. */
export interface Totals {
  readonly imported: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
}

/** The report of an import while it grows. Rows may come in any order. */
export interface Results {
  set(row: PlannedRow, status: RowStatus, error?: string): void
  /** What importing a row would change in the HSS. */
  overwrites(row: PlannedRow, changes: readonly Overwritten[]): void
  /** Takes back what an atomic import was about to do. */
  withhold(): void
  readonly hasErrors: boolean
  totals(): Totals
  list(): readonly RowResult[]
}

/** A report without rows yet; of so many. Rows come by hash: a list that did not know its length would become a hash table. */
export function createResults(rows: number): Results {
  const results = new Array<RowResult>(rows)
  const count = (...wanted: readonly RowStatus[]): number =>
    results.reduce((sum, { status }) => sum + (wanted.includes(status) ? 1 : 0), 0)
  return {
    set: ({ number, place, hash }, status, error) => {
      results[number - 1] = {
        row: number,
        line: place.line,
        imsi_sha256_12: hash ?? null,
        status,
        error: error ?? null,
      }
    },
    overwrites: ({ number }, changes) => {
      const result = results[number - 1]
      if (result !== undefined) results[number - 1] = { ...result, overwrites: changes }
    },
    withhold: () => {
      results.forEach((result, at) => {
        if (result.status === 'imported' || result.status === 'updated')
          results[at] = { ...result, status: 'not_imported' }
      })
    },
    get hasErrors() {
      return results.some(({ status }) => status === 'error')
    },
    totals: () => ({
      imported: count('imported'),
      updated: count('updated'),
      skipped: count('exists', 'not_imported'),
      failed: count('error'),
    }),
    list: () => results,
  }
}
