import type { Outcome } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { engineFixture, scripted } from './engine-fixture.ts'

const property = suite('kernel/reconcile/no-key-lost')

const KEYS = ['a', 'b', 'c', 'd'] as const

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('enqueue' as const), key: fc.constantFrom(...KEYS) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(0, 1, 60, 1_500, 40_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      how: fc.constantFrom('converged', 'pending', 'terminal', 'throw', 'mixed' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('exchange' as const) }) },
)

interface Begun {
  readonly keys: readonly string[]
  readonly end: (how: string) => void
}

/** One outcome per key, by the name of how the call ends. */
function outcomes(keys: readonly string[], how: string): ReadonlyMap<string, Outcome> {
  const states: readonly Outcome[] = [
    { state: 'converged' },
    { state: 'pending', afterMs: 70, reason: 'more to do' },
    { state: 'terminal', reason: 'hopeless' },
  ]
  return new Map(
    keys.map((key, index) => {
      const named = states.find(({ state }) => state === how)
      return [key, named ?? states[index % states.length] ?? { state: 'converged' }]
    }),
  )
}

property(
  'looks at every key after it was last asked for, and never twice at a time, whatever happens',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60, size: 'max' }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, batch) => {
          const { clock, engine } = engineFixture()
          /** Keys asked for since a call with them began. */
          const owed = new Set<string>()
          const violations: string[] = []
          let begun: Begun | undefined
          let isDraining = false
          const make = (): ReturnType<typeof scripted> => {
            const made = scripted('sim', { batch, timeoutMs: 1_000_000 })
            made.answer = (keys, signal) => {
              // Noted and not thrown: what a reconciler throws is a failed call to the engine.
              if (begun !== undefined) violations.push('a second call began beside the first')
              if (new Set(keys).size !== keys.length) violations.push('a key came twice in one call')
              for (const key of keys) owed.delete(key)
              if (isDraining) return Promise.resolve(new Map())
              return new Promise((resolve, reject) => {
                const end = (how: string): void => {
                  begun = undefined
                  if (how === 'throw') reject(new Error('fault'))
                  else resolve(outcomes(keys, how))
                }
                begun = { keys, end }
                signal.addEventListener('abort', () => {
                  for (const key of keys) owed.add(key)
                  end('throw')
                })
              })
            }
            return made
          }
          await engine.attach('sims', [make()])
          await clock.advance(0)
          for (const one of steps) {
            if (one.do === 'enqueue') {
              owed.add(one.key)
              engine.enqueue('sim', one.key)
            } else if (one.do === 'advance') await clock.advance(one.ms)
            else if (one.do === 'finish') {
              begun?.end(one.how)
              await clock.advance(0)
            } else await engine.attach('sims', [make()])
          }
          isDraining = true
          begun?.end('converged')
          await clock.advance(400_000)
          assert.equal(violations, [])
          assert.equal([...owed], [], 'keys that nobody looked at')
          await engine.close()
          assert.is(clock.pending, 0)
        },
      ),
      { numRuns: 150 },
    )
  },
  { limitMs: 60_000 },
)

property.run()
