import { assert, failureOf, suite } from '@steeple/testkit'
import { attach, imsiOf, patient, refOf } from './support/clients.ts'
import { makeWorld, type World } from './support/world.ts'

const oam = suite('driver-core-b/what others may ask')

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  await using world = await makeWorld()
  await work(world)
}

const LIST = '/namf-oam/v1/registered-ue-context'
const lists = ({ core }: World): number =>
  core.asked.amf.filter(({ path, authorization }) => path === LIST && authorization !== undefined).length

oam('gives one list to all who ask: the driver, its collector, and who comes soon after', () =>
  inWorld(async (world) => {
    const { b, core, fake } = world
    attach(core, imsiOf(1), 1)
    const [ues, listed] = await Promise.all([b.driver.ues(patient()), b.oam.registrations(0, patient())])
    assert.equal([ues.length, listed.registrations.length, listed.registrations[0]?.plmn], [1, 1, '999-70'])
    assert.is(lists(world), 1)
    attach(core, imsiOf(2), 2)
    await fake.clock.advance(4_000)
    assert.is((await b.oam.registrations(5_000, patient())).registrations.length, 1)
    assert.is((await b.oam.registrations(3_000, patient())).registrations.length, 2)
    assert.is(lists(world), 2)
    // The driver's own question is never answered with what was.
    await b.driver.ues(patient())
    assert.is(lists(world), 3)
  }),
)

oam('gives a list to who waits although another has stopped waiting', () =>
  inWorld(async ({ b, core }) => {
    attach(core, imsiOf(1), 1)
    const impatient = new AbortController()
    const first = b.oam.registrations(0, impatient.signal).then(
      () => 'given',
      () => 'given up',
    )
    const second = b.oam.registrations(0, patient())
    impatient.abort()
    assert.equal([await first, (await second).registrations.length], ['given up', 1])
  }),
)

oam('tells the address of a session, that it has none yet, and that there is no such session', () =>
  inWorld(async ({ b, core }) => {
    attach(core, imsiOf(1), 1)
    assert.equal(await b.oam.session(refOf(1), patient()), { address: '10.60.0.1' })
    assert.is(await b.oam.session(refOf(2), patient()), undefined)
    core.behaviour.instead.set('smf', () => ({ status: 200, body: '{"PDUAddress":"<nil>"}' }))
    assert.equal(await b.oam.session(refOf(1), patient()), { address: undefined })
  }),
)

oam('fails for answers of an SMF that make no sense, and repeats nothing of them', () =>
  inWorld(async ({ b, core }) => {
    for (const answer of [
      { status: 200, body: 'null' },
      { status: 200, body: '{"Supi":"imsi-999700000000001"}' },
      { status: 500, body: '{"cause":"SYSTEM_FAILURE","detail":"imsi-999700000000001"}' },
      { status: 401, body: '{"error":"verify OAuth parse: imsi-999700000000001"}' },
    ]) {
      core.behaviour.instead.set('smf', () => answer)
      const error = await failureOf(b.oam.session(refOf(1), patient()))
      assert.is(error.code, 'southbound_unavailable')
      assert.not.match(error.message, /99970/)
    }
  }),
)

oam.run()
