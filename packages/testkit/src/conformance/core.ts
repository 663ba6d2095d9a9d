import type { CoreDesired, CoreDriver, Imsi } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import type { BodyOptions } from '../suite.ts'
import {
  changesNothing,
  fixtureSuite,
  honoursAbort,
  isCount,
  patient,
  rejection,
  type WorldFixture,
} from './common.ts'

/** A core driver around a simulated or real core on which neither of the two settings was applied yet. */
export interface CoreFixture extends WorldFixture {
  readonly driver: CoreDriver
  /** Two settings that the core supports and that render differently. */
  readonly desired: CoreDesired
  readonly otherDesired: CoreDesired
  /** A subscriber that is not attached. */
  readonly stranger: Imsi
  /** Makes the next `apply` fail after it has begun. */
  failNextApply(): Promise<void>
}

const SHA256_HEX = /^[0-9a-f]{64}$/

/**
 * Registers the tests that every core driver passes. `make` gives a fresh fixture for each test. `options` are for cores
 * whose daemons really restart.
 */
export function coreDriverConformance(
  name: string,
  make: () => Promise<CoreFixture>,
  options: BodyOptions = {},
): void {
  const core = fixtureSuite(`${name}: core driver conformance`, make, options)

  core('renders the same bytes from the same input, and changes nothing', async (fixture) => {
    await changesNothing(fixture, async () => {
      const first = await fixture.driver.render(fixture.desired)
      const second = await fixture.driver.render(structuredClone(fixture.desired))
      assert.equal([...second.files], [...first.files])
      assert.is(second.sha256, first.sha256)
    })
  })

  core('renders other bytes and another hash from other input', async ({ driver, desired, otherDesired }) => {
    const first = await driver.render(desired)
    const other = await driver.render(otherDesired)
    assert.is.not(other.sha256, first.sha256)
    assert.not.equal([...other.files], [...first.files])
  })

  core('renders files at relative paths and hashes them with SHA-256', async ({ driver, desired }) => {
    const { files, sha256 } = await driver.render(desired)
    assert.match(sha256, SHA256_HEX)
    assert.ok(files.size > 0, 'there must be a file')
    for (const path of files.keys()) {
      assert.not.match(path, /^\/|\\|(^|\/)\.\.?(\/|$)/, `${path} must be relative and without dots`)
    }
  })

  core('observes without changing anything', async (fixture) => {
    await fixture.driver.apply(await fixture.driver.render(fixture.desired), patient())
    await changesNothing(fixture, async () => {
      const seen = await fixture.driver.observe(patient())
      for (const [what, count] of Object.entries({ radios: seen.radios, attachedUes: seen.attachedUes })) {
        assert.ok(
          count === undefined || isCount(count),
          `${what} must be a count, or undefined when not known`,
        )
      }
      assert.ok([...seen.services.values()].every((state) => ['up', 'down', 'unknown'].includes(state)))
    })
  })

  core('observes the hash of what it applied', async ({ driver, desired, otherDesired }) => {
    for (const wanted of [desired, otherDesired]) {
      const rendered = await driver.render(wanted)
      await driver.apply(rendered, patient())
      assert.is((await driver.observe(patient())).configSha256, rendered.sha256)
    }
  })

  core('applies the same configuration twice without a second effect', async (fixture) => {
    const rendered = await fixture.driver.render(fixture.desired)
    await fixture.driver.apply(rendered, patient())
    await changesNothing(fixture, () => fixture.driver.apply(rendered, patient()))
  })

  core('leaves the last good configuration when applying fails', async (fixture) => {
    const { driver } = fixture
    const good = await driver.render(fixture.desired)
    await driver.apply(good, patient())
    await fixture.failNextApply()
    const other = await driver.render(fixture.otherDesired)
    await rejection(() => driver.apply(other, patient()), 'apply must reject when the core refuses')
    assert.is((await driver.observe(patient())).configSha256, good.sha256)
  })

  core('says that an unattached subscriber is not attached', async ({ driver, stranger }) => {
    assert.is(await driver.kick(stranger, patient()), 'not_attached')
  })

  core('lists the phones it knows, the stranger not among them, and changes nothing', async (fixture) => {
    await changesNothing(fixture, async () => {
      const ues = await fixture.driver.ues(patient())
      assert.not.ok(ues.some(({ imsi, isRegistered }) => isRegistered && imsi === fixture.stranger))
    })
  })

  core('honours an aborted signal', async (fixture) => {
    const rendered = await fixture.driver.render(fixture.desired)
    await honoursAbort(fixture, (signal) => fixture.driver.observe(signal), 'observe')
    await honoursAbort(fixture, (signal) => fixture.driver.ues(signal), 'ues')
    await honoursAbort(fixture, (signal) => fixture.driver.apply(rendered, signal), 'apply')
    await honoursAbort(fixture, (signal) => fixture.driver.kick(fixture.stranger, signal), 'kick')
  })

  core.run()
}
