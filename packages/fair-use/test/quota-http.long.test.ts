import { type AlertSource, clockJudgeRef, type ImsiHash, serviceRef } from '@steeple/contracts'
import { assert, bodyOf, codeOf, eventually, suite } from '@steeple/testkit'
import { type SimBody, type World, world } from './support/world.ts'

const quotas = suite('fair-use/quota-http')
let all: World
let last = 0
const issue = async (body: object = {}): Promise<readonly [hash: ImsiHash, imsi: never]> => {
  last += 1
  const imsi = `99999${String(last).padStart(10, '0')}`
  return [await all.issue(imsi, body), imsi as never]
}
quotas.before(async () => {
  all = await world()
})
quotas.after(() => all.close())

quotas('suspends a SIM at the exact byte of its allowance, and really cuts it off', async () => {
  const [hash, imsi] = await issue()
  all.network.attached.add(imsi)
  await all.becomes(hash, 'in-use')
  const set = await all.quota(hash, { quota_bytes: 1_000 })
  assert.equal(
    [set.quota_bytes, set.remaining_bytes, set.period, set.action, set.over_quota],
    [1_000, 1_000, 'month', 'suspend', false],
  )
  await all.count(hash, 500, 499)
  assert.equal([(await all.usage(hash)).remaining_bytes, (await all.usage(hash)).over_quota], [1, false])
  await all.bed.settled()
  assert.is((await all.sim(hash)).state, 'in-use')
  await all.count(hash, 1)
  await all.becomes(hash, 'suspended', 'quota')
  await eventually(() => assert.not.ok(all.network.attached.has(imsi)))
  assert.is(all.network.held.get(imsi)?.isBlocked, true)
  const used = await all.usage(hash)
  assert.equal(
    [used.total_bytes, used.remaining_bytes, used.over_quota, used.enforcement],
    [1_000, 0, true, 'suspended'],
  )
  assert.is((await all.sim(hash)).usage_bytes, 1_000)
})

quotas('lets it on again when the quota is raised, topped up or taken away', async () => {
  const [hash] = await issue({ quota_bytes: 100 })
  await all.count(hash, 100)
  await all.becomes(hash, 'suspended', 'quota')
  await all.quota(hash, { quota_bytes: 150 })
  await all.becomes(hash, 'issued')
  await all.count(hash, 60)
  await all.becomes(hash, 'suspended', 'quota')
  const topped = await all.quota(hash, { add_bytes: 50 })
  assert.equal([topped.quota_bytes, topped.added_bytes, topped.remaining_bytes], [150, 50, 40])
  await all.becomes(hash, 'issued')
  await all.count(hash, 50)
  await all.becomes(hash, 'suspended', 'quota')
  const none = await all.quota(hash, { quota_bytes: null })
  assert.equal([none.quota_bytes, none.remaining_bytes, none.total_bytes], [null, null, 210])
  assert.is(none.enforcement, 'none')
  await all.becomes(hash, 'issued')
})

quotas('gives the same figures in the list of SIMs and for one SIM', async () => {
  const [topped] = await issue({ quota_bytes: 300 })
  const [plain] = await issue()
  const figures = async (hash: ImsiHash) => {
    const { sims } = bodyOf<{ sims: readonly SimBody[] }>(await all.bed.request('GET', '/v1/sims'))
    const listed = sims.find(({ imsi_sha256_12: one }) => one === hash)
    const [one, usage] = [await all.sim(hash), await all.usage(hash)]
    assert.equal([one.usage_bytes, one.allowed_bytes], [listed?.usage_bytes, listed?.allowed_bytes])
    assert.is(one.usage_bytes, usage.total_bytes)
    const whole = usage.quota_bytes === null ? null : usage.quota_bytes + usage.added_bytes
    assert.is(one.allowed_bytes, whole)
    return [one.usage_bytes, one.allowed_bytes]
  }
  await all.count(topped, 200, 54)
  await all.count(plain, 70, 7)
  assert.equal(await figures(topped), [254, 300])
  await all.quota(topped, { add_bytes: 1_000 })
  assert.equal(await figures(topped), [254, 1_300])
  assert.equal(await figures(plain), [77, null])
})

