import type { Db } from '@steeple/contracts'
import { lastUseOf, putUses } from './token-store.ts'

/** Remembers when tokens were used and writes it seldom. */
export interface LastUse {
  touch(tokenId: string, atMs: number): void
  /** The newest use known, flushed or not; ms since the epoch. */
  of(tokenId: string): Promise<number | undefined>
  /** Writes what is new: at most one write per token and call. */
  flush(): Promise<void>
}

/** So many tokens share a transaction: others wait for it. */
const CHUNK_TOKENS = 200

/** Makes the memory of uses over the token store. A crash loses at most the uses since the last flush. */
export function createLastUse(db: Db): LastUse {
  const pending = new Map<string, number>()
  return {
    touch: (tokenId, atMs) => {
      pending.set(tokenId, atMs)
    },
    of: async (tokenId) => pending.get(tokenId) ?? lastUseOf(db, tokenId),
    flush: async () => {
      while (pending.size > 0) {
        const chunk = new Map([...pending].slice(0, CHUNK_TOKENS))
        await putUses(db, chunk)
        for (const [tokenId, atMs] of chunk) if (pending.get(tokenId) === atMs) pending.delete(tokenId)
      }
    },
  }
}
