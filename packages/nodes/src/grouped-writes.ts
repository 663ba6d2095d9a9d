import type { Db, Tx } from '@steeple/contracts'

/** How long writes wait for others that come soon after. */
const WINDOW_MS = 100

/**
 * Writes of observed state that come one by one, gathered: the first goes at once, those of the next moment share a commit,
 * which costs as much as one. Each resolves when its commit is durable; what throws inside ends all that share it.
 */
export function groupedWrites(db: Pick<Db, 'write'>): Db['write'] {
  let waiting: ((tx: Tx) => Promise<void>)[] = []
  let shared: Promise<void> | undefined
  let nextMs = 0
  const flush = async (): Promise<void> => {
    // Whatever comes in this turn goes along.
    await Promise.resolve()
    const waitMs = nextMs - performance.now()
    if (waitMs > 0) await new Promise((go) => setTimeout(go, waitMs))
    const work = waiting
    waiting = []
    shared = undefined
    nextMs = performance.now() + WINDOW_MS
    await db.write(async (tx) => {
      for (const one of work) await one(tx)
    })
  }
  return async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = Promise.withResolvers<T>()
    // It is the commit that says how it went.
    result.promise.catch(() => undefined)
    waiting.push(async (tx) => result.resolve(await work(tx)))
    shared ??= flush()
    await shared
    return await result.promise
  }
}