quotas('tells the rate that a quota has of its own, so that a change of the rest keeps it', async () => {
  const [hash] = await issue()
  const rate = async () => (await all.usage(hash)).throttle_bps
  assert.is(await rate(), null)
  await all.quota(hash, { quota_bytes: 100, action: 'throttle', throttle_bps: 64_000 })
  assert.is(await rate(), 64_000)
  await all.quota(hash, { quota_bytes: 100, action: 'throttle' })
  assert.is(await rate(), null, 'fairuse.throttle_bps holds')
})

quotas('says at once that a rate is lifted with the quota', async () => {
  const [hash] = await issue({ ambr: { downlink_bps: 50_000_000, uplink_bps: 100_000 } })
  await all.quota(hash, { quota_bytes: 100, action: 'throttle', throttle_bps: 64_000 })
  await all.count(hash, 100)
  await eventually(async () => assert.is((await all.usage(hash)).enforcement, 'throttled'))
  const none = await all.quota(hash, { quota_bytes: null })
  assert.equal([none.enforcement, none.throttle], ['none', null])
})

quotas('counts up to the largest number that JSON carries exactly', async () => {
  const [hash] = await issue()
  const most = Number.MAX_SAFE_INTEGER
  await all.quota(hash, { quota_bytes: most })
  await all.count(hash, most, most)
  const { up_bytes, down_bytes, total_bytes } = await all.usage(hash)
  assert.equal([up_bytes, down_bytes, total_bytes], [most, most, most])
})

quotas("never lifts an operator's suspension", async () => {
  const [hash] = await issue({ quota_bytes: 10 })
  await all.count(hash, 10)
  await all.becomes(hash, 'suspended', 'quota')
  await all.bed.request('POST', `/v1/sims/${hash}/suspend`)
  await all.quota(hash, { quota_bytes: 1_000 })
  await all.bed.settled()
  assert.is((await all.sim(hash)).suspend_reason, 'operator')
  // Nor says that it has, or that it keeps off whom somebody else does.
  await all.count(hash, 1_000)
  await eventually(async () => {
    const told = (await all.bed.events()).filter(({ subject }) => subject === hash)
    assert.is(told.filter(({ type }) => type === 'quota.exceeded').length, 2)
  })
  await all.bed.settled()
  const done = (await all.bed.audit()).filter(
    ({ target, principal }) => target === hash && principal.kind === 'system',
  )
  assert.equal(
    done.map(({ action }) => action),
    ['sim.suspend'],
  )
  // It is the quota's turn when the operator lets it on.
  assert.is((await all.bed.request('POST', `/v1/sims/${hash}/resume`)).status, 200)
  await all.becomes(hash, 'suspended', 'quota')
  await all.quota(hash, { quota_bytes: 5_000 })
  await all.becomes(hash, 'issued')
})

quotas('keeps the quota of a SIM that it has suspended and that has expired since', async () => {
  const [hash] = await issue({ quota_bytes: 10, expires_in: '1h' })
  await all.count(hash, 10)
  await all.becomes(hash, 'suspended', 'quota')
  all.clock.jump(all.clock.nowMs() + 2 * 3_600_000)
  await all.bed.service(clockJudgeRef)?.confirm()
  await eventually(async () => {
    await all.clock.advance(2_500)
    assert.is((await all.sim(hash)).state, 'expired')
  })
  const none = await all.bed.request('POST', `/v1/sims/${hash}/quota`, { body: { quota_bytes: null } })
  assert.is(codeOf(none, 409), 'sim_state_conflict')
  assert.is((await all.usage(hash)).quota_bytes, 10)
})

quotas('needs an override to resume what is used up, and keeps to it for the period', async () => {
  const [hash] = await issue({ quota_bytes: 10 })
  await all.count(hash, 10)
  await all.becomes(hash, 'suspended', 'quota')
  const resume = `/v1/sims/${hash}/resume`
  assert.is(codeOf(await all.bed.request('POST', resume), 409), 'sim_state_conflict')
  assert.is((await all.bed.request('POST', resume, { body: { override: true } })).status, 200)
  await all.count(hash, 1_000)
  await all.bed.settled()
  await all.becomes(hash, 'issued')
  assert.equal([(await all.usage(hash)).overridden, (await all.usage(hash)).over_quota], [true, true])
})

