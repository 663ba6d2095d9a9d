import { assert, bodyOf, eventually, suite } from '@steeple/testkit'
import { type AlertBody, ruleWith, type World, world } from './support/world.ts'

const alerts = suite('alerts/alerts-http')

alerts('fires when a metric is beyond its threshold, shows it, and tells a receiver, signed', async () => {
  await using all = await world()
  all.set(11)
  await eventually(async () => assert.is((await all.alerts()).length, 1))
  const [alert] = await all.alerts()
  assert.equal(
    [alert?.rule, alert?.severity, alert?.state, alert?.subject, alert?.value, alert?.threshold],
    ['high', 'warning', 'firing', 'svc_gauge_level', 11, 10],
  )
  await eventually(() => assert.is(all.receiver.taken.length, 1))
  const [message] = all.receiver.taken
  assert.is(message?.payload.type, 'alert.firing')
  assert.is(message?.payload.data.id, alert?.id)
  assert.match(message?.payload.text ?? '', /^WARNING: high .*svc_gauge_level is 11 \(> 10\)$/)
  all.set(10)
  await eventually(() => assert.is(all.receiver.taken.length, 2))
  assert.is(all.receiver.taken[1]?.payload.type, 'alert.resolved')
  const [over] = await all.alerts()
  assert.equal([over?.id, over?.state], [alert?.id, 'resolved'])
  assert.ok(over?.resolved_at !== null)
  assert.is(all.receiver.forged, 0)
})

/** The only alert of that state. */
async function only(all: World, state: string): Promise<AlertBody> {
  let found: readonly AlertBody[] = []
  await eventually(async () => {
    found = await all.alerts(`?state=${state}`)
    assert.is(found.length, 1)
  })
  const [one] = found
  if (one === undefined) throw new Error('there is none')
  return one
}

const typesOf = (all: World): readonly string[] => all.receiver.taken.map(({ payload }) => payload.type)

alerts('waits as long as a rule says, and drops what was well before', async () => {
  await using all = await world({ interval: '10s', rules: [ruleWith({ for: '10m' })] })
  all.set(11)
  const pending = await only(all, 'pending')
  all.set(1)
  await eventually(async () => assert.equal(await all.alerts(), []))
  all.set(11)
  const again = await only(all, 'pending')
  assert.is.not(again.id, pending.id)
  assert.is(again.firing_at, null)
  await all.clock.advance(600_000)
  const firing = await only(all, 'firing')
  assert.is(firing.id, again.id)
  assert.ok(Date.parse(firing.firing_at ?? '') - Date.parse(firing.started_at) >= 600_000)
  assert.equal(await all.alerts('?state=pending'), [])
})

