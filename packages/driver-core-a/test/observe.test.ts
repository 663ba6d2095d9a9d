import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { workJudged } from '@steeple/southbound'
import { assert, fakeContext, patient, suite } from '@steeple/testkit'
import { corePlaces } from '../src/core-places.ts'
import { daemonLook } from '../src/observe/daemon-states.ts'
import { DESIRED, desiredOf } from './support/desired.ts'
import { phone } from './support/phones.ts'
import { type World, world } from './support/world.ts'

const observe = suite('driver-core-a/observe')

async function withWorld(generation: 'epc' | '5gc', body: (it: World) => Promise<void>): Promise<void> {
  await using it = await world(generation)
  await body(it)
}

observe('sees daemons by their servers or containers, base stations and phones', () =>
  withWorld('epc', async (it) => {
    const gone = phone(3)
    gone.state = 'deregistered'
    it.core.phones.push(phone(1), phone(2), gone)
    const { services, radios, attachedUes, technology } = await it.a.driver.observe(patient())
    assert.equal(Object.fromEntries(services), {
      upf: 'up',
      sgwu: 'up',
      smf: 'up',
      sgwc: 'up',
      hss: 'up',
      pcrf: 'up',
      mme: 'up',
    })
    assert.is(radios, 1)
    assert.is(technology, 'lte')
    assert.is(attachedUes, 2)
    const ues = await it.a.driver.ues(patient())
    assert.equal(
      ues.map(({ imsi, isRegistered }) => [imsi, isRegistered]),
      it.core.phones.map(({ imsi, state }) => [imsi, state === 'registered']),
    )
  }),
)

observe('lists the base stations of one technology with where they come from, or throws', () =>
  withWorld('epc', async (it) => {
    const stations = () => it.a.driver.stations?.('lte', patient())
    assert.equal(await stations(), [{ id: 348004, address: '127.0.0.200' }])
    const nr = await it.a.driver.stations?.('nr', patient()).catch(({ code }) => code)
    assert.is(nr, 'southbound_unavailable', 'no AMF lists any')
    await it.core.stop('mme')
    assert.is(await stations()?.catch(({ code }) => code), 'southbound_unavailable')
  }),
)

observe('says that it does not know, not that there are none, when the core cannot be asked', () =>
  withWorld('epc', async (it) => {
    it.core.phones.push(phone(1))
    await it.core.stop('mme')
    const seen = await it.a.driver.observe(patient())
    assert.is(seen.services.get('mme'), 'down')
    assert.is(seen.radios, undefined)
    assert.is(seen.attachedUes, undefined)
  }),
)

observe(
  'counts nobody at a daemon that does not run, and does not guess at one that does and is silent',
  () =>
    withWorld('epc', async (it) => {
      const dropped = async () =>
        (await it.a.files.driver.plan(await it.a.files.driver.render(DESIRED), patient())).dropped
      assert.is(await dropped(), 0, 'the MME has no phones')
      await it.core.stop('mme')
      await it.fake.clock.advance(2_000)
      assert.is(await dropped(), undefined)
      it.engine.ended.set('core-mme', 'exited')
      assert.is(await dropped(), 0)
    }),
)

observe('says of a daemon that is started over and over how often, whether it answers just now or not', () =>
  withWorld('epc', async (it) => {
    const work = async () => workJudged(await it.a.driver.observe(patient()))[1]
    await work()
    for (const started of [2, 3, 4]) {
      it.engine.started.set('core-mme', started)
      await work()
    }
    assert.match(await work(), /^mme: it was restarted 3 times in 1 minute/)
    await it.core.stop('mme')
    it.engine.ended.set('core-mme', 'exited')
    it.engine.ended.set('core-sgwc', 'exited')
    assert.match(await work(), /sgwc: it does not answer; mme: it was restarted 3 times in 1 minute/)
  }),
)

observe('does not know the counts of a release that cannot be asked, whose daemons are up', () =>
  withWorld('epc', async (it) => {
    it.core.release = '2.7.6'
    const seen = await it.a.driver.observe(patient())
    assert.is(seen.services.get('mme'), 'up')
    assert.is(seen.radios, undefined)
    assert.is(seen.attachedUes, undefined)
  }),
)

for (const [generation, technology] of [
  ['epc', 'lte'],
  ['5gc', 'nr'],
] as const) {
  observe(`counts no base stations and phones of another network as its own, ${generation}`, () =>
    withWorld(generation, async (it) => {
      it.core.plmn = '00101'
      it.core.phones.push(phone(1, technology), phone(2, technology))
      const seen = await it.a.driver.observe(patient())
      assert.equal([seen.radios, seen.attachedUes, seen.technology], [0, 0, undefined])
      assert.equal(seen.otherNetworks, ['001-01'])
      assert.is(it.a.others(), '1 base station and 2 phones of another network (001-01)')
      // They can be listed and cut off all the same.
      assert.is((await it.a.driver.ues(patient())).length, 2)
      await it.fake.clock.advance(20_000)
      it.core.plmn = '99999'
      assert.is((await it.a.driver.observe(patient())).attachedUes, 2)
      assert.is(it.a.others(), undefined)
    }),
  )
}