quotas('counts what was used before there was a quota, in the period that it is for', async () => {
  const [hash] = await issue()
  await all.count(hash, 70, 0, Date.UTC(2026, 5, 2))
  await all.count(hash, 20, 0, Date.UTC(2026, 5, 15, 1))
  await all.count(hash, 900, 0, Date.UTC(2026, 4, 31))
  assert.is((await all.quota(hash, { quota_bytes: 1_000 })).total_bytes, 90)
  assert.is((await all.quota(hash, { quota_bytes: 1_000, period: 'day' })).total_bytes, 20)
  assert.is((await all.quota(hash, { quota_bytes: 1_000, period: 'week' })).total_bytes, 20)
  const none = await all.quota(hash, { quota_bytes: 1_000, period: 'none' })
  assert.equal([none.total_bytes, none.period_end], [0, null])
  await all.count(hash, 5)
  assert.is((await all.usage(hash)).total_bytes, 5)
})

quotas('says which SIMs are at an edge of their quota, and how much they have used', async () => {
  const [warned] = await issue({ quota_bytes: 1_000 })
  const [exceeded] = await issue()
  const [well] = await issue({ quota_bytes: 1_000 })
  await all.quota(exceeded, { quota_bytes: 1_000, action: 'alert' })
  await all.count(warned, 800)
  await all.count(exceeded, 1_500)
  await all.count(well, 799)
  const source = all.bed.service(serviceRef<AlertSource>('fair_use.edges'))
  await eventually(async () => {
    const [over80, over100] = [await source?.bad('sim_quota_80'), await source?.bad('sim_quota_100')]
    assert.equal([over80?.get(warned), over80?.get(exceeded)], [80, 150])
    assert.equal([over100?.get(warned), over100?.get(exceeded)], [undefined, 150])
    assert.not.ok(over80?.has(well))
  })
})

quotas('overwrites no quota that who sets one has not seen, and is not stale by what is used', async () => {
  const [hash] = await issue()
  const tagNow = async () =>
    (await all.bed.request('GET', `/v1/sims/${hash}/usage`)).headers.get('etag') ?? ''
  const set = (body: object, etag: string) =>
    all.bed.request('POST', `/v1/sims/${hash}/quota`, { body, headers: { 'if-match': etag } })
  const none = await tagNow()
  assert.is((await set({ quota_bytes: 1_000 }, none)).status, 200)
  assert.is(codeOf(await set({ quota_bytes: 5 }, none), 412), 'stale_change')
  assert.is((await all.usage(hash)).quota_bytes, 1_000)
  const tag = await tagNow()
  await all.count(hash, 10)
  assert.is((await set({ quota_bytes: 2_000, period: 'day' }, tag)).status, 200)
  const two = await Promise.all(
    [await tagNow()].flatMap((seen) => [set({ add_bytes: 7 }, seen), set({ add_bytes: 7 }, seen)]),
  )
  assert.equal(two.map(({ status }) => status).sort(), [200, 412])
  const { quota_bytes, added_bytes } = await all.usage(hash)
  assert.equal([quota_bytes, added_bytes], [2_000, 7])
  assert.is((await set({ quota_bytes: null }, '*')).status, 200)
  assert.is((await all.usage(hash)).quota_bytes, null)
})

quotas('refuses what makes no sense, and says what of it', async () => {
  const [hash] = await issue()
  const quota = (body: object, of: string = hash): ReturnType<World['bed']['request']> =>
    all.bed.request('POST', `/v1/sims/${of}/quota`, { body })
  assert.is(codeOf(await quota({ add_bytes: 5 }), 409), 'quota_not_set')
  assert.is(codeOf(await quota({ quota_bytes: 5 }, '000000000000'), 404), 'sim_not_found')
  assert.is(codeOf(await quota({ add_bytes: 5 }, '000000000000'), 404), 'sim_not_found')
  for (const body of [
    {},
    { quota_bytes: -1 },
    { quota_bytes: 1.5 },
    { quota_bytes: 5, add_bytes: 5 },
    { quota_bytes: 5, period: 'year' },
    { quota_bytes: 5, throttle_bps: 64_000 },
    { add_bytes: 0 },
    { period: 'day' },
    { add_bytes: 5, action: 'alert' },
  ])
    assert.is(codeOf(await quota(body), 400), 'validation_failed', JSON.stringify(body))
  await all.bed.request('POST', `/v1/sims/${hash}/revoke`)
  assert.is(codeOf(await quota({ quota_bytes: 5 }), 409), 'sim_state_conflict')
})

quotas.run()
