import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, eventually, tempDir } from '@steeple/testkit'
import type { Scenario } from '../stand-in/scenario.ts'
import { GOOD, type Lab, nowMs, openLab } from '../support/lab.ts'
import { processSuite } from '../support/process-suite.ts'
import { assertSilent, disarm, disarmBlocked } from '../support/silence.ts'

const escapes = processSuite('driver-ran/programs that leave their process group')

/** Ends what a driver that failed has left on air. */
function sweepUp(lab: Lab): void {
  for (const pid of lab.alive()) process.kill(pid, 'SIGKILL')
}

/** A lab whose `ran.binary` is a script around the stand-in, `PROGRAM` in its text. */
async function wrapped(script: string, body: (lab: Lab) => Promise<void>): Promise<void> {
  await using folder = await tempDir()
  const binary = join(folder.path, 'wrapper')
  const text = script.replaceAll('PROGRAM', `'${join(folder.path, 'srsenb')}' "$@"`)
  writeFileSync(binary, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  const lab = await openLab({ root: folder.path, settings: { ran: { binary } } })
  try {
    await body(lab)
  } finally {
    sweepUp(lab)
    await lab.close()
  }
}

async function assertRefused(lab: Lab, starts = 1): Promise<void> {
  await eventually(() => lab.supervisor.snapshot().state === 'refused')
  assert.match(lab.supervisor.snapshot().problem ?? '', /would outlive a service that dies/)
  await eventually(() => lab.supervisor.running === undefined)
  const refusedMs = nowMs()
  await wait(250)
  assert.is(lab.samplesAfter(refusedMs), 0)
  assert.equal(lab.alive(), [])
  assert.is(lab.starts, starts, 'it was started again')
}

const STUBBORN: Partial<Scenario> = { ...GOOD, onTerm: 'ignore', ignoresInput: true, onAirAtMs: 50 }
const WRAPPERS: ReadonlyMap<string, string> = new Map([
  ['a script that waits for setsid', 'exec setsid -w PROGRAM'],
  ['a script that does not wait for setsid', 'exec setsid PROGRAM'],
  ['a script that forks twice and goes on', '(setsid PROGRAM &)\nexec sleep 600'],
  ['a script that forks twice and ends', '(setsid PROGRAM &)\nsleep 0.4'],
  ['a script that forks and clears the environment', 'exec setsid -w env -i PROGRAM'],
])

for (const [what, script] of WRAPPERS) {
  escapes(`refuses and kills ${what}`, () =>
    wrapped(script, async (lab) => {
      lab.play(STUBBORN)
      lab.gate.arm('mast')
      await assertRefused(lab)
    }),
  )

  for (const afterMs of [20, 150, 400]) {
    escapes(`lets nothing of ${what} on air after a disarm ${afterMs} ms into its start`, () =>
      wrapped(script, async (lab) => {
        lab.play({ ...STUBBORN, lines: [], untilMs: 0 })
        lab.gate.arm('mast')
        await eventually(() => lab.starts > 0)
        await wait(afterMs)
        await assertSilent(lab, await disarm(lab))
        assert.equal(lab.alive(), [])
      }),
    )
  }
}

/** On air and looked at, and then another one that has left the group is on air as well. */
async function escaped(lab: Lab, leaves: NonNullable<Scenario['leaves']>): Promise<void> {
  lab.play({ ...STUBBORN, leaves })
  lab.gate.arm('mast')
  const isRefused = (): boolean => lab.supervisor.snapshot().state === 'refused'
  for (;;) {
    await eventually(() => lab.supervisor.running?.process.facts().isStarted === true)
    // Every second until it is on air, and every five from then on, the driver looks by itself.
    await wait(1_100)
    const [radio] = lab.alive()
    assert.ok(radio !== undefined)
    process.kill(radio, 'SIGUSR2')
    await eventually(() => isRefused() || lab.alive().some((pid) => pid !== radio))
    const before = lab.samples().length
    await eventually(() => isRefused() || lab.samples().length > before + 3)
    if (!isRefused()) return
    // On a busy machine it has looked before the other one was on air.
    await eventually(() => lab.supervisor.running === undefined)
    lab.supervisor.reconsider()
  }
}

const WAYS: ReadonlyMap<string, NonNullable<Scenario['leaves']>> = new Map([
  ['in a session of its own', {}],
  ['by a double fork', { isTwice: true }],
  ['in a session of its own, without an environment', { isBare: true }],
])
const LONG = { limitMs: 360_000 } as const

/** Registers a test of a radio on air that has started another one, which must be ended. */
function whileEscaped(
  sentence: string,
  leaves: NonNullable<Scenario['leaves']>,
  body: (lab: Lab) => Promise<void>,
): void {
  escapes(
    sentence,
    async () => {
      const lab = await openLab()
      try {
        await escaped(lab, leaves)
        await body(lab)
      } finally {
        sweepUp(lab)
        await lab.close()
      }
    },
    LONG,
  )
}

for (const [how, leaves] of WAYS) {
  whileEscaped(`ends what a radio has started ${how} before a disarm is answered`, leaves, async (lab) => {
    await assertSilent(lab, await disarm(lab))
    assert.equal(lab.alive(), [])
  })

  whileEscaped(`ends in time what it has started ${how}, with a blocked event loop`, leaves, async (lab) => {
    await assertSilent(lab, await disarmBlocked(lab))
    assert.equal(lab.alive(), [])
  })
}

whileEscaped(
  'notices a radio that leaves its group long after its start, and refuses it',
  {},
  async (lab) => {
    await eventually(() => lab.supervisor.snapshot().state === 'refused')
    await assertRefused(lab, lab.starts)
  },
)

whileEscaped('refuses a radio that ends and leaves another one on air', { endsAfterMs: 400 }, (lab) =>
  assertRefused(lab, lab.starts),
)

escapes.run()
