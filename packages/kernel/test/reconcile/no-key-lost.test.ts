import type { Outcome, Reconciler } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { type EngineFixture, engineFixture, scripted } from './engine-fixture.ts'

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

/** Reconcilers whose calls end when the test says so, and what they saw. */
function createWitness(batch: number) {
  /** Keys asked for since a call with them began. */
  const owed = new Set<string>()
  /** Noted and not thrown: what a reconciler throws is a failed call to the engine. */
  const violations: string[] = []
  let endCurrent: ((how: string) => void) | undefined
  let isDraining = false

  const begin = (keys: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Outcome>> =>
    new Promise((resolve, reject) => {
      endCurrent = (how) => {
        endCurrent = undefined
        if (how === 'throw') reject(new Error('fault'))
        else resolve(outcomes(keys, how))
      }
      signal.addEventListener('abort', () => {
        for (const key of keys) owed.add(key)
        endCurrent?.('throw')
      })
    })

  return {
    owed,
    violations,
    end: (how: string) => endCurrent?.(how),
    drain: () => {
      isDraining = true
      endCurrent?.('converged')
    },
    reconciler: (): Reconciler => {
      const made = scripted('sim', { batch, timeoutMs: 1_000_000 })
      made.answer = async (keys, signal) => {
        if (endCurrent !== undefined) violations.push('a second call began beside the first')
        if (new Set(keys).size !== keys.length) violations.push('a key came twice in one call')
        for (const key of keys) owed.delete(key)
        return isDraining ? new Map() : await begin(keys, signal)
      }
      return made
    },
  }
}

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function play(
  one: Step,
  witness: ReturnType<typeof createWitness>,
  fixture: EngineFixture,
): Promise<void> {
  const { engine, clock } = fixture
  switch (one.do) {
    case 'enqueue':
      witness.owed.add(one.key)
      engine.enqueue('sim', one.key)
      return
    case 'advance':
      await clock.advance(one.ms)
      return
    case 'finish':
      witness.end(one.how)
      await clock.advance(0)
      return
    default:
      await engine.attach('sims', [witness.reconciler()])
  }
}

property(
  'looks at every key after it was last asked for, and never twice at a time, whatever happens',
  async () => {
    const sequence = fc.array(step, { maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(sequence, fc.integer({ min: 1, max: 3 }), async (steps, batch) => {
        const fixture = engineFixture()
        const witness = createWitness(batch)
        await fixture.engine.attach('sims', [witness.reconciler()])
        await fixture.clock.advance(0)
        for (const one of steps) await play(one, witness, fixture)
        witness.drain()
        await fixture.clock.advance(400_000)
        assert.equal(witness.violations, [])
        assert.equal([...witness.owed], [], 'keys that nobody looked at')
        await fixture.engine.close()
        assert.is(fixture.clock.pending, 0)
      }),
      { numRuns: 300 },
    )
  },
)

property.run()
