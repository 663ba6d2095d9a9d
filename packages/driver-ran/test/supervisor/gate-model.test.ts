import { setTimeout as wait } from 'node:timers/promises'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { GOOD, nowMs, openLab } from '../support/lab.ts'

const model = suite('driver-ran/gate model')

/** One thing that happens; each is followed by a pause of up to 120 ms. */
type Happening = 'arm' | 'disarm' | 'crash' | 'step' | 'restart'
const happening = fc.tuple(
  fc.constantFrom<Happening>('arm', 'arm', 'disarm', 'crash', 'step', 'restart'),
  fc.integer({ min: 0, max: 120 }),
)

model(
  'sends not one sample while the gate is closed, whatever comes in whatever order',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 4, maxLength: 12 }), async (happenings) => {
        const lab = await openLab()
        lab.play({ ...GOOD, speed: 100, onAirAtMs: 0, onTerm: 'ignore' })
        /** Spans in which a disarm had been answered and no arm had followed. */
        const closed: { readonly fromMs: number; toMs: number }[] = [
          { fromMs: 0, toMs: Number.POSITIVE_INFINITY },
        ]
        const disarms: Promise<void>[] = []
        let arms = 0
        try {
          for (const [what, pauseMs] of happenings) {
            const { running } = lab.supervisor
            if (what === 'arm') {
              arms += 1
              const last = closed.at(-1)
              if (last !== undefined && last.toMs === Number.POSITIVE_INFINITY) last.toMs = nowMs()
              lab.gate.arm('mast')
            } else if (what === 'disarm') {
              const before = arms
              lab.gate.disarm()
              disarms.push(
                lab.supervisor.stop().then(() => {
                  if (arms === before) closed.push({ fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY })
                }),
              )
            } else if (what === 'crash') running?.process.kill()
            else if (what === 'step') void lab.supervisor.step().catch(() => undefined)
            else void lab.supervisor.restart('a test').catch(() => undefined)
            await wait(pauseMs)
          }
          await Promise.all(disarms)
          lab.gate.disarm()
          await lab.supervisor.stop()
          closed.push({ fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY })
          await wait(30)
        } finally {
          await lab.close()
        }
        const samples = lab.lastSamples()
        for (const { fromMs, toMs } of closed) {
          const sent = samples.filter(({ atMs }) => atMs > fromMs && atMs < toMs)
          assert.is(sent.length, 0, `${sent.length} samples while the gate was closed`)
        }
      }),
      { numRuns: 8, endOnFailure: true },
    )
  },
  { limitMs: 60_000 },
)

model.run()
