import { isServiceError, type RadioProfile, type RanDriver, type RanObserved } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { eventually } from '../eventually.ts'
import type { BodyOptions } from '../suite.ts'
import {
  type Check,
  changesNothing,
  honoursAbort,
  isCount,
  patient,
  rejection,
  runChecks,
  type WorldFixture,
} from './common.ts'

/** A radio that comes back by itself does so within this time, ms: the suite looks on for so long. */
const LOOK_ON_MS = 400

async function onAir(fixture: RanFixture): Promise<void> {
  await fixture.setArmed(true)
  await fixture.driver.start(fixture.profile, patient())
  await eventually(async () => (await fixture.radios()) > 0, fixture.patienceMs)
}

/** A process of this machine, or a radio that runs by itself and is on. */
function seenOn(fixture: RanFixture, seen: RanObserved): void {
  if (fixture.silence !== undefined) assert.is(seen.power, 'on')
  else assert.ok(isCount(seen.pid) && Number(seen.pid) > 0, 'a running radio has a process id')
}

async function isOff(fixture: RanFixture, why: string): Promise<void> {
  assert.is(await fixture.radios(), 0, why)
}

/** Off now, and looked at for a while. */
async function staysOff(fixture: RanFixture, why: string): Promise<void> {
  const untilMs = performance.now() + LOOK_ON_MS
  while (performance.now() < untilMs) {
    await isOff(fixture, why)
    await new Promise((next) => setTimeout(next, 10))
  }
}

const STARTING: readonly Check<RanFixture>[] = [
  {
    sentence: 'refuses to start while the TX gate is closed, and stays off the air',
    body: async (fixture) => {
      const error = await rejection(
        () => fixture.driver.start(fixture.profile, patient()),
        'start must reject while the gate is closed',
      )
      assert.ok(isServiceError(error), 'the refusal must carry a code of the catalogue')
      assert.is(error.code, 'tx_not_armed')
      await staysOff(fixture, 'a closed gate')
    },
  },
  {
    sentence: 'refuses to start again after the gate was closed',
    body: async (fixture) => {
      await onAir(fixture)
      await fixture.driver.stop(patient())
      await fixture.setArmed(false)
      await rejection(
        () => fixture.driver.start(fixture.profile, patient()),
        'start must ask the gate each time',
      )
      await staysOff(fixture, 'a gate that was closed again')
    },
  },
  {
    sentence: 'starts one radio when the gate is open, and observes it',
    body: async (fixture) => {
      await onAir(fixture)
      await eventually(
        async () => seenOn(fixture, await fixture.driver.observe(patient())),
        fixture.patienceMs,
      )
      const seen = await fixture.driver.observe(patient())
      assert.ok(isCount(seen.attachedUes), 'attachedUes must be a count')
      assert.ok(['lte', 'nr', 'none'].includes(seen.mode))
    },
  },
  {
    sentence: 'has one radio when it is started twice',
    body: async (fixture) => {
      await onAir(fixture)
      await fixture.driver.start(fixture.profile, patient()).catch(() => undefined)
      await eventually(async () => (await fixture.radios()) > 0, fixture.patienceMs)
      assert.is(await fixture.radios(), 1, 'two starts')
    },
  },
  {
    sentence: 'starts again after a stop',
    body: async (fixture) => {
      await onAir(fixture)
      await fixture.driver.stop(patient())
      await onAir(fixture)
      assert.is(await fixture.radios(), 1)
    },
  },
]

const STOPPING: readonly Check<RanFixture>[] = [
  {
    sentence: 'is off the air when stop resolves, and stays off though the gate is open',
    body: async (fixture) => {
      await onAir(fixture)
      await fixture.driver.stop(patient())
      await isOff(fixture, 'the stop was answered before the radio was off')
      const seen = await fixture.driver.observe(patient())
      assert.is(seen.pid, undefined)
      if (fixture.silence !== undefined) assert.is(seen.power, 'off', 'a stop has proven it')
      await staysOff(fixture, 'after a stop')
    },
  },
  {
    sentence: 'stops twice, and when it never ran',
    body: async (fixture) => {
      await fixture.driver.stop(patient())
      await onAir(fixture)
      await fixture.driver.stop(patient())
      await fixture.driver.stop(patient())
      await isOff(fixture, 'two stops')
    },
  },
  {
    sentence: 'is off when it is stopped while it starts',
    body: async (fixture) => {
      await fixture.setArmed(true)
      const starting = fixture.driver.start(fixture.profile, patient()).catch(() => undefined)
      await fixture.driver.stop(patient())
      await isOff(fixture, 'a stop during a start')
      await starting
      await staysOff(fixture, 'a start that a stop has overtaken')
    },
  },
  {
    sentence: 'is off when two stop it at once, for both',
    body: async (fixture) => {
      await onAir(fixture)
      const off = async (): Promise<void> => {
        await fixture.driver.stop(patient())
        await isOff(fixture, 'each of two stops that run together')
      }
      await Promise.all([off(), off()])
    },
  },
]

