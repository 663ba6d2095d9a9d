import type { SourceOrder } from './counting.ts'

/** Submissions come from anybody; that two of them are of the same octets is nothing that is known. */
export const SUBMISSION: string = 'submission:'
/** Who is not told apart any more. */
export const OTHER_SUBMISSION: string = `${SUBMISSION}other`

/** Sources as they are named, then others by name, then all submissions alike. */
export function sourceOrder(named: readonly string[]): SourceOrder {
  const classOf = (source: string): number => {
    if (source.startsWith(SUBMISSION)) return named.length + 1
    const index = named.indexOf(source)
    return index < 0 ? named.length : index
  }
  return (one, other) => {
    const difference = classOf(one) - classOf(other)
    if (difference !== 0 || classOf(one) !== named.length || one === other) return difference
    return one < other ? -1 : 1
  }
}
