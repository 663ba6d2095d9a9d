import { suite } from '@steeple/testkit'

/** What a test of real processes may take: it is about what happens, and the machine may be busy with others, ms. */
const LIMIT_MS = 360_000

/** A suite of tests that start processes. */
export function processSuite(name: string): ReturnType<typeof suite> {
  const inner = suite(name)
  return Object.assign(
    (sentence: string, body: () => void | Promise<void>, options = {}): void =>
      inner(sentence, body, { limitMs: LIMIT_MS, ...options }),
    inner,
  )
}
