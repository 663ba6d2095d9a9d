import { clockJudgeRef, type ImsiHash } from '@steeple/contracts'
import { assert, bodyOf, eventually, suite } from '@steeple/testkit'
import { type World, world } from './support/world.ts'

const rollover = suite('fair-use/rollover')
const IMSI = '999990000000001'
const DAY_MS = 86_400_000

/** Runs `body` in a world that begins then, with a SIM that its quota has suspended. */
async function suspended(
  startMs: number,
  quota: object,
  body: (all: World, hash: ImsiHash) => Promise<void>,
): Promise<void> {
  await using all = await world({ time_zone: 'Europe/Berlin' }, startMs)
  const hash = await all.issue(IMSI)
  await all.quota(hash, quota)
  await all.count(hash, 100)
  await all.becomes(hash, 'suspended', 'quota')
  await body(all, hash)
}

/** Has the time pass until then: a clock that is set on again and again is not believed. */
async function hasten(all: World, toMs: number): Promise<void> {
  await all.clock.advance(toMs - all.clock.nowMs())
}

rollover('lets on again when the month is over, by the clock of the place', async () => {
  // 23:50 of 31 October in Berlin, a week after clocks were put back: time enough for what comes first.
  await suspended(Date.UTC(2026, 9, 31, 22, 50), { quota_bytes: 100 }, async (all, hash) => {
    assert.is((await all.usage(hash)).period_end, '2026-10-31T23:00:00.000Z')
    await hasten(all, Date.UTC(2026, 9, 31, 22, 59, 55))
    await all.becomes(hash, 'issued')
    assert.ok(all.clock.nowMs() >= Date.UTC(2026, 9, 31, 23))
    const next = await all.usage(hash)
    assert.equal(
      [next.total_bytes, next.remaining_bytes, next.period_start, next.time_zone],
      [0, 100, '2026-10-31T23:00:00.000Z', 'Europe/Berlin'],
    )
    // What comes late of the month before counts there.
    await all.count(hash, 500, 0, Date.UTC(2026, 9, 31, 22, 59, 59))
    await all.count(hash, 99)
    await all.bed.settled()
    assert.equal([(await all.usage(hash)).total_bytes, (await all.sim(hash)).state], [99, 'issued'])
    await all.count(hash, 1)
    await all.becomes(hash, 'suspended', 'quota')
  })
})

rollover('forgets an override and what was added with the period', async () => {
  await suspended(Date.UTC(2026, 2, 29, 21, 50), { quota_bytes: 100, period: 'day' }, async (all, hash) => {
    const path = `/v1/sims/${hash}/resume`
    bodyOf(await all.bed.request('POST', path, { body: { override: true } }))
    await all.quota(hash, { add_bytes: 7 })
    assert.equal([(await all.usage(hash)).added_bytes], [7])
    await hasten(all, Date.UTC(2026, 2, 29, 21, 59, 55))
    await eventually(async () => assert.is((await all.usage(hash)).period_start, '2026-03-29T22:00:00.000Z'))
    const next = await all.usage(hash)
    assert.equal([next.overridden, next.added_bytes, next.total_bytes], [false, 0, 0])
    await all.count(hash, 100)
    await all.becomes(hash, 'suspended', 'quota')
  })
})

rollover('waits with it while the clock is in doubt, and counts on meanwhile', async () => {
  await suspended(Date.UTC(2026, 5, 15, 12), { quota_bytes: 100 }, async (all, hash) => {
    const other = await all.issue('999990000000002', { quota_bytes: 100 })
    await all.count(other, 60)
    const realMs = all.clock.nowMs()
    all.clock.jump(realMs + 40 * DAY_MS)
    await eventually(async () => {
      assert.ok(all.bed.service(clockJudgeRef)?.view().doubt)
    })
    assert.is((await all.usage(hash)).period_start, '2026-05-31T22:00:00.000Z')
    // A source that goes by the machine's clock: it counts in this period, which is not over for all that is known.
    await all.count(other, 50, 0, realMs + 40 * DAY_MS)
    await all.becomes(other, 'suspended', 'quota')
    await all.bed.settled()
    assert.is((await all.sim(hash)).state, 'suspended')
    // An operator's own raise lifts it all the same.
    await all.quota(other, { quota_bytes: 1_000 })
    await all.becomes(other, 'issued')
    await all.bed.service(clockJudgeRef)?.confirm()
    await all.becomes(hash, 'issued')
    assert.is((await all.usage(hash)).period_start, '2026-06-30T22:00:00.000Z')
    assert.is((await all.usage(other)).total_bytes, 50)
  })
})

rollover('counts what came in a doubt before its quota was set, whatever day it was by then', async () => {
  await using all = await world({ time_zone: 'Europe/Berlin' }, Date.UTC(2026, 5, 15, 12))
  const hash = await all.issue(IMSI)
  const other = await all.issue('999990000000002')
  const realMs = all.clock.nowMs()
  await all.count(hash, 1)
  all.clock.jump(realMs + 40 * DAY_MS)
  await eventually(async () => {
    assert.ok(all.bed.service(clockJudgeRef)?.view().doubt)
  })
  for (const days of [3, 17, 39, 40])
    for (const imsi of [hash, other]) await all.count(imsi, 50, 0, realMs + days * DAY_MS)
  assert.is((await all.quota(hash, { quota_bytes: 1_000, period: 'day' })).total_bytes, 201)
  assert.is((await all.quota(other, { quota_bytes: 1_000, period: 'none' })).total_bytes, 0)
  await all.count(other, 7, 0, realMs + 40 * DAY_MS)
  assert.is((await all.usage(other)).total_bytes, 7)
  await all.bed.service(clockJudgeRef)?.confirm()
  await eventually(async () => assert.is((await all.usage(hash)).total_bytes, 50))
  assert.is((await all.usage(other)).total_bytes, 7)
})

rollover.run()