observe('answers in time although a daemon hangs, with the count of a moment ago', () =>
  withWorld('5gc', async (it) => {
    it.core.phones.push(phone(1, 'nr'))
    assert.is((await it.a.driver.observe(patient())).attachedUes, 1)
    it.fake.clock.advance(2_000)
    it.core.fault = (_daemon, path) => (path.endsWith('-info') || path === '/' ? { how: 'hang' } : undefined)
    const startedMs = performance.now()
    const seen = await it.a.driver.observe(AbortSignal.timeout(60_000))
    assert.ok(performance.now() - startedMs < 20_000)
    assert.is(seen.services.get('amf'), 'down')
    assert.is(seen.attachedUes, 1)
  }),
)

observe(
  'looks at the containers of a core that it does not drive, and says unknown where none is named',
  async () => {
    const it = await world('epc', { southbound: { driver: 'none' } })
    it.engine.ended.set('core-sgwu', 'exited')
    const seen = await it.a.driver.observe(patient())
    const states = ['sgwc', 'sgwu', 'mme'].map((daemon) => seen.services.get(daemon))
    assert.equal(states, ['up', 'down', 'up'])
    await it.close()
    const unnamed = await world('epc', { southbound: { driver: 'none' }, core_a: {} })
    assert.is((await unnamed.a.driver.observe(patient())).services.get('sgwc'), 'unknown')
    await unnamed.close()
  },
)

observe(
  'takes a daemon that nobody named and that never answered for unknown, and for down once it did',
  async () => {
    const it = await world('epc', { southbound: { driver: 'none' }, core_a: {} })
    await it.core.stop('hss')
    const states = async () => Object.fromEntries((await it.a.driver.observe(patient())).services)
    assert.equal([(await states()).hss, (await states()).pcrf], ['unknown', 'up'])
    await it.core.stop('pcrf')
    await it.core.stop('mme')
    assert.equal([(await states()).pcrf, (await states()).mme], ['down', 'down'])
    await it.close()
  },
)

observe('takes a daemon whose container is gone for down, whoever answers at its address', () =>
  withWorld('epc', async (it) => {
    assert.is((await it.a.driver.observe(patient())).services.get('smf'), 'up')
    it.engine.ended.set('core-smf', 'gone').set('core-sgwc', 'gone')
    const { services } = await it.a.driver.observe(patient())
    assert.equal([services.get('smf'), services.get('sgwc'), services.get('mme')], ['down', 'down', 'up'])
  }),
)

observe('asks the core where it is after a refused change, not where it should have been', () =>
  withWorld('epc', async (it) => {
    const { a, fake, engine } = it
    const render = async () => await a.driver.render(desiredOf(fake.context.settings))
    await a.driver.apply(await render(), patient())
    assert.not.ok('upf' in a.places().addresses)
    const { settings } = fake.context
    const moved = { ...settings.core_a, addresses: { upf: '10.9.9.9' } }
    fake.changeSettings({ ...settings, core_a: moved })
    engine.failing.set('core-upf', 'ERROR: bind() [10.9.9.9]:8805 failed')
    const error = await a.driver.apply(await render(), patient()).then(
      () => undefined,
      (reason: Error & { code?: string }) => reason,
    )
    assert.is(error?.code, 'core_config_refused', error?.message)
    assert.match(error?.message ?? '', /10\.9\.9\.9/)
    await a.driver.observe(patient())
    it.asked.length = 0
    await a.driver.observe(patient())
    assert.ok(it.asked.length > 0)
    for (const addresses of it.asked) assert.not.ok('upf' in addresses, 'every look asks where the core is')
    assert.ok('upf' in fake.context.settings.core_a.addresses)
  }),
)

observe(
  'finds the SGW-U whose user plane listens where base stations reach it, apart from its PFCP',
  async () => {
    await using userPlane = createSocket('udp4')
    userPlane.on('message', (_request, { port, address }) =>
      userPlane.send(Buffer.from('3202000000000000', 'hex'), port, address),
    )
    userPlane.bind(2152, '127.0.7.77')
    await once(userPlane, 'listening')
    const { context } = fakeContext({ id: 'driver-core-a', config: {} })
    const { core_a } = context.settings
    const addresses = { sgwu: '127.0.7.76', s1u: '127.0.7.77' }
    const places = corePlaces({ ...context.settings, core_a: { ...core_a, addresses } })
    const look = daemonLook(async () => undefined, { isAlive: async () => false })
    assert.is(await look.one('sgwu', places, patient()), 'up')
  },
)

observe('asks by GTP with another sequence number each time', async () => {
  await using control = createSocket('udp4')
  const asked: string[] = []
  control.on('message', (request, { port, address }) => {
    asked.push(request.toString('hex'))
    control.send(Buffer.from('4002000900000100', 'hex'), port, address)
  })
  control.bind(2123, '127.0.7.78')
  await once(control, 'listening')
  const { context } = fakeContext({ id: 'driver-core-a', config: {} })
  const core_a = { ...context.settings.core_a, addresses: { sgwc: '127.0.7.78' } }
  const places = corePlaces({ ...context.settings, core_a })
  const look = daemonLook(async () => undefined, { isAlive: async () => false })
  for (let turn = 0; turn < 3; turn += 1) assert.is(await look.one('sgwc', places, patient()), 'up')
  const numbers = asked.map((text) => text.slice(8, 14))
  assert.is(new Set(numbers).size, 3, numbers.join())
  assert.equal(
    new Set(asked.map((text) => text.slice(0, 8) + text.slice(14))),
    new Set(['40010009000300010000']),
  )
})

observe.run()
