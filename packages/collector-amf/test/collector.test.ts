import type { Collection, Collector } from '@steeple/contracts'
import { free5gcOamRef } from '@steeple/southbound'
import { assert, type FakeContext, fakeContext, suite } from '@steeple/testkit'
import { amfCollector } from '../src/plugin.ts'
import { imsiOf, type ModelCore, modelCore } from './support/model-core.ts'

const sessions = suite('collector-amf/collector')

async function inWorld(
  work: (core: ModelCore, collector: Collector, fake: FakeContext<unknown>) => Promise<void>,
): Promise<void> {
  const fake = fakeContext<unknown>({ config: {}, settings: { core: 'core_b' } })
  const core = modelCore(() => fake.clock.nowMs())
  await fake.provide(free5gcOamRef, core)
  await work(core, amfCollector(fake.context), fake)
  await fake.dispose()
}

function poll(collector: Collector): Promise<Collection> {
  return collector.poll(undefined, new AbortController().signal)
}

const addressesOf = ({ sightings }: Collection): readonly (string | undefined)[] =>
  sightings.map(({ address }) => address)

sessions('sees what AMF and SMF know together', () =>
  inWorld(async (core, collector, fake) => {
    const { imsi, reference } = core.begin()
    const { sightings, isWhole } = await poll(collector)
    assert.ok(isWhole)
    assert.equal(sightings, [
      {
        imsi,
        apn: 'internet',
        plmn: '999-70',
        address: '10.60.0.1',
        prefix: undefined,
        technology: 'nr',
        cell: undefined,
        state: 'active',
        reference,
        startedAtMs: undefined,
        seenAtMs: fake.clock.nowMs(),
      },
    ])
  }),
)

sessions('takes nobody registered, and phones without a session, for no sessions', () =>
  inWorld(async (core, collector) => {
    assert.equal([(await poll(collector)).sightings, (await poll(collector)).isWhole], [[], true])
    core.phones.set(imsiOf(7), [{ isConnected: false, sessions: [] }])
    assert.equal((await poll(collector)).sightings, [])
  }),
)

sessions('gives a phone with two accesses both its sessions, and those of an idle one', () =>
  inWorld(async (core, collector) => {
    const one = { ref: 'urn:uuid:a', dnn: 'internet' }
    core.phones.set(imsiOf(1), [
      { isConnected: true, sessions: [one, { ref: '', dnn: 'ims' }] },
      { isConnected: false, sessions: [{ ref: 'urn:uuid:b', dnn: 'ims' }] },
    ])
    core.smf.set('urn:uuid:a', '10.60.0.1').set('urn:uuid:b', undefined)
    const { sightings } = await poll(collector)
    assert.equal(
      sightings.map(({ apn, address, state }) => [apn, address, state]),
      [
        ['internet', '10.60.0.1', 'active'],
        ['ims', undefined, 'idle'],
      ],
    )
    core.smf.set('urn:uuid:b', '10.60.0.9')
    assert.equal(addressesOf(await poll(collector)), ['10.60.0.1', '10.60.0.9'])
  }),
)

sessions('goes on without addresses while the SMF is away, says so, and sees what the AMF ends', () =>
  inWorld(async (core, collector) => {
    const [old, staying] = [core.begin(), core.begin()]
    await poll(collector)
    core.away.add('smf')
    core.end(old)
    const late = core.begin()
    const { sightings, isWhole } = await poll(collector)
    assert.not.ok(isWhole)
    assert.equal(
      new Map(sightings.map(({ imsi, address, state }) => [imsi, [address, state]])),
      new Map([
        [staying.imsi, [staying.address, 'active']],
        [late.imsi, [undefined, 'active']],
        [old.imsi, [old.address, 'ended']],
      ]),
    )
    const { status, detail } = collector.health?.() ?? {}
    assert.is(status, 'degraded')
    assert.match(detail ?? '', /without address: the SMF cannot be asked; see core_b.smf_oam_url/)
    core.away.delete('smf')
    const after = await poll(collector)
    assert.ok(after.isWhole)
    assert.equal(addressesOf(after), [staying.address, late.address])
    assert.is(collector.health?.().status, 'ok')
  }),
)

sessions('sees that an SMF which has restarted has lost all sessions', () =>
  inWorld(async (core, collector, fake) => {
    for (let index = 0; index < 1_000; index += 1) core.begin()
    assert.is((await poll(collector)).sightings.length, 1_000)
    core.smf.clear()
    const { sightings, isWhole } = await poll(collector)
    assert.equal([sightings, isWhole], [[], true])
    assert.is(fake.metrics.value('svc_collector_amf_mismatches'), 1_000)
    assert.match(collector.health?.().detail ?? '', /1000 that the AMF lists and the SMF does not have/)
  }),
)

sessions('asks the SMF once for each address, and few of them again', () =>
  inWorld(async (core, collector) => {
    for (let index = 0; index < 5_000; index += 1) core.begin()
    const first = await poll(collector)
    assert.is(core.questions, 3_000)
    assert.ok(first.isWhole)
    assert.is(first.sightings.length, 5_000)
    const second = await poll(collector)
    assert.ok(core.questions <= 5_200)
    assert.not.ok(addressesOf(second).includes(undefined))
    core.questions = 0
    await poll(collector)
    assert.is(core.questions, 200)
  }),
)

sessions('says who is missing when nobody tells of the core', () =>
  inWorld(async (_core, collector, fake) => {
    await fake.provide(free5gcOamRef, undefined)
    const code = await poll(collector).then(
      () => 'it did not fail',
      (error) => error.code,
    )
    assert.is(code, 'southbound_unavailable')
  }),
)

sessions.run()
