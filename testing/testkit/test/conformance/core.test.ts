import { type CoreDriver, validationFailed } from '@steeple/contracts'
import { CORE_CHECKS } from '../../src/conformance/core-checks.ts'
import { CORE_MUTANTS } from '../../src/conformance/core-mutants.ts'
import { wrongDriver } from '../../src/conformance/mutants.ts'
import { coreDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { type MemoryCore, memoryCoreFixture, memoryDriver, NOTHING_DONE } from './support/memory-core.ts'

type WrongCore = (core: MemoryCore) => CoreDriver

function wrong(change: (right: CoreDriver, core: MemoryCore) => Partial<CoreDriver>): WrongCore {
  return (core) => {
    const right = memoryDriver(core)
    return { ...right, ...change(right, core) }
  }
}

/** What no mutant can do: it reaches past the right driver into the core. */
const PAST_THE_DRIVER: Readonly<Record<string, WrongCore>> = {
  'restarts at each apply': wrong((right, core) => ({
    apply: async (config, signal) => {
      const done = await right.apply(config, signal)
      core.restarts += 1
      return done
    },
  })),
  'restarts when it looks': wrong((right, core) => ({
    observe: async (signal) => {
      core.restarts += 1
      return await right.observe(signal)
    },
  })),
  'leaves the refused files and shows the hash before': wrong((right, core) => {
    let good: string | undefined
    return {
      apply: async (config, signal) => {
        signal.throwIfAborted()
        if (core.files.get('core.json') === config.files.get('core.json')) return NOTHING_DONE
        core.files = new Map(config.files)
        core.restarts += 1
        if (core.isBroken) throw new Error('refused')
        good = config.sha256
        return NOTHING_DONE
      },
      observe: async (signal) => ({ ...(await right.observe(signal)), configSha256: good }),
    }
  }),
}

const mutants = CORE_MUTANTS.map((mutant): readonly [string, WrongCore] => [
  mutant.what,
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
  { ...PAST_THE_DRIVER, ...Object.fromEntries(mutants) },
  memoryCoreFixture,
)
