import type { Result } from '@steeple/client'

/** Reads of one route that remember what came. */
export type Tagged<Data, Code extends string> = (key: string) => Promise<Result<Data, Code>>

const NOT_MODIFIED = 304
/** Reads that are remembered: pages of a long list. */
const MOST_KEPT = 64

/**
 * `read` with the tag of what came last under a key, where that had one: what has not changed is not sent again, and the very result that
 * came is given again.
 */
export function tagged<Data, Code extends string>(
  read: (key: string, etag: string | undefined) => Promise<Result<Data, Code>>,
): Tagged<Data, Code> {
  const kept = new Map<string, Extract<Result<Data, Code>, { ok: true }>>()
  return async (key) => {
    const before = kept.get(key)
    const result = await read(key, before?.etag)
    if (!result.ok && result.error.status === NOT_MODIFIED && before !== undefined) return before
    kept.delete(key)
    if (result.ok) kept.set(key, result)
    const [oldest] = kept.keys()
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
    return result
  }
}