alerts('has an alert for each series, filters them, and gives them page by page', async () => {
  await using all = await world()
  const places = ['a', 'b', 'c', 'd', 'e']
  for (const place of places) all.set(20, place)
  await eventually(async () => assert.is((await all.alerts('?state=firing')).length, 5))
  const subjects: string[] = []
  for (let cursor = ''; ; ) {
    const page = bodyOf<{ readonly alerts: readonly AlertBody[]; readonly next_cursor: string | null }>(
      await all.bed.request('GET', `/v1/alerts?limit=2${cursor}`),
    )
    subjects.push(...page.alerts.map(({ subject }) => subject))
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  assert.equal(
    subjects.toSorted(),
    places.map((place) => `svc_gauge_level{place="${place}"}`),
  )
  all.set(0, 'c')
  const over = await only(all, 'resolved')
  assert.is(over.subject, 'svc_gauge_level{place="c"}')
  assert.is((await all.alerts('?state=open')).length, 4)
  assert.is((await all.alerts('?severity=critical')).length, 0)
  assert.is((await all.alerts('?rule=high&severity=warning')).length, 5)
  assert.is((await all.bed.request('GET', '/v1/alerts?state=closed')).status, 400)
})

alerts('is acknowledged once, by somebody, and tells receivers that want to know', async () => {
  await using all = await world({}, { events: ['alert.firing', 'alert.acked'] })
  all.set(11)
  const { id } = await only(all, 'firing')
  const operator = all.bed.credential({ kind: 'user', id: 'ann', roles: ['operator'] })
  const other = all.bed.credential({ kind: 'user', id: 'bob', roles: ['operator'] })
  const ack = (token: string, of = id): ReturnType<typeof all.bed.request> =>
    all.bed.request('POST', `/v1/alerts/${of}/ack`, { token, body: {} })
  const acked = bodyOf<AlertBody>(await ack(operator))
  assert.is(acked.acked_by, 'ann')
  assert.equal(bodyOf(await ack(other)), acked, 'whoever comes second changes nothing')
  await eventually(() => assert.equal(typesOf(all), ['alert.firing', 'alert.acked']))
  const audited = (await all.bed.audit()).filter(({ action }) => action === 'alert.ack')
  assert.is(audited.length, 2)
  all.set(0)
  const over = await only(all, 'resolved')
  assert.equal([over.id, over.acked_by], [id, 'ann'])
  assert.is((await ack(operator)).status, 409)
  assert.is((await ack(operator, 'a-0000000000000000')).status, 404)
  assert.is((await ack(operator, 'nothing')).status, 400)
  await all.bed.settled()
  assert.equal(typesOf(all), ['alert.firing', 'alert.acked'], 'it does not want to know of the end')
  const events = (await all.bed.events()).filter(({ subject }) => subject === id)
  assert.equal(
    events.map(({ type }) => type).filter((type) => type !== 'alert.ack'),
    ['alert.firing', 'alert.resolved'],
  )
})

alerts('keeps quiet until a time, and tells then of what still fires', async () => {
  await using all = await world({ interval: '10s' })
  all.set(11)
  const first = await only(all, 'firing')
  await eventually(() => assert.equal(typesOf(all), ['alert.firing']))
  const silence = (id: string, until: string | null): ReturnType<typeof all.bed.request> =>
    all.bed.request('POST', `/v1/alerts/${id}/silence`, { body: { until } })
  const at = (ms: number): string => new Date(all.clock.nowMs() + ms).toISOString()
  const until = at(3_600_000)
  assert.is(bodyOf<AlertBody>(await silence(first.id, until)).silenced_until, until)
  all.set(1)
  // Who was told of the beginning is told of the end.
  await eventually(() => assert.equal(typesOf(all), ['alert.firing', 'alert.resolved']))
  all.set(12)
  const second = await only(all, 'firing')
  assert.is(second.silenced_until, until, 'it holds for rule and subject')
  await all.bed.settled()
  assert.is(typesOf(all).length, 2)
  await all.clock.advance(3_600_000)
  await eventually(() => assert.equal(typesOf(all).slice(2), ['alert.firing']))
  assert.is(all.receiver.taken[2]?.payload.data.id, second.id)
  assert.is((await silence(second.id, at(3_600_000))).status, 200)
  assert.is(bodyOf<AlertBody>(await silence(second.id, null)).silenced_until, null)
  for (const wrong of [at(-1), at(91 * 86_400_000), 'tomorrow'])
    assert.is((await silence(second.id, wrong)).status, 400, wrong)
  // What begins and ends in silence is told to nobody.
  assert.is((await silence(second.id, at(3_600_000))).status, 200)
  all.set(1)
  await eventually(() => assert.is(typesOf(all).length, 4))
  all.set(12)
  const third = await only(all, 'firing')
  all.set(1)
  await eventually(async () => assert.equal(await all.alerts('?state=open'), []))
  await all.bed.settled()
  assert.not.ok(all.receiver.taken.some(({ payload }) => payload.data.id === third.id))
  // It lasts beyond the alert: it is shown there, and can be ended there.
  const shown = async (): Promise<string | null | undefined> =>
    (await all.alerts()).find(({ id }) => id === third.id)?.silenced_until
  assert.is.not(await shown(), null)
  assert.is(bodyOf<AlertBody>(await silence(third.id, null)).silenced_until, null)
  assert.is(await shown(), null)
})

alerts('tries a receiver out, says why it does not take anything, and what it has not taken', async () => {
  await using all = await world()
  const test = (webhook: string): ReturnType<typeof all.bed.request> =>
    all.bed.request('POST', '/v1/alerts/webhooks/test', { body: { webhook } })
  const good = bodyOf<{ readonly delivered: boolean; readonly id: string }>(await test('ops'))
  assert.is(good.delivered, true)
  assert.equal([all.receiver.taken[0]?.id, typesOf(all)[0]], [good.id, 'alert.test'])
  all.receiver.answer = 302
  const bad = bodyOf<{ readonly delivered: boolean; readonly error: string }>(await test('ops'))
  assert.equal([bad.delivered, bad.error], [false, 'it answers 302, and redirects are not followed'])
  assert.is((await test('nobody')).status, 404)
  all.set(11)
  await eventually(async () =>
    assert.equal(bodyOf(await all.bed.request('GET', '/v1/alerts/webhooks')), {
      enabled: true,
      webhooks: [
        {
          name: 'ops',
          waiting: 1,
          parked: 0,
          last_error: 'it answers 302, and redirects are not followed',
        },
      ],
    }),
  )
})

alerts('ends what a component ends, without waiting for the next look', async () => {
  const all = await world({ interval: '60s', disabled_rules: [], rules: [] })
  const ofGauge = async (state: string): Promise<AlertBody | undefined> =>
    (await all.alerts(`?state=${state}`)).find(({ subject }) => subject === 'gauge')
  try {
    all.ail('down')
    await eventually(async () => assert.is((await ofGauge('pending'))?.rule, 'component_down'))
    await all.clock.advance(2 * 3_600_000)
    await eventually(async () => assert.ok(await ofGauge('firing')))
    const wellMs = all.clock.nowMs()
    all.ail('ok')
    await eventually(async () => assert.ok(await ofGauge('resolved')))
    const over = await ofGauge('resolved')
    assert.ok(Date.parse(over?.resolved_at ?? '') - wellMs < 30_000, JSON.stringify(over))
  } finally {
    await all.close()
  }
})

alerts('looks at nothing while it is switched off', async () => {
  await using all = await world({ enabled: false })
  all.set(11)
  await all.clock.advance(60_000)
  await all.bed.settled()
  assert.equal(await all.alerts(), [])
  const { enabled } = bodyOf<{ readonly enabled: boolean }>(
    await all.bed.request('GET', '/v1/alerts/webhooks'),
  )
  assert.is(enabled, false)
})

alerts.run()
