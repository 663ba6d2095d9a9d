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
