import { setTimeout as wait } from 'node:timers/promises'
import type { Settings } from '@steeple/contracts'
import { assert, eventually } from '@steeple/testkit'
import { radioHealth } from '../../src/radio-health.ts'
import { restartBackoff } from '../../src/supervisor/supervisor.ts'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, type Lab, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { NR_PROFILE } from '../support/radio-input.ts'
import { linesOf, recording, recordingPath } from '../support/recordings.ts'

const progress = processSuite('driver-ran/progress')

function shown(lab: Lab): string {
  const { status, detail } = radioHealth({
    snapshot: lab.supervisor.snapshot(),
    disagreement: undefined,
    hints: [],
  })
  return `${status}: ${detail}`
}

/** A lab, as it is asked for, whose radio plays that and is armed. */
async function armed(
  scenario: Partial<Scenario>,
  body: (lab: Lab) => Promise<void>,
  asked?: Parameters<typeof openLab>[0],
): Promise<void> {
  const lab = await openLab(asked)
  try {
    lab.play(scenario)
    lab.gate.arm('mast')
    await body(lab)
  } finally {
    await lab.close()
  }
}

async function isShownAndMended(lab: Lab): Promise<void> {
  await eventually(() => lab.supervisor.snapshot().state === 'stalled')
  assert.match(
    shown(lab),
    /^degraded: .* is not working, may be on air at 2680 MHz: it has made no progress for \d+ s/,
  )
  await eventually(() => lab.starts === 2)
  await lab.onAir()
}

progress('shows a radio that hangs, and starts it again', () =>
  armed(GOOD, async (lab) => {
    await lab.onAir()
    await eventually(() => shown(lab).startsWith('ok: '))
    process.kill(lab.supervisor.snapshot().pid ?? Number.NaN, 'SIGSTOP')
    lab.play(GOOD)
    await isShownAndMended(lab)
  }),
)

progress('shows a radio whose samples have stopped while it is connected, and starts it again', () =>
  armed({ ...GOOD, stallsAtMs: 3_000 }, async (lab) => {
    await lab.onAir()
    lab.play(GOOD)
    await isShownAndMended(lab)
  }),
)

/** What a lab with a gnb of that device is asked for with. */
const gnbWith = (device: Partial<Settings['ran']>): Parameters<typeof openLab>[0] => ({
  profiles: { mast: NR_PROFILE },
  settings: { ran: { program: 'gnb', scs_khz: 30, ...device } },
})

/** What a gnb prints at its start, into its buffer. */
const GNB_LINES = [
  'N2: Connection to AMF on 127.0.0.5:38412 completed',
  'Cell pci=1, bw=20 MHz, 1T1R, dl_arfcn=632628 (n78), dl_freq=3489.42 MHz, dl_ssb_arfcn=632256, ul_freq=3489.42 MHz',
  '==== gNB started ===',
].map((text) => ({ atMs: 100, stream: 'out' as const, text }))
const GNB_GOOD: Partial<Scenario> = { lines: GNB_LINES, onAirAtMs: 100 }

progress(
  'shows a gnb whose slots do not pass, although it goes on looking for samples, and starts it again',
  () =>
    armed(
      { ...GNB_GOOD, stallsAtMs: 3_000 },
      async (lab) => {
        await lab.onAir()
        await eventually(() => shown(lab).startsWith('ok: '))
        lab.play(GNB_GOOD)
        await eventually(() => lab.supervisor.snapshot().state === 'stalled')
        assert.match(
          shown(lab),
          /^degraded: .* is not working, may be on air at 3489\.42 MHz: it has made no progress/,
        )
        await eventually(() => lab.starts === 2)
        await lab.onAir()
      },
      gnbWith({}),
    ),
)

