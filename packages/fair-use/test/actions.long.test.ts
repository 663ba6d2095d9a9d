import { healthBoardRef, type ImsiHash } from '@steeple/contracts'
import { assert, bodyOf, codeOf, eventually, pluginFrom, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { type World, world } from './support/world.ts'

const actions = suite('fair-use/actions')
const IMSI = '999990000000001' as never

/** Runs `body` in a world with one SIM on the network. */
function scene(sentence: string, fairuse: object, body: (all: World, hash: ImsiHash) => Promise<void>): void {
  actions(sentence, async () => {
    await using all = await world(fairuse)
    const ambr = { downlink_bps: 50_000_000, uplink_bps: 100_000 }
    const hash = await all.issue(IMSI, { ambr })
    all.network.attached.add(IMSI)
    await all.becomes(hash, 'in-use')
    await body(all, hash)
  })
}

const rates = (all: World): unknown => all.network.held.get(IMSI)?.ambrBps

scene(
  'lowers the rate and ends the session once, so that the phone comes back slower',
  {},
  async (all, hash) => {
    await all.quota(hash, { quota_bytes: 100, action: 'throttle', throttle_bps: 128_000 })
    await all.count(hash, 100)
    await eventually(() => assert.equal(rates(all), { up: 100_000, down: 128_000 }))
    await eventually(() => assert.not.ok(all.network.attached.has(IMSI)))
    await eventually(async () =>
      assert.equal((await all.usage(hash)).throttle, { bps: 128_000, state: 'in_force' }),
    )
    assert.equal([(await all.usage(hash)).enforcement, (await all.sim(hash)).state], ['throttled', 'in-use'])
    assert.is(all.network.held.get(IMSI)?.isBlocked, false)
    // Back on: it is not disconnected again, whatever it uses.
    all.network.attached.add(IMSI)
    await all.count(hash, 1_000)
    await all.bed.settled()
    assert.ok(all.network.attached.has(IMSI))
    await all.quota(hash, { add_bytes: 10_000 })
    await eventually(() => assert.equal(rates(all), { up: 100_000, down: 50_000_000 }))
    await eventually(async () => assert.is((await all.usage(hash)).throttle, null))
  },
)

scene(
  'leaves a running session alone where that is configured, and says that it keeps its rate',
  { throttle_reach: 'wait', throttle_bps: 64_000 },
  async (all, hash) => {
    await all.quota(hash, { quota_bytes: 100, action: 'throttle' })
    await all.count(hash, 100)
    await eventually(async () =>
      assert.equal((await all.usage(hash)).throttle, { bps: 64_000, state: 'next_session' }),
    )
    assert.ok(all.network.attached.has(IMSI))
    assert.equal(rates(all), { up: 64_000, down: 64_000 })
    all.network.attached.delete(IMSI)
    await eventually(async () =>
      assert.equal((await all.usage(hash)).throttle, { bps: 64_000, state: 'in_force' }),
    )
  },
)

scene(
  'only tells where suspending by itself is off, and the record says so',
  { enabled: false },
  async (all, hash) => {
    await all.quota(hash, { quota_bytes: 100 })
    assert.is((await all.usage(hash)).enforcement, 'alert_only', 'before it is used up')
    await all.count(hash, 150)
    await eventually(async () =>
      assert.ok((await all.bed.events()).some(({ type }) => type === 'quota.exceeded')),
    )
    assert.equal([(await all.usage(hash)).enforcement, (await all.sim(hash)).state], ['alert_only', 'in-use'])
  },
)

scene('tells of 80 % and 100 % once each, and again after a raise', {}, async (all, hash) => {
  const told = async (): Promise<readonly unknown[]> =>
    (await all.bed.events())
      .filter(({ type }) => type.startsWith('quota.'))
      .map(({ type, data }) => [type, data.percent, data.used_bytes, data.allowance_bytes])
  await all.quota(hash, { quota_bytes: 100, action: 'alert' })
  await all.count(hash, 79)
  await all.bed.settled()
  assert.equal(await told(), [])
  await all.count(hash, 1)
  const warning = ['quota.warning', 80, 80, 100]
  await eventually(async () => assert.equal(await told(), [warning]))
  await all.count(hash, 19)
  await all.count(hash, 1)
  const exceeded = ['quota.exceeded', 100, 100, 100]
  await eventually(async () => assert.equal(await told(), [warning, exceeded]))
  await all.count(hash, 900)
  await all.bed.settled()
  assert.equal(await told(), [warning, exceeded])
  await all.quota(hash, { quota_bytes: 2_000, action: 'alert' })
  await all.count(hash, 600)
  await eventually(async () => assert.equal((await told()).slice(2), [['quota.warning', 80, 1_600, 2_000]]))
  assert.is((await all.sim(hash)).state, 'in-use')
  const events = (await all.bed.events()).filter(({ type }) => type === 'quota.exceeded')
  assert.equal([events[0]?.subject, events[0]?.data.period], [hash, 'month'])
})

scene('says when usage is not known, and does not take it for none', {}, async (all, hash) => {
  const health = (): string | undefined =>
    all.bed
      .service(healthBoardRef)
      ?.components()
      .find(({ name }) => name.endsWith('quotas'))?.detail
  await all.quota(hash, { quota_bytes: 100 })
  await all.count(hash, 90)
  all.ledger.known = { atMs: Date.UTC(2026, 5, 15, 11), reason: 'gtpu was last counted an hour ago' }
  const record = await all.usage(hash)
  assert.equal(
    [record.known_until, record.unknown_reason, record.total_bytes, record.remaining_bytes],
    ['2026-06-15T11:00:00.000Z', 'gtpu was last counted an hour ago', 90, 10],
  )
  await eventually(() => assert.match(health() ?? '', /known up to 2026-06-15T11:00.* gtpu was last counted/))
  const metrics = async (): Promise<string> => String((await all.bed.request('GET', '/metrics')).body)
  await eventually(async () => {
    const seconds = Number(/^svc_fair_use_unknown_seconds (\S+)$/m.exec(await metrics())?.[1])
    assert.ok(seconds >= 3_600 && seconds < 7_200, `${seconds}`)
  })
  assert.match(await metrics(), /^svc_fair_use_quotas\{action="suspend"\} 1$/m)
})

scene('makes up for what was used while it was away', {}, async (all, hash) => {
  await all.quota(hash, { quota_bytes: 100 })
  await all.count(hash, 50)
  await all.bed.unload('fair-use')
  assert.is(codeOf(await all.bed.request('GET', `/v1/sims/${hash}/usage`), 404), 'feature_not_installed')
  await all.count(hash, 60)
  const other = bodyOf<{ first: { imsi_sha256_12: ImsiHash } }>(
    await all.bed.request('POST', '/v1/sims', { body: { quota_bytes: 5 } }),
    201,
  ).first.imsi_sha256_12
  await all.count(other, 7)
  assert.is((await all.sim(hash)).state, 'in-use')
  await all.bed.load(await pluginFrom(import.meta.url, plugin))
  await all.becomes(hash, 'suspended', 'quota')
  await all.becomes(other, 'suspended', 'quota')
  assert.equal([(await all.usage(hash)).total_bytes, (await all.usage(other)).total_bytes], [110, 7])
})

scene('cuts off again whom an operator has let on while it was away', {}, async (all, hash) => {
  await all.quota(hash, { quota_bytes: 100 })
  await all.count(hash, 100)
  await all.becomes(hash, 'suspended', 'quota')
  await all.bed.unload('fair-use')
  assert.is((await all.bed.request('POST', `/v1/sims/${hash}/resume`)).status, 200)
  await all.becomes(hash, 'in-use')
  await all.bed.load(await pluginFrom(import.meta.url, plugin))
  await all.becomes(hash, 'suspended', 'quota')
})

scene('audits what it does under its own name, and what others did under theirs', {}, async (all, hash) => {
  await all.quota(hash, { quota_bytes: 100 })
  await all.count(hash, 100)
  await all.becomes(hash, 'suspended', 'quota')
  await all.quota(hash, { add_bytes: 100 })
  await all.becomes(hash, 'in-use')
  const entries = (await all.bed.audit())
    .filter(({ target, action }) => target === hash && action !== 'sim.attach' && action !== 'sim.issue')
    .map(({ action, principal, detail }) => [
      action,
      principal.kind,
      detail.reason ?? detail.add_bytes ?? null,
    ])
  assert.equal(entries.toReversed(), [
    ['sim.quota', 'admin-env', null],
    ['sim.suspend', 'system', 'quota'],
    ['sim.quota', 'admin-env', 100],
    ['sim.resume', 'system', 'quota'],
  ])
})

actions.run()
