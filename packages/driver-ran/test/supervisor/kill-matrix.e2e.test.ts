import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually, stretched } from '@steeple/testkit'
import { GOOD, type Lab, nowMs, openLab, PROFILE } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { recordingPath } from '../support/recordings.ts'
import { assertSilent, disarm, disarmBlocked } from '../support/silence.ts'

const kill = processSuite('driver-ran/kill matrix')

/** Registers a test of a running radio that behaves in that way. */
function whileOnAir(
  sentence: string,
  scenario: Parameters<Lab['play']>[0],
  before: (lab: Lab) => Promise<void> = async () => undefined,
): void {
  kill(sentence, async () => {
    const lab = await openLab()
    try {
      lab.play({ ...GOOD, ...scenario })
      lab.gate.arm('mast')
      await lab.onAir()
      await before(lab)
      await assertSilent(lab, await disarm(lab))
    } finally {
      await lab.close()
    }
  })
}

whileOnAir('stops one that ends as it should', { teardownMs: 300 })
whileOnAir('kills one that tears down for two seconds', { teardownMs: 2_100 })
whileOnAir('kills one whose radio has stalled, which would kill itself after 5 s', { onTerm: 'stall' })
whileOnAir('kills one that ignores its signals and its input', { onTerm: 'ignore', ignoresInput: true })
whileOnAir('kills one that is connected to no core', { recording: recordingPath('02_') })
whileOnAir('kills one that was stopped by SIGSTOP', { onTerm: 'ignore' }, async (lab) => {
  process.kill(lab.supervisor.running?.process.pid ?? Number.NaN, 'SIGSTOP')
})

kill('mutes one that goes on sending before it is killed', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore' })
    lab.gate.arm('mast')
    await lab.onAir()
    const { askedMs } = await disarm(lab)
    const muteMs = stretched(200)
    const loud = lab.samples().filter((sample) => sample.atMs > askedMs + muteMs && !sample.isMuted)
    assert.is(loud.length, 0)
    assert.ok(lab.samplesAfter(askedMs) > 0)
  } finally {
    await lab.close()
  }
})

for (const afterMs of [0, 1, 3, 10, 30, 60, 90, 120]) {
  kill(`lets nothing on air when the disarm comes ${afterMs} ms into a start`, async () => {
    const lab = await openLab()
    try {
      lab.play({ ...GOOD, speed: 100, onAirAtMs: 0, onTerm: 'ignore' })
      lab.gate.arm('mast')
      await eventually(() => lab.gate.asked > 0)
      await wait(afterMs)
      await assertSilent(lab, await disarm(lab))
    } finally {
      await lab.close()
    }
  })
}

kill(
  'starts nothing when the disarm comes between the last question to the gate and the process',
  async () => {
    const lab = await openLab({ isDriven: false })
    try {
      lab.gate.arm('mast')
      const reached = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      let questions = 0
      lab.gate.slow = async () => {
        questions += 1
        if (questions < 2) return
        reached.resolve()
        await goOn.promise
      }
      const step = lab.supervisor.step()
      await reached.promise
      // The gate has already read that it is open; its answer arrives after the stop was confirmed.
      const answered = await disarm(lab)
      goOn.resolve()
      await step
      assert.is(lab.starts, 0)
      await assertSilent(lab, answered)
      assert.is(lab.samples().length, 0)
    } finally {
      await lab.close()
    }
  },
)

kill('is off after two disarms, one after the other and at once', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore' })
    lab.gate.arm('mast')
    await lab.onAir()
    const [first] = await Promise.all([disarm(lab), disarm(lab), lab.supervisor.stop()])
    await assertSilent(lab, first)
    await assertSilent(lab, await disarm(lab))
    assert.equal(lab.ends, ['stopped'])
  } finally {
    await lab.close()
  }
})

kill('starts nothing when it is disarmed while it waits for its next start', async () => {
  const lab = await openLab({ backoff: { next: () => 300, reset: () => undefined } })
  try {
    lab.play({ recording: recordingPath('36_'), speed: 10, exit: { atMs: 120, code: 255 } })
    lab.gate.arm('mast')
    await eventually(() => lab.supervisor.snapshot().state === 'waiting' && lab.ends.length === 1)
    lab.play({ ...GOOD, onAirAtMs: 0 })
    await assertSilent(lab, await disarm(lab))
    await wait(500)
    assert.is(lab.starts, 1)
    assert.is(lab.samples().length, 0)
  } finally {
    await lab.close()
  }
})

kill('is off within a second although the event loop is blocked as soon as the stop began', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore', ignoresInput: true })
    lab.gate.arm('mast')
    await lab.onAir()
    await assertSilent(lab, await disarmBlocked(lab))
  } finally {
    await lab.close()
  }
})

kill('shortens an orderly stop when a disarm comes', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore' })
    lab.gate.arm('mast')
    await lab.onAir()
    const orderly = lab.supervisor.stop('orderly')
    await wait(100)
    await assertSilent(lab, await disarm(lab))
    await orderly
  } finally {
    await lab.close()
  }
})

kill('goes off when the gate is closed without a word to the driver', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore' })
    lab.gate.arm('mast')
    await lab.onAir()
    lab.gate.disarm()
    await eventually(() => lab.ends.length === 1)
    await assertSilent(lab, { askedMs: nowMs(), answeredMs: nowMs() })
  } finally {
    await lab.close()
  }
})

kill('stops what an armed gate wants while it is held, and goes on air again by its own call', async () => {
  const lab = await openLab()
  try {
    lab.gate.arm('mast')
    await lab.onAir()
    await lab.supervisor.hold()
    const heldMs = nowMs()
    await wait(300)
    assert.is(lab.samplesAfter(heldMs), 0)
    lab.supervisor.resume()
    await lab.onAir()
  } finally {
    await lab.close()
  }
})

kill('takes the old carrier off the air although the one that is armed now cannot be started', async () => {
  const profiles = { mast: PROFILE, wrong: { ...PROFILE, bandwidth_mhz: 4.8 } }
  const lab = await openLab({ profiles, isDriven: false })
  try {
    lab.play({ ...GOOD, onTerm: 'ignore' })
    lab.gate.arm('mast')
    await lab.supervisor.step()
    await lab.onAir()
    lab.gate.arm('wrong')
    await lab.supervisor.step()
    const offMs = nowMs()
    assert.is(lab.supervisor.snapshot().state, 'refused')
    await assertSilent(lab, { askedMs: offMs, answeredMs: offMs })
  } finally {
    await lab.close()
  }
})

kill.run()
