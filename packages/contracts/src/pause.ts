/** How long work goes on in one turn of the event loop, ms. */
const TURN_MS = 3

/** Gives others a turn when this work has had its own; call it between small pieces. */
export type Pause = () => Promise<void> | undefined

/**
 * Work that waits for a turn, oldest first. All of the process share it, as they share the event loop: if each woke by
 * itself, all of them would go on in the same turn, and whoever asks for something would wait for the sum.
 */
const waiting: (() => void)[] = []

/**
 * A pause for one piece of work. It waits only when the turn is used up, and gets the next one that no other work has. Those
 * who work on the same piece abreast go on together: what they write then shares a commit.
 */
export function createPause(): Pause {
  let since = performance.now()
  let next: Promise<void> | undefined
  return () => {
    if (next !== undefined) return next
    if (performance.now() - since < TURN_MS) return undefined
    next = nextTurn().then(() => {
      since = performance.now()
      next = undefined
    })
    return next
  }
}

/** Items between two looks at the time. */
const ITEMS_A_LOOK = 16

/** Does something with each item, in as many turns of the event loop as that takes: for lists that somebody else may make long. */
export async function eachPaced<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> {
  const pause = createPause()
  let done = 0
  for (const item of items) {
    step(item)
    done += 1
    if (done % ITEMS_A_LOOK === 0) await pause()
  }
}

/** Until when such work rests, by `performance.now()`. */
let restedMs = 0

/**
 * How long work that takes a share of a core rests behind a piece of it, ms: `owedMs` for its own, behind the rests of all
 * other such work of the process. So all of it together takes no more than its share, however much is under way.
 */
export function restAfter(owedMs: number): number {
  const nowMs = performance.now()
  restedMs = Math.max(restedMs, nowMs) + owedMs
  return restedMs - nowMs
}

function nextTurn(): Promise<void> {
  return new Promise((go) => {
    if (waiting.push(go) === 1) setImmediate(wakeFirst)
  })
}

function wakeFirst(): void {
  waiting.shift()?.()
  // What is asked for here comes in the turn after this one.
  if (waiting.length > 0) setImmediate(wakeFirst)
}

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that fires: for work that may ignore its signal.
 * `work` itself goes on, and its failure then is nobody's.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // What comes from a plugin in plain JavaScript may be no promise.
  const settled = Promise.resolve(work)
  settled.catch(() => undefined)
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([settled, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Has work done for each item, at most so many at a time. Rejects with the first failure; the others go on. */
export async function eachAbreast<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker))
}

/** `items` in lists of at most `size`. */
export function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_none, index) => items.slice(index * size, (index + 1) * size))
}

/** What is read by pages, each behind the key of the last one of the page before, until there is nothing more. */
export async function* keysetPages<T>(
  read: (after: string) => Promise<readonly T[]>,
  keyOf: (last: T) => string,
): AsyncGenerator<readonly T[]> {
  for (let after = ''; ; ) {
    const page = await read(after)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = keyOf(last)
  }
}

/** Has work done one after another, in the order in which it was asked for. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

/** Turns of their own. Work that fails fails for itself and gives the turn on. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    // Neither the result nor the failure is kept for those behind.
    last = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }
}