const LOOKING: readonly Check<RanFixture>[] = [
  {
    sentence: 'observes without changing anything',
    body: async (fixture) => {
      await changesNothing(fixture, () => fixture.driver.observe(patient()))
      await onAir(fixture)
      await changesNothing(fixture, () => fixture.driver.observe(patient()))
    },
  },
  {
    sentence: 'observes nothing when nothing runs',
    body: async (fixture) => {
      const seen = await fixture.driver.observe(patient())
      assert.is(seen.pid, undefined)
      assert.is(seen.isConnected, false)
      assert.is(seen.attachedUes, 0)
    },
  },
  {
    sentence: 'observes that a radio has crashed',
    body: async (fixture) => {
      await onAir(fixture)
      const { pid } = await fixture.driver.observe(patient())
      await fixture.crash()
      await eventually(async () => {
        const seen = await fixture.driver.observe(patient())
        if (fixture.silence === undefined) assert.is.not(seen.pid, pid, 'the process is gone')
        assert.ok(seen.pid !== undefined || !seen.isConnected, 'nothing is connected that does not run')
      }, fixture.patienceMs)
    },
  },
  {
    sentence: 'is not off while nobody can say so, and is told off until it is',
    body: async (fixture) => {
      if (fixture.silence === undefined) return
      await onAir(fixture)
      await fixture.silence(true)
      await rejection(
        () => fixture.driver.stop(AbortSignal.timeout(LOOK_ON_MS)),
        'a stop that nobody has confirmed must reject',
      )
      assert.is.not((await fixture.driver.observe(patient())).power, 'off', 'nobody has said that it is off')
      await fixture.silence(false)
      await fixture.driver.stop(patient())
      await isOff(fixture, 'the switch answers again')
      assert.is((await fixture.driver.observe(patient())).power, 'off')
    },
  },
  {
    sentence: 'honours an aborted signal',
    body: async (fixture) => {
      await fixture.setArmed(true)
      await honoursAbort(fixture, (signal) => fixture.driver.start(fixture.profile, signal), 'start')
      await honoursAbort(fixture, (signal) => fixture.driver.observe(signal), 'observe')
      await staysOff(fixture, 'an aborted start')
    },
  },
]

/** What every RAN driver must do. Each wrong driver beside the tests of this package fails at least one. */
export const RAN_CHECKS: readonly Check<RanFixture>[] = [...STARTING, ...STOPPING, ...LOOKING]

/** A RAN driver around a simulated or real radio that is off, with the TX gate closed. */
export interface RanFixture extends WorldFixture {
  readonly driver: RanDriver
  /** A profile that needs an armed gate. */
  readonly profile: RadioProfile
  /** Opens or closes the TX gate that the driver asks. */
  setArmed(isArmed: boolean): Promise<void>
  /** How long a start or a crash may take to show, ms. */
  readonly patienceMs?: number
  /** How many radios run, seen past the driver. */
  radios(): Promise<number>
  /** Ends the radio process past the driver, as a crash does; of a radio that runs by itself takes its power. */
  crash(): Promise<void>
  /** Of a radio that is no process of this machine: whether its switch is silent. The driver observes its power then. */
  silence?(isSilent: boolean): Promise<void>
}

/** Registers the tests that every RAN driver passes. `make` gives a fresh fixture for each test. */
export function ranDriverConformance(
  name: string,
  make: () => Promise<RanFixture>,
  options: BodyOptions = {},
): void {
  runChecks(`${name}: RAN driver conformance`, RAN_CHECKS, make, options)
}
