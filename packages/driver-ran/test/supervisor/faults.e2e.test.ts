import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually } from '@steeple/testkit'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, type Lab, openLab, PROFILE } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { recordingPath } from '../support/recordings.ts'

const faults = processSuite('driver-ran/faults')

const STARTED = { atMs: 80, stream: 'out', text: '==== eNodeB started ===' } as const
const frequency = (text: string) => ({ atMs: 90, stream: 'out', text }) as const

/** Arms, waits until the driver refuses, and checks that nothing is started again. */
async function refusal(scenario: Partial<Scenario>, profile = PROFILE): Promise<string> {
  const lab = await openLab({ profiles: { mast: profile } })
  try {
    lab.play({ onTerm: 'ignore', onAirAtMs: 60, ...scenario })
    lab.gate.arm('mast')
    await eventually(() => lab.supervisor.snapshot().state === 'refused')
    // It is said when it is seen; the radio is gone a moment later.
    await eventually(() => lab.supervisor.running === undefined)
    const { problem = '' } = lab.supervisor.snapshot()
    const sent = lab.samples().length
    await wait(250)
    assert.is(lab.starts, 1, 'it was started again')
    assert.is(lab.samples().length, sent)
    return problem
  } finally {
    await lab.close()
  }
}

faults(
  'kills a radio that sends at another frequency than was allowed, and does not start it again',
  async () => {
    const lines = [
      STARTED,
      frequency('Setting frequency: DL=2685.0 Mhz, UL=2565.0 MHz for cc_idx=0 nof_prb=25'),
    ]
    assert.match(await refusal({ lines }), /sends at 2685 MHz where 2680 MHz is permitted/)
  },
)

faults('kills a radio that sends a wider carrier than was allowed', async () => {
  const lines = [
    STARTED,
    frequency('Setting frequency: DL=2680.0 Mhz, UL=2560.0 MHz for cc_idx=0 nof_prb=50'),
  ]
  assert.match(
    await refusal({ lines }),
    /uses 10 MHz of bandwidth where 5 MHz are permitted \(50 resource blocks where 25 are permitted\)/,
  )
})

faults('kills a radio whose gain is ignored', async () => {
  const problem = await refusal({ recording: recordingPath('45_'), speed: 5 })
  assert.match(problem, /ignores the configured gain/)
})

faults('kills a radio that starts another program instead of becoming it', async () => {
  const problem = await refusal({ ...GOOD, onTerm: 'ignore', spawnsChild: true, onAirAtMs: 400 })
  assert.match(problem, /would outlive a service that dies/)
})

faults(
  'kills a radio that does not say its frequency within 5 s',
  async () => {
    const lab = await openLab()
    try {
      lab.play({ lines: [STARTED], onAirAtMs: 60, onTerm: 'ignore' })
      lab.gate.arm('mast')
      await eventually(() => lab.supervisor.snapshot().state === 'refused')
      assert.match(lab.supervisor.snapshot().problem ?? '', /does not say which frequency/)
    } finally {
      await lab.close()
    }
  },
  { limitMs: 360_000 },
)

faults('starts again once the configuration is another one', async () => {
  const lab = await openLab()
  try {
    lab.play({ recording: recordingPath('bad_unknown_key'), exit: { atMs: 60, code: 1 } })
    lab.gate.arm('mast')
    await eventually(() => lab.supervisor.snapshot().state === 'refused')
    assert.match(lab.supervisor.snapshot().problem ?? '', /unrecognised option 'enb.foo_bar'/)
    lab.play(GOOD)
    await wait(150)
    assert.is(lab.starts, 1)
    const { ran, server } = lab.context.settings
    lab.fake.changeSettings({ ran, server, tac: 9 })
    await lab.onAir()
  } finally {
    await lab.close()
  }
})

faults('restarts an orderly one whose configuration has changed while the gate is open', async () => {
  const lab = await openLab()
  try {
    lab.play({ ...GOOD, teardownMs: 300 })
    lab.gate.arm('mast')
    await lab.onAir()
    const { ran, server } = lab.context.settings
    lab.fake.changeSettings({ ran, server, plmn: { mcc: '262', mnc: '05' } })
    await eventually(() => lab.starts === 2)
    assert.equal(lab.ends, ['stopped'])
    await lab.onAir()
  } finally {
    await lab.close()
  }
})

faults('keeps what runs when the new configuration is none', async () => {
  const lab = await openLab()
  try {
    lab.gate.arm('mast')
    await lab.onAir()
    const { ran, server } = lab.context.settings
    lab.fake.changeSettings({ ran: { ...ran, bind_addr: '198.51.100.7' }, server })
    await eventually(() => /198\.51\.100\.7 is no address of this machine/.test(problemOf(lab)))
    assert.is(lab.starts, 1)
    await lab.onAir()
  } finally {
    await lab.close()
  }
})

faults('starts nothing while the gate cannot be asked, and goes on with what runs', async () => {
  const lab = await openLab()
  try {
    lab.gate.isAway = true
    lab.gate.arm('mast')
    await wait(200)
    assert.is(lab.starts, 0)
    lab.gate.isAway = false
    await lab.onAir()
    lab.gate.isAway = true
    await lab.onAir()
    assert.is(lab.starts, 1)
  } finally {
    lab.gate.isAway = false
    await lab.close()
  }
})

faults('leaves a device to the service that holds it', async () => {
  const first = await openLab()
  const { device_args } = first.context.settings.ran
  const second = await openLab({ settings: { ran: { device_args } } })
  try {
    first.gate.arm('mast')
    await first.onAir()
    second.gate.arm('mast')
    await eventually(() => /another service on this machine/.test(problemOf(second)))
    assert.is(second.starts, 0)
    assert.is(second.samples().length, 0)
  } finally {
    await second.close()
    await first.close()
  }
})

faults('runs a virtual radio without an armed gate in a lab alone', async () => {
  const ran = { device_name: 'zmq', device_args: 'auto', virtual_profile: 'mast' }
  for (const mode of ['rf', 'lab'] as const) {
    const lab = await openLab({ settings: { server: { mode }, ran } })
    try {
      if (mode === 'lab') await lab.onAir()
      else await wait(200)
      assert.is(lab.starts, mode === 'lab' ? 1 : 0)
    } finally {
      const { ran: now, server } = lab.context.settings
      lab.fake.changeSettings({ ran: { ...now, virtual_profile: '' }, server })
      await lab.close()
    }
  }
  const real = await openLab({ settings: { server: { mode: 'lab' }, ran: { virtual_profile: 'mast' } } })
  await wait(200)
  assert.is(real.starts, 0)
  await real.close()
})

function problemOf(lab: Lab): string {
  return lab.supervisor.snapshot().problem ?? ''
}

faults.run()
