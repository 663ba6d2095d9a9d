import type { Check } from '../../../src/conformance/common.ts'
import { assert, suite } from '../../../src/index.ts'
import { failingChecks } from './failing-checks.ts'

/** Longer than a check waits for what a wrong driver never does, for each check, ms. */
const LIMIT_MS = 360_000

/**
 * Registers a test for each wrong driver, that it fails a check; and one that no check is there for nothing. `makeOf` gives
 * a fixture around a wrong driver.
 */
export function findsAll<Wrong, Fixture extends { close(): Promise<void> }>(
  name: string,
  checks: readonly Check<Fixture>[],
  wrongOnes: Readonly<Record<string, Wrong>>,
  makeOf: (wrong: Wrong) => Promise<Fixture>,
): void {
  const finding = suite(name)
  const useful = new Set<string>()
  for (const [what, wrong] of Object.entries(wrongOnes)) {
    finding(
      `finds a driver that ${what}`,
      async () => {
        const failing = await failingChecks(checks, () => makeOf(wrong))
        for (const sentence of failing) useful.add(sentence)
        assert.ok(failing.length > 0, `the suite passes a driver that ${what}`)
      },
      { limitMs: LIMIT_MS },
    )
  }
  finding('has no check that every wrong driver passes', () => {
    const sentences = checks.map(({ sentence }) => sentence)
    assert.equal(
      sentences.filter((sentence) => !useful.has(sentence)),
      [],
    )
  })
  finding.run()
}
