/** What somebody has written to a log since a position, each line once. */
export interface NewLines {
  readonly lines: readonly string[]
  /** For the next call. Says what is in the log by its hash alone. */
  readonly position: string
  /** False: some was gone before it was read. */
  readonly isWhole: boolean
}

/** A position as `text` that was written by `JSON.stringify`; undefined for anything else, which is as none. */
export function positionFrom<T extends object>(
  text: string | undefined,
  isOne: (value: Partial<T>) => boolean,
): T | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isKnown = typeof value === 'object' && value !== null && isOne(value)
    // The check says that its fields are there.
    return isKnown ? (value as T) : undefined
  } catch {
    return undefined
  }
}
