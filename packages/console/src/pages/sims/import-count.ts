/** What of a rehearsed import says what would become of its rows. */
interface Rehearsed {
  readonly results: readonly { readonly status: string }[]
}

/** What a row of a file may come to that changes something. */
const CHANGES: readonly string[] = ['imported', 'updated']

/** How many rows an import would bring in or change, by its rehearsal; all or none of them when it `isAtomic`. */
export function rowsToImport({ results }: Rehearsed, isAtomic: boolean): number {
  if (isAtomic && results.some(({ status }) => status === 'error')) return 0
  return results.filter(({ status }) => CHANGES.includes(status)).length
}
