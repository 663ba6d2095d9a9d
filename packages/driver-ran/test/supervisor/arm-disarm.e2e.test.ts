import { assert, eventually, stretched } from '@steeple/testkit'
import { GOOD, nowMs, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'

const radio = processSuite('driver-ran/arm and disarm')

radio('is on air by itself once TX is armed, and off when the stop resolves', async () => {
  const lab = await openLab()
  try {
    assert.is(lab.supervisor.snapshot().state, 'off')
    assert.is(lab.samples().length, 0)
    lab.gate.arm('mast')
    await lab.onAir()
    await eventually(() => lab.supervisor.snapshot().state === 's1_up')
    lab.gate.disarm()
    await lab.supervisor.stop()
    const offMs = nowMs()
    assert.is(lab.supervisor.snapshot().pid, undefined)
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.is(lab.samplesAfter(offMs), 0)
  } finally {
    await lab.close()
  }
})

radio('is off air within a second although the program ignores SIGTERM and its input', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, onTerm: 'ignore', ignoresInput: true })
    lab.gate.arm('mast')
    await lab.onAir()
    const beganMs = nowMs()
    lab.gate.disarm()
    await lab.supervisor.stop()
    const lastMs = lab.samples().at(-1)?.atMs ?? 0
    assert.ok(lastMs - beganMs < stretched(1_000), `${lastMs - beganMs} ms`)
    assert.equal(lab.ends, ['stopped'])
  } finally {
    await lab.close()
  }
})

radio.run()
