import { type HssDriver, hssDriverRef, type Imsi, subscribersRef } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { assert, patient, suite } from '@steeple/testkit'
import { desiredOf } from './support/desired.ts'
import { type Phone, phone } from './support/phones.ts'
import { recording } from './support/recordings.ts'
import { type World, world } from './support/world.ts'

const sessions = suite('driver-core-a/sessions')
/** A phone whose SIM is somebody else's: nobody issued or imported it here. */
const STRANGER = 77
const SEAMS = { kickLimits: { overallMs: 3_000, graceMs: 50, pollMs: 10 } }

async function withWorld(
  generation: 'epc' | '5gc',
  body: (it: World) => Promise<void>,
  mend = true,
): Promise<void> {
  const it = await world(generation, {}, { ...SEAMS, mayMend: mend })
  it.fake.services.set(subscribersRef.id, {
    find: async (hash: string) => (hash === imsiHash(phone(STRANGER).imsi) ? undefined : { state: 'in-use' }),
  })
  try {
    // Nobody restarts the daemons of a core that this service has not set up.
    const { driver } = it.a
    await driver.apply(await driver.render(desiredOf(it.fake.context.settings)), patient())
    it.engine.restarted.length = 0
    await body(it)
  } finally {
    await it.close()
  }
}

/** A look of the mender, some seconds after the last one. */
async function look(it: World): Promise<string> {
  await it.fake.clock.advance(4_000)
  await it.a.sessions.look(patient())
  const { status, detail } = it.a.sessions.health()
  return `${status}: ${detail}`
}

/** An HSS that is asked to cancel; what then becomes of the phones is told by `work`. */
function hssOf({ fake, core }: World, work: (one: Phone) => void): Imsi[] {
  const asked: Imsi[] = []
  const cancelLocation: NonNullable<HssDriver['cancelLocation']> = async (imsis) => {
    asked.push(...imsis)
    for (const one of core.phones.filter(({ imsi }) => imsis.includes(imsi))) work(one)
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  fake.services.set(hssDriverRef.id, { cancelLocation })
  return asked
}

sessions('has phones come back whose session the SMF has lost, and none that has one', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(1), phone(2), phone(3))
    const asked = hssOf(it, (one) => {
      one.state = 'deregistered'
    })
    assert.match(await look(it), /^ok/)
    for (const one of it.core.phones.slice(0, 2)) one.hasSession = false
    assert.match(await look(it), /^ok/, 'one that is just coming or going shows once')
    assert.match(await look(it), /^degraded: 2 attached phones have no session at the SMF/)
    assert.equal(asked.toSorted(), [phone(1).imsi, phone(2).imsi])
    assert.match(await look(it), /^ok/)
    assert.equal(
      it.core.phones.map(({ state }) => state),
      ['deregistered', 'deregistered', 'registered'],
    )
    assert.equal(it.engine.restarted, [])
  }),
)

sessions('tells phones of NR to register again, not that their subscription is gone', () =>
  withWorld('5gc', async (it) => {
    const one = phone(1, 'nr')
    it.core.phones.push(one)
    one.hasSession = false
    await look(it)
    await look(it)
    const asked = it.bus.told.filter(({ path }) => path.includes('/dereg-notify'))
    assert.is(asked.length, 1)
    assert.is(JSON.parse(asked[0]?.body ?? '{}').deregReason, 'REREGISTRATION_REQUIRED')
  }),
)

sessions('restarts the MME once when recalls do not help, and who keeps its sessions', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(1))
    const asked = hssOf(it, () => undefined)
    await look(it)
    for (const one of it.core.phones) one.hasSession = false
    for (let turn = 0; turn < 6; turn += 1) await look(it)
    assert.is(asked.length, 3)
    // The HSS as well: none of what it was asked for has shown.
    assert.equal(it.engine.restarted, ['core-hss', 'core-mme', 'core-sgwc', 'core-smf'])
    const recorded = it.fake.mutations.filter(({ action }) => action === 'core.recall')
    assert.equal(
      recorded.map(({ detail }) => detail.sims),
      [1, 2, 3].map(() => [imsiHash(phone(1).imsi)]),
    )
  }),
)

