import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { PROFILES, settingsOf, type World, world } from '../support/world.ts'

const machine = suite('policy/gate-model')

/** What the gate must be, in a few booleans. */
interface Model {
  country: 'DE' | 'FR' | 'LAB'
  isAcknowledged: boolean
  isExpired: boolean
  /** Countries with an entry that covers the profile. */
  listed: readonly string[]
  /** Whether the profile stands in the file, and whether it was made beside it. */
  hasProfile: boolean
  isMade: boolean
  /** Country in which it is armed. */
  armedIn: string | undefined
}

const HOUR_MS = 3_600_000

function isGreen(model: Model): boolean {
  return (
    model.country !== 'LAB' &&
    model.isAcknowledged &&
    !model.isExpired &&
    model.listed.includes(model.country)
  )
}

function isKnown({ hasProfile, isMade }: Model): boolean {
  return hasProfile || isMade
}

function maySend(model: Model): boolean {
  return model.armedIn === model.country && isGreen(model) && isKnown(model)
}

function settingsFor(model: Model): ReturnType<typeof settingsOf> {
  return settingsOf(model.country, model.hasProfile ? PROFILES : {})
}

/** Each step acts on the gate and on the model and checks that both agree. */
type Step = (real: World, model: Model) => Promise<void>

const license =
  (acknowledged: boolean, expiresInMs: number | undefined): Step =>
  async (real, model) => {
    const expires_at =
      expiresInMs === undefined ? null : new Date(real.fake.clock.nowMs() + expiresInMs).toISOString()
    const answer = await real.call('PUT', '/v1/policy', {
      spectrum: { license: { acknowledged, expires_at } },
    })
    assert.is(answer.status, 200)
    model.isAcknowledged = acknowledged
    model.isExpired = expiresInMs !== undefined && expiresInMs <= 0
  }

const STEPS: Readonly<Record<string, Step>> = {
  arm: async (real, model) => {
    const answer = await real.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
    const couldArm = isGreen(model) && isKnown(model)
    const isFree = model.armedIn === undefined || model.armedIn === model.country
    assert.is(answer.status === 200, couldArm && isFree, JSON.stringify([answer, model]))
    if (!isGreen(model)) assert.is(answer.error, 'tx_gate_closed')
    else if (!isKnown(model)) assert.is(answer.error, 'validation_failed')
    if (answer.status === 200) {
      model.armedIn = model.country
      real.transmitter.isOnAir = true
    }
  },
  disarm: async (real, model) => {
    assert.is((await real.call('POST', '/v1/tx/disarm')).status, 200)
    model.armedIn = undefined
    assert.is(real.transmitter.isOnAir, false)
  },
  make: async (real, model) => {
    const answer = await real.call('PUT', '/v1/tx/profiles/b3-lab', PROFILES['b3-lab'])
    const isFree = !model.hasProfile && model.armedIn === undefined
    assert.is(answer.status === 200, isFree, JSON.stringify([answer, model]))
    model.isMade ||= isFree
  },
  unmake: async (real, model) => {
    const answer = await real.call('DELETE', '/v1/tx/profiles/b3-lab')
    const isFree = !model.hasProfile && model.isMade && model.armedIn === undefined
    assert.is(answer.status === 204, isFree, JSON.stringify([answer, model]))
    if (isFree) model.isMade = false
  },
  acknowledge: license(true, undefined),
  acknowledgeForAnHour: license(true, HOUR_MS),
  acknowledgeTooLate: license(true, -1),
  withdraw: license(false, undefined),
  reconcile: async (real, model) => {
    await real.reconcile()
    if (!maySend(model)) model.armedIn = undefined
    assert.is(real.transmitter.isOnAir, model.armedIn !== undefined)
  },
  pass2Hours: async (real, model) => {
    const { body } = await real.call('GET', '/v1/policy')
    await real.fake.clock.advance(2 * HOUR_MS)
    if (JSON.stringify(body).includes('"expires_at":"')) model.isExpired = true
  },
}
for (const listed of [[], ['DE'], ['FR'], ['DE', 'FR']]) {
  Object.assign(STEPS, {
    [`list ${listed.join('+')}`]: async (real: World, model: Model) => {
      const allow_list = listed.map((country) => ({ technology: 'lte', band: 'b3', country }))
      assert.is((await real.call('PUT', '/v1/policy', { spectrum: { allow_list } })).status, 200)
      model.listed = listed
    },
  })
}
for (const country of ['DE', 'FR', 'LAB'] as const) {
  Object.assign(STEPS, {
    [`move to ${country}`]: async (real: World, model: Model) => {
      model.country = country
      real.fake.changeSettings(settingsFor(model))
    },
  })
}
for (const hasProfile of [true, false]) {
  Object.assign(STEPS, {
    [hasProfile ? 'configure the profile' : 'remove the profile']: async (real: World, model: Model) => {
      model.hasProfile = hasProfile
      real.fake.changeSettings(settingsFor(model))
    },
  })
}

async function permits(real: World): Promise<boolean> {
  const gate = real.instance.services?.get('policy.tx_gate') as { permit(id: string): Promise<unknown> }
  try {
    await gate.permit('b3-lab')
    return true
  } catch {
    return false
  }
}

machine('never permits a start while a gate is red, and agrees with its model after any steps', async () => {
  const step = fc.constantFrom(...Object.keys(STEPS))
  const usual = ['acknowledge', 'list DE', 'arm', 'list DE+FR', 'reconcile', 'move to FR']
  const steps = fc.array(fc.oneof(step, fc.constantFrom(...usual)), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(steps, async (names) => {
      const model: Model = {
        country: 'DE',
        isAcknowledged: false,
        isExpired: false,
        listed: [],
        hasProfile: true,
        isMade: false,
        armedIn: undefined,
      }
      const real = await world(settingsFor(model))
      try {
        for (const name of names) {
          await STEPS[name]?.(real, model)
          assert.is(await permits(real), maySend(model), JSON.stringify([name, model]))
          const state = await real.call('GET', '/v1/tx/arm')
          assert.is(state.body.armed, model.armedIn !== undefined)
        }
        await STEPS.reconcile?.(real, model)
        assert.is((await real.call('GET', '/v1/tx/arm')).body.armed, maySend(model))
      } finally {
        await real.close()
      }
    }),
    { numRuns: 100 },
  )
})

machine.run()