progress('says of a virtual gnb that nothing is connected to it, and leaves it alone', () =>
  armed(
    { lines: GNB_LINES },
    async (lab) => {
      await eventually(() => lab.supervisor.snapshot().state === 'stalled')
      assert.match(shown(lab), /^degraded: .*: no samples flow: nothing is connected to its ZeroMQ/)
      await wait(11_000)
      assert.is(lab.starts, 1)
    },
    gnbWith({ device_name: 'zmq', device_args: 'auto' }),
  ),
)

progress('says of a virtual radio that nothing is connected to it, and leaves it alone', async () => {
  const settings = {
    server: { mode: 'lab' as const },
    ran: { device_name: 'zmq', device_args: 'auto', virtual_profile: 'mast' },
  }
  const lab = await openLab({ settings })
  try {
    lab.play({ recording: recordingPath('34_'), untilMs: 1_000, speed: 5, onTerm: 'graceful' })
    await eventually(() => lab.supervisor.snapshot().state === 'stalled')
    assert.match(
      shown(lab),
      /^degraded: virtual radio .*: no samples flow: nothing is connected to its ZeroMQ/,
    )
    // Longer than a radio that hangs is borne.
    await wait(11_000)
    assert.is(lab.starts, 1)
  } finally {
    await lab.close()
  }
})

progress('says nothing of air while the device is not open, although S1 is up', () => {
  const lines = linesOf(recording('34_'))
    .filter(({ atMs, text }) => text.includes('[S1AP') && atMs < 1_000)
    .map(({ stream, text }) => ({ atMs: 10, stream, text }))
  return armed({ lines, onTerm: 'graceful' }, async (lab) => {
    await eventually(() => lab.supervisor.snapshot().facts?.isConnected === true)
    assert.is(shown(lab), 'degraded: radio with profile mast is starting')
  })
})

progress('refuses a cell that would serve nobody', () =>
  armed({ recording: recordingPath('46_'), speed: 20, onTerm: 'graceful' }, async (lab) => {
    await eventually(() => lab.supervisor.snapshot().state === 'refused')
    assert.match(lab.supervisor.snapshot().problem ?? '', /would serve no phone: Invalid PUCCH configuration/)
  }),
)

progress('tries a device again and again however much noise follows its failure', () => {
  const noise = Array.from({ length: 30 }, (_, at) => `Failed to do thing ${at}`)
  const lines = ['Error initializing radio.', ...noise].map((text) => ({
    atMs: 10,
    stream: 'err' as const,
    text,
  }))
  return armed({ lines, onTerm: 'graceful', exit: { atMs: 60, code: 255 } }, async (lab) => {
    await eventually(() => lab.starts > 2)
    assert.is(lab.ends[0], 'device')
    const problem = /cannot open the radio .*Error initializing radio/
    await eventually(() => problem.test(lab.supervisor.snapshot().problem ?? ''))
  })
})

progress('shows what a running radio complains of', () => {
  const lines = [{ atMs: 400, stream: 'err' as const, text: '[PHY0   ] [E] TX failed: Operation timed out' }]
  return armed({ ...GOOD, lines }, async (lab) => {
    await lab.onAir()
    await eventually(() =>
      shown(lab).includes('; it complains: [PHY0   ] [E] TX failed: Operation timed out'),
    )
  })
})

progress(
  'starts at once after a disarm and an arm that no step has seen, however long it would have waited',
  async () => {
    const lab = await openLab({ isDriven: false, backoff: restartBackoff(() => 0.5) })
    try {
      lab.play({ onTerm: 'graceful', lines: [], exit: { atMs: 20, code: 3 } })
      lab.gate.arm('mast')
      await lab.supervisor.step()
      await eventually(() => lab.ends.length === 1 && lab.supervisor.running === undefined)
      assert.is((await lab.supervisor.step()).state, 'pending')
      lab.gate.disarm()
      await lab.supervisor.stop()
      lab.gate.arm('mast')
      await lab.supervisor.step()
      assert.is(lab.starts, 2)
    } finally {
      await lab.close()
    }
  },
)

progress.run()
