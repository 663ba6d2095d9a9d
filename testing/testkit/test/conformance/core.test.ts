import { type CoreDriver, validationFailed } from '@steeple/contracts'
import { CORE_CHECKS } from '../../src/conformance/core-checks.ts'
import { CORE_MUTANTS } from '../../src/conformance/core-mutants.ts'
import { wrongDriver } from '../../src/conformance/mutants.ts'
import { coreDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryCoreFixture, memoryDriver } from './support/memory-core.ts'
import { WRONG_CORES, type WrongCore } from './support/wrong-core.ts'

/** Those that an author has tried on his own driver, on the one in memory. */
const mutants = CORE_MUTANTS.map((mutant): readonly [string, WrongCore] => [
  `${mutant.what} (mutant)`,
  (core) => wrongDriver(memoryDriver(core), mutant),
])

coreDriverConformance('a core in memory', () => memoryCoreFixture())
coreDriverConformance('a core whose driver knows its APNs', async () => {
  const fixture = await memoryCoreFixture()
  const known = [...fixture.desired.apns, ...fixture.otherDesired.apns, 'one.more']
  const render: CoreDriver['render'] = async (desired) => {
    const odd = desired.apns.find((apn) => !known.includes(apn))
    if (odd !== undefined) throw validationFailed(`there are no addresses for ${odd}`)
    return await fixture.driver.render(desired)
  }
  return { ...fixture, driver: { ...fixture.driver, render }, anotherApn: 'one.more' }
})
findsAll(
  'testkit/conformance/core',
  CORE_CHECKS,
  { ...WRONG_CORES, ...Object.fromEntries(mutants) },
  memoryCoreFixture,
)
