/** Does `work` when it is called; while it is being done already, once more behind that. */
export function onceMore(work: () => Promise<void>): () => void {
  let isDoing = false
  let isAgain = false
  const run = async (): Promise<void> => {
    isDoing = true
    do {
      isAgain = false
      await work()
    } while (isAgain)
    isDoing = false
  }
  return () => {
    if (isDoing) isAgain = true
    else void run()
  }
}
