import type { Result } from '@steeple/client'
import { tagged } from './tagged.ts'

/** Reads one thing, and again when it is told to. */
export interface QueryReader {
  /** Reads now; while it reads already, once more behind that. */
  look(): void
  /** The same; settles when that has come. */
  looked(): Promise<void>
  end(): void
}

/**
 * Gives `take` what has come. `read` is given the tag of what came last, where it has one: what has not changed is neither sent nor shown
 * again.
 */
export function queryReader<Data, Code extends string>(
  read: (etag: string | undefined) => Promise<Result<Data, Code>>,
  take: (result: Result<Data, Code>) => void,
): QueryReader {
  let isOver = false
  let last: Result<Data, Code> | undefined
  const ask = tagged<Data, Code>((_, etag) => read(etag))
  const looked = onceMore(async () => {
    if (isOver) return
    const result = await ask('')
    if (isOver || result === last) return
    last = result
    take(result)
  })
  return {
    look: () => void looked(),
    looked,
    end: () => {
      isOver = true
    },
  }
}

/**
 * Does `work` when it is called; while it is being done already, once more behind that. What is given back settles when the work that
 * began with the call, or after it, is done.
 */
function onceMore(work: () => Promise<void>): () => Promise<void> {
  let now: Promise<void> | undefined
  let next: Promise<void> | undefined
  const run = (): Promise<void> => {
    now = work().finally(() => {
      now = undefined
    })
    return now
  }
  return () => {
    if (next !== undefined) return next
    if (now === undefined) return run()
    next = now.then(() => {
      next = undefined
      return run()
    })
    return next
  }
}
