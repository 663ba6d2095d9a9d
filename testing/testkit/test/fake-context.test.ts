import { serviceRef, systemPrincipal } from '@steeple/contracts'
import { assert, defaultSettings, fakeContext, memoryDb, suite } from '../src/index.ts'

const contexts = suite('testkit/fake-context')
const greeter = serviceRef<{ greet(): string }>('test.greeter')

contexts('has the default settings, and others when they change', () => {
  const fake = fakeContext({ config: {}, settings: { plmn: { mcc: '001' } } })
  assert.equal(fake.context.settings.plmn, { mcc: '001', mnc: '99' })
  let told = 0
  fake.context.onSettings(() => {
    told += 1
  })
  fake.changeSettings({ tac: 9 })
  assert.equal([told, fake.context.settings.tac, fake.context.settings.plmn.mcc], [1, 9, '999'])
})

contexts('finds services by id as they come and go', () => {
  const fake = fakeContext({ config: {} })
  assert.is(fake.context.maybe(greeter), undefined)
  assert.throws(() => fake.context.use(greeter), /test\.greeter/)
  fake.services.set(greeter.id, { greet: () => 'hello' })
  assert.is(fake.context.use(greeter).greet(), 'hello')
})

contexts(
  'runs periodic tasks on its clock until it is disposed, then deferred steps newest first',
  async () => {
    const fake = fakeContext({ config: {} })
    const seen: string[] = []
    fake.context.every(1_000, async () => void seen.push('tick'))
    fake.context.defer(() => void seen.push('first opened'))
    fake.context.defer(async () => void seen.push('last opened'))
    await fake.clock.advance(2_500)
    await fake.dispose()
    await fake.clock.advance(2_500)
    assert.equal(seen, ['tick', 'tick', 'last opened', 'first opened'])
    assert.is(fake.context.retiring.aborted, true)
  },
)

contexts('records a mutation that went through and forgets one that threw', async () => {
  const db = memoryDb([{ id: '0001_thing', up: ['create table test_thing (name text primary key)'] }])
  const fake = fakeContext({ config: {}, db })
  await fake.context.mutate(systemPrincipal('test'), 'thing.add', '?', async (tx) => {
    await tx.run('insert into test_thing (name) values (:name)', { name: 'a' })
    tx.audit({ target: 'a', detail: { size: 1 } })
    tx.dirty('thing', 'a')
  })
  const failing = fake.context.mutate(systemPrincipal('test'), 'thing.add', '?', async (tx) => {
    await tx.run('insert into test_thing (name) values (:name)', { name: 'b' })
    throw new Error('no')
  })
  await failing.then(
    () => assert.unreachable(),
    () => undefined,
  )
  assert.equal(await db.all('select name from test_thing'), [{ name: 'a' }])
  assert.equal(
    fake.mutations.map(({ target, detail, dirty }) => ({ target, detail, dirty })),
    [{ target: 'a', detail: { size: 1 }, dirty: [{ resource: 'thing', key: 'a' }] }],
  )
  assert.equal(fake.enqueued, [{ resource: 'thing', key: 'a' }])
  db.close()
})

contexts('says how to give a store when it has none', async () => {
  const fake = fakeContext({ config: {} })
  await fake.context.db.get('select 1').then(
    () => assert.unreachable(),
    (error: unknown) => assert.match(String(error), /memoryDb\(migrations\)/),
  )
})

contexts('keeps metric values by label and refuses a label that was not declared', () => {
  const { context, metrics } = fakeContext({ config: {} })
  const counter = context.metrics.counter('svc_test_total', 'things', ['state'])
  counter.inc({ state: 'ok' })
  counter.inc({ state: 'ok' }, 2)
  assert.is(metrics.value('svc_test_total', { state: 'ok' }), 3)
  assert.throws(() => counter.inc({ imsi: '1' }), /no label imsi/)
})

contexts('fills every setting of the schema', () => {
  const settings = defaultSettings()
  assert.equal(
    [settings.server.listen, settings.auth.bootstrap_token_ttl, settings.core],
    [':8080', '5m', 'core_a'],
  )
})

contexts.run()
