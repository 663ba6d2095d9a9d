import type { Result } from '@steeple/client'
import { onceMore } from './once-more.ts'
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
