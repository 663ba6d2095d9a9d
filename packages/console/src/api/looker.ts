/** Looks at something again and again. */
export interface Looker {
  /** Looks now; when it looks already, once more behind that. */
  now(): void
  /** Something has changed: looks now, and closely for a while. */
  closely(): void
  stop(): void
}

/**
 * Calls `look`, then waits as long as `waitMs` says; it is told how many looks there were since `closely`. Nothing is looked at while
 * nobody looks at the page.
 */
export function looker(
  look: () => Promise<void>,
  waitMs: (looks: number) => number,
  isSeen: () => boolean,
): Looker {
  let looks = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let isRunning = false
  let isAgain = false
  let isOver = false
  const run = async (): Promise<void> => {
    clearTimeout(timer)
    if (isRunning) {
      isAgain = true
      return
    }
    isRunning = true
    do {
      isAgain = false
      looks += 1
      await look()
    } while (isAgain && !isOver)
    isRunning = false
    plan()
  }
  const plan = (): void => {
    if (!isOver) timer = setTimeout(() => (isSeen() ? void run() : plan()), waitMs(looks))
  }
  return {
    now: () => void run(),
    closely: () => {
      looks = 0
      void run()
    },
    stop: () => {
      isOver = true
      clearTimeout(timer)
    },
  }
}
