import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually } from '@steeple/testkit'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, type Lab, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { recordingPath } from '../support/recordings.ts'

const refusals = processSuite('driver-ran/refusals')

const REFUSES: Partial<Scenario> = {
  recording: recordingPath('bad_unknown_key'),
  exit: { atMs: 60, code: 255 },
}
const ELSEWHERE: Partial<Scenario> = {
  lines: [
    { atMs: 80, stream: 'out', text: '==== eNodeB started ===' },
    {
      atMs: 90,
      stream: 'out',
      text: 'Setting frequency: DL=2685.0 Mhz, UL=2565.0 MHz for cc_idx=0 nof_prb=25',
    },
  ],
  onAirAtMs: 60,
  onTerm: 'ignore',
}

const isRefused = (lab: Lab): boolean =>
  lab.supervisor.snapshot().state === 'refused' && lab.supervisor.running === undefined
const starts = (lab: Lab): number => lab.starts

/** A lab whose radio was refused at its first start, and is not started again by itself. */
async function refused(scenario: Partial<Scenario>): Promise<Lab> {
  const lab = await openLab()
  lab.play(scenario)
  lab.gate.arm('mast')
  await eventually(() => isRefused(lab))
  await wait(150)
  assert.is(lab.starts, 1)
  return lab
}

for (const [what, scenario] of [
  ['refuses its configuration', REFUSES],
  ['sent elsewhere', ELSEWHERE],
] as const) {
  refusals(`tries a radio that ${what} once more after disarm and arm`, async () => {
    const lab = await refused(scenario)
    try {
      lab.gate.disarm()
      await eventually(() => lab.supervisor.snapshot().state === 'off')
      lab.gate.arm('mast')
      await eventually(() => lab.starts === 2)
      await eventually(() => isRefused(lab))
      await wait(150)
      assert.is(starts(lab), 2, 'it was tried again by itself')
      lab.play(GOOD)
      lab.gate.disarm()
      await eventually(() => lab.supervisor.snapshot().state === 'off')
      lab.gate.arm('mast')
      await lab.onAir()
      await eventually(() => lab.supervisor.snapshot().problem === undefined)
    } finally {
      await lab.close()
    }
  })
}

refusals('tries once more when the arm follows the disarm before anybody has looked', async () => {
  const lab = await refused(REFUSES)
  try {
    lab.play(GOOD)
    lab.gate.disarm()
    const stopped = lab.supervisor.stop()
    lab.gate.arm('mast')
    await stopped
    await lab.onAir()
    assert.is(lab.starts, 2)
  } finally {
    await lab.close()
  }
})

refusals('tries once more when the settings were read anew, the same ones included', async () => {
  const lab = await refused(REFUSES)
  try {
    lab.supervisor.reconsider()
    await eventually(() => lab.starts === 2)
    await eventually(() => isRefused(lab))
    await wait(150)
    assert.is(starts(lab), 2, 'it was tried again by itself')
  } finally {
    await lab.close()
  }
})

refusals(
  'says once in the log why a changed configuration is not used, while the radio goes on',
  async () => {
    const lab = await openLab()
    const lines = (): readonly unknown[] =>
      lab.fake.logs.filter(({ message }) => message === 'configuration of the radio cannot be used')
    try {
      lab.gate.arm('mast')
      await lab.onAir()
      const { ran, server } = lab.context.settings
      lab.fake.changeSettings({ ran: { ...ran, args: ['--rf.dl_freq=1e9'] }, server })
      await eventually(() => lines().length > 0)
      await wait(200)
      assert.match(
        JSON.stringify(lines()),
        /^\[[^[]*"warn"[^[]*ran\.args may not hold --rf\.dl_freq=1e9[^[]*\]$/,
      )
      lab.fake.changeSettings({ ran, server, tac: 0 })
      await eventually(() => lines().length === 2)
      lab.fake.changeSettings({ ran, server })
      await eventually(() => lab.supervisor.snapshot().problem === undefined)
      lab.fake.changeSettings({ ran, server, tac: 0 })
      await eventually(() => lines().length === 3)
      await wait(100)
      assert.is(lines().length, 3)
      assert.is(lab.starts, 1)
      await lab.onAir()
    } finally {
      await lab.close()
    }
  },
)

refusals(
  'kills a radio that does not say its frequency although the settings have become unusable or a reload is due',
  async () => {
    const labs = await Promise.all([openLab(), openLab()])
    const [unusable, still] = labs
    try {
      for (const lab of labs) {
        lab.play({ lines: ELSEWHERE.lines?.slice(0, 1) ?? [], onAirAtMs: 60, onTerm: 'ignore' })
        lab.gate.arm('mast')
      }
      await Promise.all(labs.map((lab) => lab.onAir()))
      const { ran, server } = unusable.context.settings
      unusable.fake.changeSettings({ ran, server, tac: 0 })
      still.supervisor.beStill(60_000)
      for (const lab of labs) await eventually(() => lab.supervisor.running === undefined)
      assert.match(still.supervisor.snapshot().problem ?? '', /does not say which frequency/)
    } finally {
      await Promise.all(labs.map((lab) => lab.close()))
    }
  },
  { limitMs: 360_000 },
)

refusals('starts nothing anew while its own end is near, and stops when the gate closes', async () => {
  const lab = await openLab()
  try {
    lab.gate.arm('mast')
    await lab.onAir()
    lab.supervisor.beStill(60_000)
    const { ran, server } = lab.context.settings
    lab.fake.changeSettings({ ran, server, plmn: { mcc: '262', mnc: '05' } })
    await wait(200)
    assert.is(lab.starts, 1)
    await lab.onAir()
    lab.gate.disarm()
    await eventually(() => lab.supervisor.running === undefined)
    lab.gate.arm('mast')
    await wait(200)
    assert.is(lab.starts, 1)
    lab.supervisor.beStill(0)
    await lab.onAir()
  } finally {
    await lab.close()
  }
})

refusals.run()
