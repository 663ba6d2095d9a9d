import type { Settings } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { looksOf, runnersOf } from '../../src/core-parts.ts'

const runners = suite('southbound/engine/runners')

type Driver = Settings['southbound']['driver']

function settings(
  driver: Driver,
  containers: Readonly<Record<string, string>>,
  units: Readonly<Record<string, string>>,
): Settings {
  const core = { containers, units }
  return { southbound: { driver }, core_a: core, core_b: core } as unknown as Settings
}

const CONTAINERS = { mme: 'mme-1' }
const UNITS = { smf: 'open5gs-smfd.service' }

runners('a core runs in what its driver names; a core that is only looked at in what is named', () => {
  const cases: readonly (readonly [Driver, object, object, object])[] = [
    ['container', CONTAINERS, UNITS, CONTAINERS],
    ['systemd', CONTAINERS, UNITS, UNITS],
    ['systemd', CONTAINERS, {}, {}],
    ['container', {}, UNITS, {}],
    ['none', CONTAINERS, UNITS, CONTAINERS],
    ['none', {}, UNITS, UNITS],
  ]
  for (const [driver, containers, units, expected] of cases)
    assert.equal(
      runnersOf({ driver }, { containers: { ...containers }, units: { ...units } }),
      expected,
      driver,
    )
})

runners('the doctor looks for containers or units, each by the key that names it', () => {
  assert.equal(looksOf(settings('none', CONTAINERS, UNITS), 'core_a'), [])
  assert.equal(looksOf(settings('systemd', CONTAINERS, UNITS), 'core_b'), [
    { name: 'smf', unit: 'open5gs-smfd.service', key: 'core_b.units.smf (or southbound.driver)' },
  ])
  assert.equal(looksOf(settings('container', CONTAINERS, UNITS), 'core_a'), [
    { name: 'mme', container: 'mme-1', key: 'core_a.containers.mme (or southbound.driver)' },
  ])
})

runners.run()
