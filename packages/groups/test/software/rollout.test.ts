import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { advanced, BEGINNING, type Candidate, type Rollout, sizeOf } from '../../src/software/rollout.ts'

const rollout = suite('groups/software-rollout')
const SETTLE_MS = 3_600_000
const HOUR_MS = 3_600_000
const BUILD = '0a1b2c3d4e5f'
const ORDER: readonly string[] = ['one', 'tenth', 'all']

/** What happens between two looks at the boxes: time passes, and boxes tell, become well, or go back. */
const step = fc.record({
  ms: fc.integer({ min: 0, max: 2 * HOUR_MS }),
  told: fc.array(fc.nat(29), { maxLength: 30 }),
  well: fc.array(fc.nat(29), { maxLength: 10 }),
  refused: fc.option(fc.nat(29), { freq: 12, nil: undefined }),
  ails: fc.option(fc.nat(29), { freq: 6, nil: undefined }),
})
const fleet = fc.array(fc.boolean(), { minLength: 1, maxLength: 30 })

interface Box {
  readonly isAtOnce: boolean
  isPermitted: boolean
  toldAtMs: number | undefined
  standing: Candidate['standing']
}

function candidatesOf(boxes: readonly Box[]): readonly Candidate[] {
  return boxes.map((box, at) => ({ node: `node${at}`, ...box }))
}

/** Plays steps; calls `look` after each with what was and what is. */
function play(
  permits: readonly boolean[],
  steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
  look: (before: Rollout, after: Rollout, boxes: readonly Candidate[], nowMs: number) => void,
): Rollout {
  const boxes: Box[] = permits.map((isPermitted) => ({
    isAtOnce: false,
    isPermitted,
    toldAtMs: undefined,
    standing: 'under_way',
  }))
  let now = BEGINNING
  let nowMs = 1_700_000_000_000
  for (const { ms, told, well, refused, ails } of steps) {
    nowMs += ms
    const set = (at: number | undefined, change: (box: Box) => void): void => {
      const box = at === undefined ? undefined : boxes[at]
      if (box !== undefined) change(box)
    }
    for (const at of told) set(at, (box) => Object.assign(box, { toldAtMs: nowMs }))
    // Only who was given it can tell of it.
    for (const at of well)
      if (now.given.includes(`node${at}`))
        set(at, (box) => Object.assign(box, { standing: 'well', toldAtMs: nowMs }))
    if (ails !== undefined) set(ails, (box) => Object.assign(box, { standing: 'under_way' }))
    if (refused !== undefined && now.given.includes(`node${refused}`))
      set(refused, (box) => Object.assign(box, { standing: 'refused', toldAtMs: nowMs }))
    const candidates = candidatesOf(boxes)
    const next = advanced(BUILD, now, candidates, { nowMs, settleMs: SETTLE_MS })
    look(now, next, candidates, nowMs)
    now = next
  }
  return now
}

rollout('no stage has more boxes than it may, and only such as permit it and were heard of', () => {
  fc.assert(
    fc.property(fleet, fc.array(step, { maxLength: 60 }), (permits, steps) => {
      play(permits, steps, (before, after, boxes, nowMs) => {
        const fresh = after.given.filter((node) => !before.given.includes(node))
        if (after.stage === 'all' || fresh.length === 0) return
        assert.ok(after.given.length <= sizeOf(after.stage, boxes), `${after.given.length} in ${after.stage}`)
        for (const node of fresh) {
          const box = boxes.find((one) => one.node === node)
          assert.ok(box?.isPermitted === true && nowMs - (box.toldAtMs ?? 0) < HOUR_MS)
        }
      })
    }),
  )
})

rollout('after the first box that did not stay with it nobody else gets it, whatever happens', () => {
  fc.assert(
    fc.property(fleet, fc.array(step, { maxLength: 60 }), (permits, steps) => {
      let stopped: Rollout | undefined
      play(permits, steps, (before, after, boxes) => {
        if (stopped !== undefined) assert.equal(after, stopped)
        if (after.stage !== 'stopped') return
        stopped ??= after
        assert.equal(after.given, before.given)
        const guilty = boxes.find(({ node }) => node === after.stoppedBy)
        assert.ok(before.stage === 'stopped' || guilty?.standing === 'refused')
      })
    }),
  )
})

rollout('a stage follows the one before, when that was well for its time; who was given it keeps it', () => {
  fc.assert(
    fc.property(fleet, fc.array(step, { maxLength: 60 }), (permits, steps) => {
      let wellSince: number | undefined
      play(permits, steps, (before, after, boxes, nowMs) => {
        for (const node of before.given) assert.ok(after.given.includes(node))
        const own = boxes.filter(({ node }) => before.given.includes(node))
        const heard = own.filter(({ toldAtMs }) => nowMs - (toldAtMs ?? 0) < 24 * HOUR_MS)
        const isWell = heard.length > 0 && heard.every(({ standing }) => standing === 'well')
        wellSince = isWell ? (wellSince ?? nowMs) : undefined
        if (after.stage === before.stage || after.stage === 'stopped') return
        assert.is(ORDER.indexOf(after.stage), ORDER.indexOf(before.stage) + 1)
        assert.ok(wellSince !== undefined && nowMs - wellSince >= SETTLE_MS)
        wellSince = undefined
      })
    }),
  )
})

rollout('where all become well, all get it, also those that do not permit it or were silent', () => {
  fc.assert(
    fc.property(fleet, (permits) => {
      fc.pre(permits.includes(true))
      const everybody = permits.map((_, at) => at)
      const steps = Array.from({ length: 12 }, () => ({
        ...{ ms: SETTLE_MS / 2, told: everybody, well: everybody },
        ...{ refused: undefined, ails: undefined },
      }))
      const end = play(permits, steps, () => undefined)
      assert.equal([end.stage, end.given.length], ['all', permits.length])
    }),
  )
})

rollout('of thirty boxes one gets it, then three, then all; those of at once get it first', () => {
  const boxes = (standing: Candidate['standing'], given: readonly string[]): readonly Candidate[] =>
    Array.from({ length: 30 }, (_, at) => ({
      ...{ node: `node${at}`, isPermitted: true, toldAtMs: 0, isAtOnce: false },
      standing: given.includes(`node${at}`) ? standing : 'under_way',
    }))
  const pace = { nowMs: 1_000, settleMs: 0 }
  let now = BEGINNING
  const sizes = [1, 2, 3].map(() => {
    now = advanced(BUILD, now, boxes('well', now.given), pace)
    return now.given.length
  })
  assert.equal(sizes, [1, 3, 30])
  // Named ones are the first, and the others wait for them.
  const named = boxes('under_way', []).map((box, at) => ({ ...box, isAtOnce: at < 5 }))
  const five = advanced(BUILD, BEGINNING, named, pace)
  assert.equal(
    five.given,
    [0, 1, 2, 3, 4].map((at) => `node${at}`),
  )
  assert.equal(advanced(BUILD, five, named, pace), five)
})

rollout.run()
