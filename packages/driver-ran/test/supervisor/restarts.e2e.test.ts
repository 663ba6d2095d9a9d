import { assert, eventually } from '@steeple/testkit'
import { restartBackoff } from '../../src/supervisor/supervisor.ts'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { recordingPath } from '../support/recordings.ts'

const restarts = processSuite('driver-ran/restarts')

/** Class of the first end; then a good one must come up, with the gate asked again for it. */
async function firstEnd(scenario: Partial<Scenario>): Promise<string | undefined> {
  const lab = await openLab()
  try {
    lab.play(scenario)
    lab.gate.arm('mast')
    await eventually(() => lab.ends.length > 0)
    const asked = lab.gate.asked
    lab.play(GOOD)
    await lab.onAir()
    assert.ok(lab.gate.asked >= asked + 2, 'the gate was not asked for the restart')
    return lab.ends[0]
  } finally {
    await lab.close()
  }
}

restarts('starts again after an end with 0', async () => {
  assert.is(await firstEnd({ ...GOOD, exit: { atMs: 250, code: 0 } }), 'ended')
})

restarts('starts again after a crash on air', async () => {
  const crash = { recording: recordingPath('31_'), speed: 20, onAirAtMs: 50, exit: { atMs: 250, code: 1 } }
  assert.is(await firstEnd(crash), 'crash')
})

restarts('starts again after the abort of a program that gave up its core', async () => {
  const abort = { recording: recordingPath('25_max'), speed: 10, onAirAtMs: 50, exit: { atMs: 250, code: 1 } }
  assert.is(await firstEnd(abort), 'crash')
})

restarts('starts again when the device could not be opened', async () => {
  assert.is(await firstEnd({ recording: recordingPath('36_'), exit: { atMs: 200, code: 255 } }), 'device')
})

restarts(
  'waits 1 s to 60 s, twice as long each time, with jitter, and from the beginning after 5 minutes on air',
  () => {
    for (const random of [0, 0.5, 0.999]) {
      const backoff = restartBackoff(() => random)
      const waits = Array.from({ length: 12 }, () => backoff.next(0))
      assert.ok(
        waits.every((ms) => ms >= 1_000 && ms <= 60_000),
        waits.join(),
      )
      assert.ok((waits[11] ?? 0) >= 45_000)
      assert.ok(backoff.next(299_000) >= 45_000)
      assert.ok(backoff.next(300_000) <= 1_250)
    }
    assert.is.not(restartBackoff(() => 0.2).next(0), restartBackoff(() => 0.9).next(0))
  },
)

for (const [signal, kind] of [
  ['SIGTERM', 'ended'],
  ['SIGINT', 'ended'],
  ['SIGHUP', 'ended'],
  ['SIGKILL', 'killed'],
  ['SIGSEGV', 'crash'],
  ['SIGABRT', 'crash'],
] as const) {
  restarts(`starts again, through the gate, when somebody else sends it ${signal}`, async () => {
    const lab = await openLab()
    try {
      lab.play({ ...GOOD, teardownMs: 100 })
      lab.gate.arm('mast')
      await lab.onAir()
      const asked = lab.gate.asked
      process.kill(lab.supervisor.running?.process.pid ?? Number.NaN, signal)
      await eventually(() => lab.ends.length > 0)
      assert.equal(lab.ends, [kind])
      await lab.onAir()
      assert.ok(lab.gate.asked >= asked + 2)
    } finally {
      await lab.close()
    }
  })
}

restarts.run()
