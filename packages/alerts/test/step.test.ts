import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type Next, type RuleState, step, type Waits } from '../src/engine/engine.ts'
import type { Level } from '../src/rules/rule.ts'

const steps = suite('alerts/step')

interface LastValue {
  readonly atMs: number
  readonly level: Level
  readonly before: RuleState | undefined
  readonly after: Next
}

/** What becomes of one subject under those looks, as the engine carries it on. */
function run(
  looks: readonly { readonly level: Level; readonly passMs: number }[],
  waits: Waits,
): readonly LastValue[] {
  const seen: LastValue[] = []
  let atMs = 1_000_000
  let ruleState: RuleState | undefined
  for (const { level, passMs } of looks) {
    atMs += passMs
    const after = step(ruleState, level, atMs, waits)
    seen.push({ atMs, level, before: ruleState, after })
    ruleState = typeof after === 'object' ? after : undefined
  }
  return seen
}

const LOOKS = fc.array(
  fc.record({
    level: fc.constantFrom<Level>('bad', 'between', 'good', 'unknown'),
    passMs: fc.integer({ min: 0, max: 5_000 }),
  }),
  { maxLength: 60 },
)
const WAITS = fc.record({
  forMs: fc.constantFrom(0, 1, 3_000, 10_000),
  clearMs: fc.constantFrom(0, 1, 3_000, 10_000),
})

steps('goes from nothing to pending, to firing, to resolved, and no other way', () => {
  fc.assert(
    fc.property(LOOKS, WAITS, (looks, waits) => {
      for (const { before, after } of run(looks, waits)) {
        const from = before?.state ?? 'nothing'
        const to = typeof after === 'object' ? after.state : (after ?? 'nothing')
        const ways = {
          nothing: ['nothing', waits.forMs === 0 ? 'firing' : 'pending'],
          pending: ['pending', 'firing', 'dropped'],
          firing: ['firing', 'resolved'],
        }
        assert.ok(ways[from].includes(to), `${from} → ${to}`)
      }
    }),
    { numRuns: 2_000 },
  )
})

steps('fires only when it was bad for so long and never good meanwhile', () => {
  fc.assert(
    fc.property(LOOKS, WAITS, (looks, waits) => {
      const seen = run(looks, waits)
      seen.forEach(({ before, after, atMs, level }, index) => {
        if (typeof after !== 'object' || after.state !== 'firing' || before?.state === 'firing') return
        assert.is(level, 'bad')
        const since = seen.slice(0, index + 1).findLastIndex((one) => one.before === undefined)
        const span = seen.slice(since, index + 1)
        assert.ok(span.every((one) => one.level !== 'good'))
        assert.is(span[0]?.level, 'bad')
        assert.ok(atMs - (span[0]?.atMs ?? atMs) >= waits.forMs)
      })
    }),
    { numRuns: 2_000 },
  )
})

steps('is over only when it was good for so long and never bad meanwhile', () => {
  fc.assert(
    fc.property(LOOKS, WAITS, (looks, waits) => {
      const seen = run(looks, waits)
      seen.forEach(({ after, atMs, level }, index) => {
        if (after !== 'resolved') return
        assert.is(level, 'good')
        const past = seen.slice(0, index + 1)
        const lastBad = past.findLastIndex((one) => one.level === 'bad')
        const firstGood = past.findIndex((one, at) => at > lastBad && one.level === 'good')
        assert.ok(atMs - (past[firstGood]?.atMs ?? atMs) >= waits.clearMs)
      })
    }),
    { numRuns: 2_000 },
  )
})

steps('moves nothing while a value is about its threshold, or is not known', () => {
  const idle = fc.array(
    fc.record({
      level: fc.constantFrom<Level>('between', 'unknown'),
      passMs: fc.integer({ min: 0, max: 100_000 }),
    }),
  )
  fc.assert(
    fc.property(idle, WAITS, (looks, waits) => {
      for (const ruleState of [
        undefined,
        { state: 'pending', sinceMs: 1_000_000, clearSinceMs: null },
        { state: 'firing', sinceMs: 1_000_000, clearSinceMs: null },
      ] as const) {
        let atMs = 1_000_000
        for (const { level, passMs } of looks) {
          atMs += passMs
          assert.is(step(ruleState, level, atMs, waits), ruleState)
        }
      }
    }),
  )
})

steps('fires in the end what stays bad, and ends what stays good, whatever the clock was set to', () => {
  fc.assert(
    fc.property(LOOKS, WAITS, fc.integer({ min: -10_000_000, max: 10_000_000 }), (looks, waits, jumpMs) => {
      const last = run(looks, waits).at(-1)
      let atMs = (last?.atMs ?? 1_000_000) + jumpMs
      let now: Next = last?.after
      const go = (level: Level): void => {
        // Three looks: one to begin again after a clock that was put back, one to begin, one to end.
        for (let look = 0; look < 3; look++) {
          now = step(typeof now === 'object' ? now : undefined, level, atMs, waits)
          if (typeof now !== 'object' && level === 'good') return
          atMs += 10_001
        }
      }
      go('bad')
      assert.is(typeof now === 'object' && now.state, 'firing')
      go('good')
      assert.is(now, 'resolved')
    }),
    { numRuns: 1_000 },
  )
})

steps.run()
