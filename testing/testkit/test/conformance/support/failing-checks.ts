import type { Check } from '../../../src/conformance/common.ts'

/** Longer than any check takes over a store in memory, ms. */
const LIMIT_MS = 10_000

/** The sentences of the checks that a driver fails; one that does not end in time fails as well. */
export async function failingChecks<Fixture extends { close(): Promise<void> }>(
  checks: readonly Check<Fixture>[],
  make: () => Promise<Fixture>,
): Promise<readonly string[]> {
  const fails = async ({ body }: Check<Fixture>): Promise<boolean> => {
    const fixture = await make()
    try {
      await inTime(body(fixture))
      return false
    } catch {
      return true
    } finally {
      await fixture.close()
    }
  }
  const results = await Promise.all(checks.map(fails))
  return checks.filter((_, at) => results[at]).map(({ sentence }) => sentence)
}

async function inTime(work: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(LIMIT_MS)
  const isLate = Promise.withResolvers<never>()
  const onAbort = (): void => isLate.reject(late.reason)
  late.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work, isLate.promise])
  } finally {
    late.removeEventListener('abort', onAbort)
  }
}
