import type { ImsiHash } from '@steeple/contracts'
import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { ModelRun, type Subject } from './support/model-run.ts'
import { type Action, type Period, plainAccount } from './support/truth.ts'

const model = suite('fair-use/model', { limitMs: 600_000 })
const HASHES = ['0000000000aa', '0000000000bb'] as ImsiHash[]
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** One step: does it to the plugin and to the truth. */
interface Step {
  readonly name: string
  readonly on: number
  act(run: ModelRun, subject: Subject): Promise<void>
  /** Also while the plugin is away. */
  readonly isAlways?: boolean
}

const on = fc.nat(HASHES.length - 1)
const amount = fc.integer({ min: 1, max: 60 })

const count = fc.tuple(on, amount, fc.oneof(fc.constant(0), fc.constant(0), fc.nat(40 * DAY_MS)))
const counts: fc.Arbitrary<Step> = count.map(([of, bytes, agoMs]) => ({
  name: `count ${bytes} of ${agoMs} ms ago`,
  on: of,
  isAlways: true,
  act: async (run, { imsi, truth }) => {
    // What comes late while the plugin is away is the ledger's, within the periods that it is asked for.
    const atMs = run.clock.nowMs() - (run.isHere ? agoMs : 0)
    const octets = { upBytes: bytes - 1, downBytes: 1, isIncomplete: false }
    await run.ledger.count([{ imsi, source: 'gtpu', ...octets, fromMs: atMs, toMs: atMs }])
    truth.counted.push({ atMs, bytes, order: run.order })
  },
}))

const PERIODS: readonly Period[] = ['day', 'week', 'month', 'none']
const ACTIONS: readonly Action[] = ['suspend', 'suspend', 'throttle', 'alert']
const quotas: fc.Arbitrary<Step> = fc
  .tuple(on, fc.integer({ min: 0, max: 120 }), fc.constantFrom(...PERIODS), fc.constantFrom(...ACTIONS))
  .map(([of, bytes, period, action]) => ({
    name: `quota ${bytes} a ${period} ${action}`,
    on: of,
    act: async (run, { imsi, truth }) => {
      const sinceMs = run.now()
      assert.ok(await run.post(imsi, { quota_bytes: bytes, period, action }))
      const before = truth.quota?.period === period ? truth.quota : { sinceMs, order: run.order }
      if (truth.quota?.period !== period) Object.assign(truth, { added: undefined, freeMs: undefined })
      truth.quota = { bytes, period, action, sinceMs: before.sinceMs, order: before.order }
    },
  }))

const tops: fc.Arbitrary<Step> = fc.tuple(on, amount).map(([of, bytes]) => ({
  name: `add ${bytes}`,
  on: of,
  act: async (run, { imsi, truth }) => {
    const account = plainAccount(truth, run.now(), run.isDoubted)
    assert.is(await run.post(imsi, { add_bytes: bytes }), account !== undefined)
    if (account === undefined) return
    const before = truth.added?.startMs === account.startMs ? truth.added.bytes : 0
    truth.added = { startMs: account.startMs, bytes: before + bytes }
  },
}))

const resumes: fc.Arbitrary<Step> = fc.tuple(on, fc.boolean()).map(([of, isOverride]) => ({
  name: isOverride ? 'override' : 'resume',
  on: of,
  act: async (run, { imsi, truth }) => {
    const before = { ...run.sims.sims.get(imsi) }
    const account = plainAccount(truth, run.now(), run.isDoubted)
    const isRefused = before.reason === 'quota' && account?.isHeld === true && !isOverride
    assert.is(await run.resume(imsi, isOverride), !isRefused)
    const isFreed = before.state === 'suspended' && account?.isOver === true && isOverride
    if (isFreed) truth.freeMs = account?.startMs
  },
}))

const passes: fc.Arbitrary<Step> = fc.oneof(fc.nat(2 * HOUR_MS), fc.nat(9 * DAY_MS)).map((ms) => ({
  name: `${ms} ms pass`,
  on: 0,
  isAlways: true,
  act: async (run) => run.clock.jump(run.clock.nowMs() + ms),
}))

const plain = (name: string, act: Step['act'], isAlways = false): fc.Arbitrary<Step> =>
  on.map((of) => ({ name, on: of, act, isAlways }))
const others = [
  plain('no quota', async (run, { imsi, truth }) => {
    assert.ok(await run.post(imsi, { quota_bytes: null }))
    Object.assign(truth, { quota: undefined, added: undefined, freeMs: undefined })
  }),
  plain('an operator suspends', async (run, { imsi }) => run.sims.suspend(imsi), true),
  plain('settle', async (run) => {
    await run.settle()
    await run.check()
  }),
  // Which period it was is not known for sure where a start comes in the middle of a doubt.
  plain('restart', async (run) => (run.isDoubted ? undefined : await run.start()), true),
  plain('leave', async (run) => (run.isDoubted ? undefined : await run.leave())),
  plain('doubt', async (run) => await run.doubt()),
  plain('believe', async (run) => {
    run.isDoubted = false
  }),
] as const

const step = fc.oneof(
  { weight: 6, arbitrary: counts },
  { weight: 3, arbitrary: quotas },
  { weight: 1, arbitrary: tops },
  { weight: 2, arbitrary: resumes },
  { weight: 3, arbitrary: passes },
  ...others.map((arbitrary, index) => ({ weight: index === 2 ? 3 : 1, arbitrary })),
)

model('holds to quotas whatever comes in whatever order, and tells each edge once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
      const run = new ModelRun(HASHES)
      try {
        await run.start()
        for (const one of steps) {
          run.order += 1
          const subject = run.subjects[one.on]
          if (subject !== undefined && (run.isHere || one.isAlways === true)) await one.act(run, subject)
        }
        run.isDoubted = false
        await run.start()
        await run.check()
      } finally {
        await run.leave()
        run.stores.close()
      }
    }),
    { numRuns: rounds(150), includeErrorInReport: true },
  )
})

model.run()
