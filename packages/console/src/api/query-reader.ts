import type { Result } from '@steeple/client'

/** Reads one thing, and again when it is told to. */
export interface QueryReader {
  /** Reads now; while it reads already, once more behind that. */
  look(): void
  end(): void
}

const NOT_MODIFIED = 304

/**
 * Gives `take` what has come. `read` is given the tag of what came last, where it has one: what has not changed is neither sent nor shown
 * again.
 */
export function queryReader<Data, Code extends string>(
  read: (etag: string | undefined) => Promise<Result<Data, Code>>,
  take: (result: Result<Data, Code>) => void,
): QueryReader {
  let isOver = false
  let isReading = false
  let isAgain = false
  let last: Result<Data, Code> | undefined
  const run = async (): Promise<void> => {
    isReading = true
    do {
      isAgain = false
      const result = await read(last?.ok === true ? last.etag : undefined)
      if (isOver) return
      if (!result.ok && result.error.status === NOT_MODIFIED) continue
      last = result
      take(result)
    } while (isAgain)
    isReading = false
  }
  return {
    look: () => {
      if (isReading) isAgain = true
      else void run()
    },
    end: () => {
      isOver = true
    },
  }
}
