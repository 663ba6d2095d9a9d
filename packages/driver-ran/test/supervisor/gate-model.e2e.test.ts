import { setTimeout as wait } from 'node:timers/promises'
import { assert } from '@steeple/testkit'
import fc from 'fast-check'
import { GOOD, type Lab, nowMs, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'

const model = processSuite('driver-ran/gate model')

type Happening = 'arm' | 'disarm' | 'crash' | 'freeze' | 'step' | 'restart'
/** One thing that happens, and the pause after it, ms. */
const happening = fc.tuple(
  fc.constantFrom<Happening>('arm', 'arm', 'disarm', 'crash', 'freeze', 'step', 'restart'),
  fc.integer({ min: 0, max: 120 }),
)

/** Spans in which a disarm had been answered and no arm had followed. */
class ClosedSpans {
  readonly #spans: { readonly fromMs: number; toMs: number }[] = []
  readonly #answers: Promise<void>[] = []
  #arms = 0

  constructor() {
    this.#begin()
  }

  #begin(): void {
    this.#spans.push({ fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY })
  }

  arm(lab: Lab): void {
    this.#arms += 1
    for (const span of this.#spans) span.toMs = Math.min(span.toMs, nowMs())
    lab.gate.arm('mast')
  }

  disarm(lab: Lab): Promise<void> {
    const before = this.#arms
    lab.gate.disarm()
    const answer = lab.supervisor.stop().then(() => {
      if (this.#arms === before) this.#begin()
    })
    this.#answers.push(answer)
    return answer
  }

  async samplesWithin(lab: Lab): Promise<number> {
    await Promise.all(this.#answers)
    return lab
      .lastSamples()
      .filter(({ atMs }) => this.#spans.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs)).length
  }
}

function happen(what: Happening, lab: Lab, spans: ClosedSpans): void {
  if (what === 'arm') spans.arm(lab)
  else if (what === 'disarm') void spans.disarm(lab)
  else if (what === 'crash') lab.supervisor.running?.process.kill()
  else if (what === 'freeze') freeze(lab.supervisor.running?.process.pid)
  else if (what === 'step') void lab.supervisor.step().catch(() => undefined)
  else void lab.supervisor.restart('a test').catch(() => undefined)
}

function freeze(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGSTOP')
  } catch {
    // gone meanwhile
  }
}

model(
  'sends not one sample while the gate is closed, whatever comes in whatever order',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 4, maxLength: 12 }), async (happenings) => {
        const lab = await openLab()
        lab.play({ ...GOOD, speed: 100, onAirAtMs: 0, onTerm: 'ignore' })
        const spans = new ClosedSpans()
        try {
          for (const [what, pauseMs] of happenings) {
            happen(what, lab, spans)
            await wait(pauseMs)
          }
          await spans.disarm(lab)
          await wait(30)
        } finally {
          await lab.close()
        }
        assert.is(await spans.samplesWithin(lab), 0, 'samples while the gate was closed')
      }),
      { numRuns: 8, endOnFailure: true },
    )
  },
  { limitMs: 360_000 },
)

model.run()
