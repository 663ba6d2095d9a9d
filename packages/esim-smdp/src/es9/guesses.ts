import type { Es9Core } from './core.ts'

/** So many unknown codes within the window are no mistyping any more. */
const MANY = 20
const WINDOW_MS = 600_000

/** Counts activation codes that do not exist, whoever tries them: each eUICC has a few before it is locked. */
export interface Guesses {
  /** One more. True once in a window: when they become many. */
  saw(nowMs: number): boolean
}

/** Counts on this instance. */
export function countGuesses(): Guesses {
  let sinceMs = Number.NEGATIVE_INFINITY
  let count = 0
  return {
    saw: (nowMs) => {
      if (nowMs - sinceMs >= WINDOW_MS) [sinceMs, count] = [nowMs, 0]
      count += 1
      return count === MANY
    },
  }
}

/** Tells that somebody guesses. One in 2^130 hits; what it costs is worth knowing. */
export async function tellGuessing({ parts }: Es9Core): Promise<void> {
  const data = { codes: MANY, within_s: WINDOW_MS / 1_000 }
  parts.context.log.warn(data, 'somebody is guessing activation codes')
  await parts.context.observe(async (tx) =>
    tx.event({ type: 'esim.guessed', subject: 'activation codes', data }),
  )
}
