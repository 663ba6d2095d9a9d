import { type HssDriver, hssDriverRef, type Imsi, southboundUnavailable } from '@steeple/contracts'
import { assert, failureOf, patient, suite } from '@steeple/testkit'
import type { KickLimits } from '../src/kick/kick.ts'
import { type Phone, phone } from './support/phones.ts'
import { type World, world } from './support/world.ts'

const kick = suite('driver-core-a/kick')
const LIMITS: KickLimits = { overallMs: 1_500, graceMs: 400, pollMs: 10 }
/** For what comes true: a busy machine only takes longer. */
const UNHURRIED: KickLimits = { ...LIMITS, overallMs: 25_000 }
/** The same for what a block alone does: the HSS is not asked meanwhile. */
const PATIENT: KickLimits = { ...UNHURRIED, graceMs: 20_000 }
/** Cancelled after the first look, so that the number of looks does not grow with the time that a machine takes. */
const AT_ONCE: KickLimits = { ...UNHURRIED, graceMs: 0 }

async function withWorld(
  generation: 'epc' | '5gc',
  body: (it: World) => Promise<void>,
  kickLimits = UNHURRIED,
): Promise<void> {
  await using it = await world(generation, {}, { kickLimits })
  await body(it)
}

/** An HSS that disconnects whom it is asked to. */
function hssOf({ fake, core }: World, isWorking = true): readonly (readonly Imsi[])[] {
  const calls: (readonly Imsi[])[] = []
  const cancelLocation: NonNullable<HssDriver['cancelLocation']> = async (imsis) => {
    calls.push(imsis)
    if (isWorking) for (const one of core.phones.filter(({ imsi }) => imsis.includes(imsi))) cut(one)
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  fake.services.set(hssDriverRef.id, { cancelLocation })
  return calls
}

function cut(one: Phone): void {
  one.state = one.technology === 'lte' ? 'cut' : 'deregistered'
  one.hasSession = false
}

kick('says yes once a block alone has cut the phone, and asks for nothing more', () =>
  withWorld(
    'epc',
    async (it) => {
      const one = phone(1)
      it.core.phones.push(one, phone(2))
      const calls = hssOf(it)
      it.core.afterPage = () => cut(one)
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'yes')
      assert.equal(calls, [])
      assert.is(it.core.phones[1]?.state, 'registered')
    },
    PATIENT,
  ),
)

kick('has the HSS cancel the location once when the block does not show, and says yes after it', () =>
  withWorld('epc', async (it) => {
    const one = phone(1)
    it.core.phones.push(one)
    const calls = hssOf(it)
    assert.is(await it.a.driver.kick(one.imsi, patient()), 'yes')
    assert.equal(calls, [[one.imsi]])
  }),
)

kick('says pending when nothing helps within its time, also without anybody who can cancel', () =>
  withWorld(
    'epc',
    async (it) => {
      const one = phone(1)
      it.core.phones.push(one)
      const calls = hssOf(it, false)
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'pending')
      assert.is(calls.length, 1)
      it.fake.services.delete(hssDriverRef.id)
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'pending')
    },
    LIMITS,
  ),
)

kick('waits for the session in the SMF to go, unless the SMF cannot be asked', () =>
  withWorld(
    'epc',
    async (it) => {
      const one = phone(1)
      it.core.phones.push(one)
      it.core.afterPage = () => {
        one.state = 'cut'
      }
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'pending')
      one.state = 'registered'
      await it.core.stop('smf')
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'yes')
    },
    { ...LIMITS, overallMs: 8_000 },
  ),
)

kick('tells a phone that was just cut from one that is long gone', () =>
  withWorld('epc', async (it) => {
    const [answered, silent, gone] = [phone(1), phone(2), phone(3)]
    cut(silent)
    gone.state = 'deregistered'
    it.core.phones.push(answered, silent, gone)
    assert.is(await it.a.driver.kick(silent.imsi, patient()), 'yes')
    assert.is(await it.a.driver.kick(gone.imsi, patient()), 'not_attached')
    // Seen on by somebody's look a moment ago.
    answered.state = 'deregistered'
    assert.is(await it.a.driver.kick(answered.imsi, patient()), 'yes')
  }),
)

