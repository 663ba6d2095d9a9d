/**
 * Does `work` when it is called; while it is being done already, once more behind that. What is given back settles when the work that
 * began with the call, or after it, is done.
 */
export function onceMore(work: () => Promise<void>): () => Promise<void> {
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
