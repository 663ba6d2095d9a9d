/** A row as it was read. While nothing of it changes it is the same object, with what its reader has made of it. */
export interface KnownRow<Row extends object, Made> {
  readonly row: Row
  /** For the reader to set. Kept no longer than the row stays as it is. */
  made: Made | undefined
}

/** Rows that are read again and again, by all that they say. */
export interface RowMemory<Row extends object, Made> {
  /** The row of exactly this text and sum, which were found to belong together. */
  recall(sum: number, text: string): KnownRow<Row, Made> | undefined
  /** A row whose sum was checked; from the second time on it is remembered. */
  keep(sum: number, text: string, row: Row): KnownRow<Row, Made>
}

interface Kept<Row extends object, Made> extends KnownRow<Row, Made> {
  readonly text: string
}

/** Rows that are remembered: some pages of a list. With what is made of it a row takes 1 to 3 KB. */
const MOST_ROWS = 1_024
/** A longer text is not remembered. */
const LONGEST_TEXT = 4_096
/** Sums that are known to have been met once: who walks through a large table meets each once, and fills nothing. */
const MOST_MET = 2_048

/** Remembers nothing yet. What was not asked for longest goes first, half of it at a time. */
export function createRowMemory<Row extends object, Made>(): RowMemory<Row, Made> {
  type Half = Map<number, Kept<Row, Made>>
  let recent: Half = new Map()
  let older: Half = new Map()
  const met = new Float64Array(MOST_MET).fill(Number.NaN)
  const put = (sum: number, kept: Kept<Row, Made>): void => {
    if (recent.size >= MOST_ROWS / 2) {
      older = recent
      recent = new Map()
    }
    recent.set(sum, kept)
  }
  return {
    recall: (sum, text) => {
      const known = recent.get(sum)
      if (known !== undefined) return known.text === text ? known : undefined
      const old = older.get(sum)
      if (old?.text !== text) return undefined
      put(sum, old)
      return old
    },
    keep: (sum, text, row) => {
      const slot = Math.abs(sum) % MOST_MET
      if (met[slot] !== sum || text.length > LONGEST_TEXT) {
        met[slot] = sum
        return { row, made: undefined }
      }
      const kept: Kept<Row, Made> = { row, made: undefined, text }
      put(sum, kept)
      return kept
    },
  }
}
