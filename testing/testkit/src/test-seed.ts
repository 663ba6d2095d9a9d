import { randomInt } from 'node:crypto'

/**
 * What a test draws its cases from, from 1 up to below 2^31: SVC_TEST_SEED, which repeats a run, or drawn. A test that
 * fails prints it. The CI gives one, so that it judges the change and not the draw; everybody else looks for new cases.
 * The properties of fast-check take the same one (scripts/tests/seed.mjs).
 */
export function testSeed(): number {
  const given = process.env.SVC_TEST_SEED
  if (given === undefined) return randomInt(1, 2 ** 31)
  const seed = Number(given)
  if (!(Number.isInteger(seed) && seed > 0 && seed < 2 ** 31))
    throw new Error('SVC_TEST_SEED must be a whole number from 1 up to below 2147483648')
  return seed
}
