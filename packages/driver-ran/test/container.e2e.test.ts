import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually, stretched, tempDir } from '@steeple/testkit'
import type { Scenario } from './stand-in/scenario.ts'
import { type EngineStandIn, engineStandIn } from './support/engine-stand-in.ts'
import { GOOD, type Lab, nowMs, openLab, standInFiles } from './support/lab.ts'
import { processSuite } from './support/process-suite.ts'
import { recordingPath } from './support/recordings.ts'
import { assertSilent, block, disarm } from './support/silence.ts'

const container = processSuite('driver-ran/container')

async function inContainer(
  scenario: Partial<Scenario>,
  body: (lab: Lab, engine: EngineStandIn) => Promise<void>,
): Promise<void> {
  const folder = await tempDir()
  standInFiles(folder.path).play(scenario)
  const engine = await engineStandIn(folder.path, join(folder.path, 'ran', 'launch.sh'))
  const settings = { ran: { container: 'radio' }, hss: { engine_socket: engine.socket } }
  const lab = await openLab({ root: folder.path, settings })
  try {
    await body(lab, engine)
  } finally {
    engine.refusesToKill = false
    await lab.close()
    await engine.close()
    await folder.remove()
  }
}

const STUBBORN: Partial<Scenario> = { ...GOOD, onTerm: 'ignore', ignoresInput: true }

container('is on air once TX is armed, connected, and off when the stop resolves', () =>
  inContainer(GOOD, async (lab, engine) => {
    lab.gate.arm('mast')
    await lab.onAir()
    await eventually(() => lab.supervisor.snapshot().state === 's1_up')
    assert.is(lab.supervisor.snapshot().pid, engine.pid)
    await assertSilent(lab, await disarm(lab))
    assert.is(engine.pid, undefined)
    assert.equal(lab.ends, ['stopped'])
  }),
)

container('kills a radio that ignores its signals and its input', () =>
  inContainer(STUBBORN, async (lab) => {
    lab.gate.arm('mast')
    await lab.onAir()
    await assertSilent(lab, await disarm(lab))
  }),
)

container('is off air within a second although the engine does not kill, by its own script', () =>
  inContainer(STUBBORN, async (lab, engine) => {
    lab.gate.arm('mast')
    await lab.onAir()
    engine.refusesToKill = true
    await assertSilent(lab, await disarm(lab))
  }),
)

container('leaves no transmitter on when its connection to the service ends', () =>
  inContainer(STUBBORN, async (lab, engine) => {
    lab.gate.arm('mast')
    await lab.onAir()
    engine.refusesToKill = true
    lab.gate.disarm()
    engine.drop()
    const droppedMs = nowMs()
    await eventually(() => engine.pid === undefined)
    assert.is(lab.samplesAfter(droppedMs + stretched(500)), 0)
  }),
)

container('leaves no transmitter on when the event loop of the service does not turn', () =>
  inContainer(STUBBORN, async (lab) => {
    lab.gate.arm('mast')
    await lab.onAir()
    const blockedMs = nowMs()
    block(4_200)
    // The script does without a line for 3 s; what was written before the block counts.
    assert.is(lab.samplesAfter(blockedMs + stretched(3_700)), 0)
  }),
)

for (const afterMs of [0, 20, 60, 120]) {
  container(`lets nothing on air when the disarm comes ${afterMs} ms into a start`, () =>
    inContainer({ ...STUBBORN, speed: 100, onAirAtMs: 0 }, async (lab) => {
      lab.gate.arm('mast')
      await eventually(() => lab.gate.asked > 0)
      await wait(afterMs)
      await assertSilent(lab, await disarm(lab))
    }),
  )
}

container('reports a refused configuration in the words of the program, and starts after a crash', () =>
  inContainer({ recording: recordingPath('bad_unknown_key'), exit: { atMs: 60, code: 1 } }, async (lab) => {
    lab.gate.arm('mast')
    await eventually(() => lab.supervisor.snapshot().state === 'refused')
    assert.match(lab.supervisor.snapshot().problem ?? '', /unrecognised option 'enb.foo_bar'/)
  }),
)

container('is killed at once when it sends at another frequency, although the engine does not kill', () => {
  const lines = [
    { atMs: 150, stream: 'out', text: '==== eNodeB started ===' },
    {
      atMs: 150,
      stream: 'out',
      text: 'Setting frequency: DL=2685.0 Mhz, UL=2565.0 MHz for cc_idx=0 nof_prb=25',
    },
  ] as const
  return inContainer({ lines, onAirAtMs: 100, onTerm: 'ignore', ignoresInput: true }, async (lab, engine) => {
    engine.refusesToKill = true
    lab.gate.arm('mast')
    await eventually(() => engine.pid === undefined && lab.supervisor.snapshot().state === 'refused')
    const samples = lab.samples()
    assert.ok((samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0) < stretched(400))
    assert.match(lab.supervisor.snapshot().problem ?? '', /sends at 2685 MHz/)
  })
})

container('refuses a container that the engine would restart, or that runs something else', () =>
  inContainer(GOOD, async (lab, engine) => {
    engine.made.HostConfig.RestartPolicy.Name = 'always'
    engine.made.Args = ['/usr/bin/srsenb']
    engine.made.Config.Tty = true
    lab.gate.arm('mast')
    const problem = (): string => lab.supervisor.snapshot().problem ?? ''
    await eventually(() =>
      /restart policy is always.*bash with the one argument.*no terminal/.test(problem()),
    )
    assert.is(lab.starts, 0)
    assert.is(lab.samples().length, 0)
  }),
)

container.run()
