import { isServiceError, type RadioProfile, type RanDriver } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { eventually } from '../eventually.ts'
import {
  changesNothing,
  fixtureSuite,
  honoursAbort,
  isCount,
  patient,
  rejection,
  type WorldFixture,
} from './common.ts'

/** A RAN driver around a simulated or real radio that is off, with the TX gate closed. */
export interface RanFixture extends WorldFixture {
  readonly driver: RanDriver
  /** A profile that needs an armed gate. */
  readonly profile: RadioProfile
  /** Opens or closes the TX gate that the driver asks. */
  setArmed(isArmed: boolean): Promise<void>
  /** Whether the radio process runs, seen past the driver. */
  isOnAir(): Promise<boolean>
}

/** Registers the tests that every RAN driver passes. `make` gives a fresh fixture for each test. */
export function ranDriverConformance(name: string, make: () => Promise<RanFixture>): void {
  const ran = fixtureSuite(`${name}: RAN driver conformance`, make)
  const onAir = async (fixture: RanFixture): Promise<void> => {
    await fixture.setArmed(true)
    await fixture.driver.start(fixture.profile, patient())
    await eventually(() => fixture.isOnAir())
  }

  ran('refuses to start while the TX gate is closed, and stays off the air', async (fixture) => {
    const error = await rejection(
      () => fixture.driver.start(fixture.profile, patient()),
      'start must reject while the gate is closed',
    )
    assert.ok(isServiceError(error), 'the refusal must carry a code of the catalogue')
    assert.is(error.code, 'tx_not_armed')
    assert.is(await fixture.isOnAir(), false)
  })

  ran('starts the radio when the gate is open and observes its process', async (fixture) => {
    await onAir(fixture)
    const seen = await fixture.driver.observe(patient())
    assert.ok(isCount(seen.pid), 'a running radio has a process id')
    assert.ok(isCount(seen.attachedUes), 'attachedUes must be a count')
    assert.ok(['lte', 'nr', 'none'].includes(seen.mode))
  })

  ran('observes without changing anything', async (fixture) => {
    await changesNothing(fixture, () => fixture.driver.observe(patient()))
    await onAir(fixture)
    await changesNothing(fixture, () => fixture.driver.observe(patient()))
  })

  ran('is off the air when stop resolves', async (fixture) => {
    await onAir(fixture)
    await fixture.driver.stop(patient())
    assert.is(await fixture.isOnAir(), false)
    assert.is((await fixture.driver.observe(patient())).pid, undefined)
  })

  ran('stops twice, and when it never ran', async (fixture) => {
    await fixture.driver.stop(patient())
    await onAir(fixture)
    await fixture.driver.stop(patient())
    await fixture.driver.stop(patient())
    assert.is(await fixture.isOnAir(), false)
  })

  ran('starts again after a stop', async (fixture) => {
    await onAir(fixture)
    await fixture.driver.stop(patient())
    await onAir(fixture)
    assert.is(await fixture.isOnAir(), true)
  })

  ran('honours an aborted signal', async (fixture) => {
    await fixture.setArmed(true)
    await honoursAbort(fixture, (signal) => fixture.driver.start(fixture.profile, signal), 'start')
    await honoursAbort(fixture, (signal) => fixture.driver.observe(signal), 'observe')
    assert.is(await fixture.isOnAir(), false)
  })

  ran.run()
}