kick('deregisters at the AMF with the recorded request, and looks whether it is gone', () =>
  withWorld('5gc', async (it) => {
    const one = phone(1, 'nr')
    it.core.phones.push(one)
    it.bus.answer = () => {
      cut(one)
      return 204
    }
    assert.is(await it.a.driver.kick(one.imsi, patient()), 'yes')
    assert.equal(it.bus.told, [
      {
        path: `/namf-callback/v1/imsi-${one.imsi}/dereg-notify`,
        body: '{"deregReason":"SUBSCRIPTION_WITHDRAWN","accessType":"3GPP_ACCESS"}',
        headers: ['content-type'],
      },
    ])
  }),
)

kick('takes an AMF that does not know the phone for no answer, and looks on', () =>
  withWorld(
    '5gc',
    async (it) => {
      const one = phone(1, 'nr')
      it.core.phones.push(one)
      it.bus.answer = () => 404
      assert.is(await it.a.driver.kick(one.imsi, patient()), 'pending')
      assert.is(it.bus.told.length, 1)
    },
    LIMITS,
  ),
)

kick('kicks a hundred at once with a handful of walks and of requests to the HSS', () =>
  withWorld(
    'epc',
    async (it) => {
      it.core.phones.push(...Array.from({ length: 150 }, (_, n) => phone(n)))
      const calls = hssOf(it)
      const targets = it.core.phones.slice(0, 100).map(({ imsi }) => imsi)
      const signal = AbortSignal.timeout(60_000)
      const results = await Promise.all(targets.map((imsi) => it.a.driver.kick(imsi, signal)))
      assert.ok(results.every((result) => result === 'yes'))
      assert.ok(calls.length <= 5, `${calls.length} requests`)
      assert.is(it.core.phones.filter(({ state }) => state === 'registered').length, 50)
      const pages = it.core.asked.filter(({ path }) => path.startsWith('/ue-info')).length
      // Each phone is looked for twice, and a list has two pages: 400 where each walks for itself.
      assert.ok(pages <= 100, `${pages} pages`)
    },
    AT_ONCE,
  ),
)

kick('throws southbound_unavailable when the core cannot be asked, without the IMSI in it', () =>
  withWorld('epc', async (it) => {
    const one = phone(1)
    it.core.phones.push(one)
    it.fake.services.set(hssDriverRef.id, {
      cancelLocation: async () => {
        throw southboundUnavailable('the database does not answer')
      },
    })
    const problems = [await failureOf(it.a.driver.kick(one.imsi, patient()))]
    await it.core.stop('mme')
    problems.push(await failureOf(it.a.driver.kick(one.imsi, patient())))
    for (const problem of problems) {
      assert.is(problem.code, 'southbound_unavailable')
      assert.not.match(JSON.stringify([problem, problem.message, problem.stack]), one.imsi)
    }
  }),
)

kick('keeps the IMSI out of what it says of an AMF that refuses, is silent or gone', () =>
  withWorld('5gc', async (it) => {
    const one = phone(1, 'nr')
    it.core.phones.push(one)
    it.bus.answer = () => 400
    const problems = [await failureOf(it.a.driver.kick(one.imsi, patient()))]
    await it.bus.close()
    problems.push(await failureOf(it.a.driver.kick(one.imsi, patient())))
    for (const problem of problems) {
      assert.is(problem.code, 'southbound_unavailable')
      const { cause } = problem as { cause?: Error }
      assert.not.match(JSON.stringify([problem, problem.message, problem.stack, cause?.message]), one.imsi)
    }
    assert.match(problems[0]?.message ?? '', 'amf did not take a deregistration: it answered 400')
    assert.match(problems[1]?.message ?? '', 'amf cannot be asked: ECONNREFUSED')
    assert.not.match(JSON.stringify(it.fake.logs), one.imsi)
  }),
)

kick.run()
