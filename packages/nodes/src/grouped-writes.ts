import type { Db, Tx } from '@steeple/contracts'

/** How long writes wait for others that come soon after. */
const WINDOW_MS = 500
/** So many wait no longer: one commit is not to hold up the turn of the loop. */
const MOST_WAITING = 64

/** Resolves after so many ms, or before that when the function that `take` is given is called. */
type Wait = (waitMs: number, take: (go: () => void) => void) => Promise<void>

/**
 * Writes of observed state that come one by one, gathered: the first goes at once, those of the next moment share a commit,
 * which costs as much as one. Each resolves when its commit is durable; what throws inside ends all that share it.
 */
export function groupedWrites(db: Pick<Db, 'write'>, wait: Wait = inTime): Db['write'] {
  let waiting: ((tx: Tx) => Promise<void>)[] = []
  let shared: Promise<void> | undefined
  let hurry: () => void = () => undefined
  let nextMs = 0
  const flush = async (): Promise<void> => {
    // Whatever comes in this turn goes along.
    await Promise.resolve()
    const waitMs = nextMs - performance.now()
    if (waitMs > 0 && waiting.length < MOST_WAITING) {
      await wait(waitMs, (go) => {
        hurry = go
      })
    }
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
    const size = waiting.push(async (tx) => result.resolve(await work(tx)))
    shared ??= flush()
    if (size >= MOST_WAITING) hurry()
    await shared
    return await result.promise
  }
}

const inTime: Wait = (waitMs, take) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, waitMs)
    take(() => {
      clearTimeout(timer)
      resolve()
    })
  })
