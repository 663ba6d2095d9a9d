import { assert, rounds, suite, testSeed } from '@steeple/testkit'
import { fuzz } from './support/fuzz.ts'

const fuzzed = suite('esim-smdp/fuzz')

fuzzed('answers thousands of changed requests in form, and never by an error of its own', async () => {
  const seed = testSeed()
  const { calls, answers } = await fuzz(seed, rounds(2_500))
  assert.is(calls, rounds(2_500))
  // All functions were called, and changes were refused.
  const refused = [...answers.keys()].filter((answer) => !answer.endsWith(' ok'))
  for (const name of ['initiate', 'authenticate', 'getBound', 'cancel', 'handle'])
    assert.ok(
      refused.some((answer) => answer.startsWith(name)),
      name,
    )
})

fuzzed.run()