sessions('does not go on for ever where nothing helps, and begins anew for another fault', () =>
  withWorld('epc', async (it) => {
    const one = phone(1)
    it.core.phones.push(one)
    const asked = hssOf(it, () => undefined)
    one.hasSession = false
    for (let turn = 0; turn < 170; turn += 1) await look(it)
    assert.is(asked.length, 3)
    const times = (name: string): number => it.engine.restarted.filter((one) => one === name).length
    assert.equal([times('core-mme'), times('core-hss')], [2, 1])
    assert.match(await look(it), /1 attached phone has no session.*did not help: switch them off and on/)
    one.hasSession = true
    assert.match(await look(it), /^ok/)
    one.hasSession = false
    for (let turn = 0; turn < 3; turn += 1) await look(it)
    assert.ok(asked.length > 3)
  }),
)

sessions('leaves phones of SIMs alone that are not of this service', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(STRANGER))
    const asked = hssOf(it, () => undefined)
    for (const one of it.core.phones) one.hasSession = false
    for (let turn = 0; turn < 20; turn += 1) await look(it)
    assert.match(await look(it), /^degraded: 1 attached phone.*1 of them is not of SIMs of this service/)
    assert.equal([asked, it.engine.restarted, it.fake.mutations.length], [[], [], 0])
  }),
)

sessions('changes nothing at all under southbound.driver none', () =>
  withWorld('epc', async (it) => {
    it.fake.changeSettings({ ...it.fake.context.settings, southbound: { driver: 'none' } })
    it.core.phones.push(phone(1), phone(STRANGER))
    const asked = hssOf(it, () => undefined)
    for (const one of it.core.phones) one.hasSession = false
    for (let turn = 0; turn < 20; turn += 1) await look(it)
    assert.match(await look(it), /^degraded: 2 attached phones.*southbound\.driver is none: nothing is done/)
    assert.equal([asked, it.engine.restarted], [[], []])
    assert.match(it.a.deaf.health().detail, /^whether cancels .* is not known yet/)
  }),
)

sessions('restarts an SMF whose sessions the UPF has forgotten', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(1))
    const forgotten = recording('upf-metrics.one-ue-attached.txt').replace(
      /^(fivegs_upffunction_upf_sessionnbr) .*$/m,
      '$1 0',
    )
    it.core.fault = (daemon, path) =>
      daemon === 'upf' && path === '/metrics' ? { body: forgotten } : undefined
    await look(it)
    assert.match(await look(it), /the UPF has none of the sessions of the SMF/)
    assert.equal(it.engine.restarted, ['core-smf'])
  }),
)

sessions('says what it sees and does nothing where mending is off, and says nothing it does not know', () =>
  withWorld(
    'epc',
    async (it) => {
      it.core.phones.push(phone(1))
      const asked = hssOf(it, () => undefined)
      for (const one of it.core.phones) one.hasSession = false
      await look(it)
      assert.match(await look(it), /^degraded: 1 attached phone.*core_a\.mend is off/)
      assert.equal([asked, it.engine.restarted], [[], []])
      await it.core.stop('smf')
      await look(it)
      assert.equal([asked, it.engine.restarted], [[], []])
    },
    false,
  ),
)

sessions('restarts an HSS that does not act on cancels, once, and says so until one is heard', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(1), phone(2))
    const health = (): string => it.a.deaf.health().detail
    let isDeaf = true
    hssOf(it, (one) => {
      if (!isDeaf) one.state = 'cut'
    })
    assert.is(await it.a.driver.kick(phone(1).imsi, patient()), 'pending')
    assert.equal(it.engine.restarted, [])
    for (let turn = 0; turn < 3; turn += 1) await it.a.driver.kick(phone(1).imsi, patient())
    assert.equal(it.engine.restarted, ['core-hss'])
    assert.match(health(), /did not act on 4 cancels in a row.*it was restarted/)
    isDeaf = false
    for (const one of it.core.phones) one.hasSession = false
    await it.a.driver.kick(phone(2).imsi, patient())
    assert.match(health(), /reach the phones/)
  }),
)

sessions.run()
