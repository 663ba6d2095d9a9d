import type { MutationTx } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { localHours } from '../src/ledger/hours.ts'
import { ANN, BOB, charged, reading, START_MS, sessionsWorld, sighting, type World } from './support/world.ts'

const usage = suite('sessions/usage-ledger')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const hours = localHours()
const TODAY_MS = hours.dayOf(START_MS)

/** Records of one octet up in each of these hours from the beginning of the day. */
async function chargedIn(world: World, numbers: readonly number[]): Promise<void> {
  const volumes = numbers.map((number) => {
    const fromMs = TODAY_MS + number * HOUR_MS
    return charged(1, fromMs, fromMs + 1_000)
  })
  await world.round({ cdr: { volumes } })
}

async function submitted(
  world: World,
  up: number,
  atMs: number,
  source: string = 'submission:node',
): Promise<void> {
  // It runs in a mutation of another plugin, whose transaction it is.
  await world.db.write((tx) =>
    world.usage.submit(
      tx as MutationTx,
      ANN,
      source,
      { upBytes: up, downBytes: 0, isIncomplete: false },
      atMs,
    ),
  )
}

usage('gives what counts of a span and what each source saw, of that subscriber alone', async () => {
  const world = await sessionsWorld()
  await chargedIn(world, [0, 1, 2])
  await world.round({
    cdr: { volumes: [charged(9, TODAY_MS, TODAY_MS + 1, { key: { by: 'imsi', imsi: BOB } })] },
  })
  const totals = await world.usage.totals(ANN, TODAY_MS + HOUR_MS, TODAY_MS + 2 * HOUR_MS)
  assert.equal(totals, {
    upBytes: 1,
    downBytes: 10,
    isIncomplete: false,
    bySource: new Map([['cdr', { upBytes: 1, downBytes: 10, isIncomplete: false }]]),
  })
  const within = await world.db.write((tx) => world.usage.totalsIn(tx, ANN, TODAY_MS, TODAY_MS + DAY_MS))
  assert.is(within.upBytes, 3)
})

usage('sums up what counts of many, in a transaction with what that has counted', async () => {
  const world = await sessionsWorld()
  await chargedIn(world, [0, 1, -30])
  const many = [ANN, BOB, ...Array.from({ length: 250 }, (_, i) => `${i}`.padStart(12, '0') as typeof ANN)]
  assert.equal(await world.usage.sums(many, TODAY_MS, TODAY_MS + DAY_MS), new Map([[ANN, 22]]))
  await submitted(world, 5, TODAY_MS + 3 * HOUR_MS)
  const within = await world.db.write((tx) => world.usage.sums([BOB, ANN], TODAY_MS, TODAY_MS + DAY_MS, tx))
  assert.equal(within, new Map([[ANN, 27]]))
  assert.equal(await world.usage.sums([], TODAY_MS, TODAY_MS + DAY_MS), new Map())
})

usage('gives a series by hours and by local days, without those of which nothing is known', async () => {
  const world = await sessionsWorld()
  await chargedIn(world, [0, 1, 5, -1, -30])
  const all = [TODAY_MS - 3 * DAY_MS, TODAY_MS + DAY_MS] as const
  const point = (atMs: number, up: number): object => ({
    atMs,
    upBytes: up,
    downBytes: 10 * up,
    isIncomplete: false,
  })
  assert.equal(await world.usage.series(ANN, ...all, 'hour'), [
    point(TODAY_MS - 30 * HOUR_MS, 1),
    point(TODAY_MS - HOUR_MS, 1),
    point(TODAY_MS, 1),
    point(TODAY_MS + HOUR_MS, 1),
    point(TODAY_MS + 5 * HOUR_MS, 1),
  ])
  const days = [-30, -1, 0].map((hour) => hours.dayOf(TODAY_MS + hour * HOUR_MS))
  assert.equal(await world.usage.series(ANN, ...all, 'day'), [
    point(days[0] ?? 0, 1),
    point(days[1] ?? 0, 1),
    point(days[2] ?? 0, 3),
  ])
})

usage('adds submissions, and tells what of them counts', async () => {
  const world = await sessionsWorld()
  await submitted(world, 100, START_MS)
  await submitted(world, 50, START_MS)
  assert.equal(await world.counted(), { counted: [150, 0], 'submission:node': [150, 0] })
  assert.equal(
    world.increments.map(({ source, upBytes, fromMs }) => [source, upBytes, fromMs]),
    [
      ['submission:node', 100, START_MS],
      ['submission:node', 50, START_MS],
    ],
  )
})

usage('counts what was used at another box beside all that was seen here meanwhile', async () => {
  const world = await sessionsWorld()
  await world.round({ cdr: { volumes: [charged(50, TODAY_MS, TODAY_MS + HOUR_MS - 1)] } })
  await submitted(world, 30, TODAY_MS + HOUR_MS / 2, 'submission:meter')
  await submitted(world, 100, TODAY_MS + HOUR_MS / 2, 'visit:harbour')
  const { upBytes } = await world.usage.totals(ANN, TODAY_MS, TODAY_MS + DAY_MS)
  assert.is(upBytes, 150)
})

usage('tells sixteen submitters of an hour apart, and counts all', async () => {
  const world = await sessionsWorld()
  await chargedIn(world, [0])
  for (let i = 0; i < 40; i++) await submitted(world, 1, TODAY_MS + HOUR_MS / 2, `submission:meter-${i}`)
  // One that has a name keeps it, and the next hour has names of its own.
  await submitted(world, 5, TODAY_MS + HOUR_MS / 2, 'submission:meter-15')
  await submitted(world, 7, TODAY_MS + HOUR_MS, 'submission:meter-39')
  const { bySource } = await world.usage.totals(ANN, TODAY_MS, TODAY_MS + HOUR_MS)
  const told = [...bySource].map(([source, { upBytes }]) => [source, upBytes])
  assert.is(told.length, 18)
  assert.equal(told.filter(([, up]) => up !== 1).sort(), [
    ['submission:meter-15', 6],
    ['submission:other', 24],
  ])
  const next = await world.usage.totals(ANN, TODAY_MS + HOUR_MS, TODAY_MS + DAY_MS)
  assert.equal([...next.bySource.keys()], ['submission:meter-39'])
  const { upBytes } = await world.usage.totals(ANN, TODAY_MS, TODAY_MS + DAY_MS)
  assert.is(upBytes, 1 + 40 + 5 + 7)
})

usage('takes back from a submission what the tap turns out to have seen then', async () => {
  const world = await sessionsWorld()
  await submitted(world, 100, START_MS + 5_000)
  await world.round({ mme: { sightings: [sighting()] }, gtpu: { volumes: [reading(70, START_MS + 15_000)] } })
  const totals = await world.usage.totals(ANN, 0, START_MS * 2)
  assert.is(totals.upBytes, 70)
  assert.is(
    world.increments.reduce((sum, { upBytes }) => sum + upBytes, 0),
    70,
  )
})

usage('knows nothing before a collector has counted, and says when one is late', async () => {
  const world = await sessionsWorld()
  assert.equal(world.usage.knownUntil(), {
    atMs: undefined,
    reason: 'collector.upf.enabled is false: nothing counts octets',
  })
  await world.round({ mme: { sightings: [sighting()] }, gtpu: { volumes: [reading(1, START_MS + 15_000)] } })
  assert.equal(world.usage.knownUntil(), { atMs: START_MS + 15_000, reason: undefined })
  // Where sessions are not seen octets are nobody's: who sees them is asked for, too.
  await world.round({ gtpu: {} }, 120_000)
  assert.is(world.usage.knownUntil().atMs, START_MS + 15_000)
  assert.match(world.usage.knownUntil().reason ?? '', 'mme last saw all at 2026-11-22T10:00:15.000Z')
  await world.round({ mme: {} }, 120_000)
  const { atMs, reason } = world.usage.knownUntil()
  assert.is(atMs, START_MS + 135_000)
  assert.match(reason ?? '', 'gtpu last saw all at 2026-11-22T10:02:15.000Z')
  const again = await world.restarted()
  assert.is(again.usage.knownUntil().atMs, START_MS + 135_000)
  again.fake.changeSettings({ collector: { enabled: false } })
  assert.match(again.usage.knownUntil().reason ?? '', 'collector.enabled is false')
})

usage('is silent before the first octet only while a source that is set to count answers', async () => {
  const world = await sessionsWorld()
  world.fake.changeSettings({ collector: { enabled: true, upf: { enabled: true } } })
  const none = /^no collector has counted octets yet; GET \/v1\/health says why$/
  // The tap is broken from the beginning; who sees sessions, and reads no records, answers.
  await world.round({ mme: {}, cdr: {} })
  assert.is(world.usage.knownUntil().atMs, undefined)
  assert.match(world.usage.knownUntil().reason ?? '', none)
  await world.round({ mme: {}, cdr: {}, gtpu: {} })
  assert.equal(world.usage.knownUntil(), { atMs: undefined, reason: undefined })
  await world.round({ mme: {}, cdr: {} }, 120_000)
  assert.match(world.usage.knownUntil().reason ?? '', none)
  world.fake.changeSettings({
    core: 'core_b',
    core_b: { cdr_dir: '/var/log/cdr' },
    collector: { enabled: true, upf: { enabled: false } },
  })
  assert.equal(world.usage.knownUntil(), { atMs: undefined, reason: undefined })
})

usage('knows of what counted once and then gave nothing for days up to when all is known', async () => {
  const world = await sessionsWorld()
  world.fake.changeSettings({ collector: { enabled: true, upf: { enabled: true } } })
  await world.round({ mme: { sightings: [sighting()] }, gtpu: { volumes: [reading(1, START_MS + 15_000)] } })
  await world.round({ mme: {} }, 3 * DAY_MS)
  const { atMs, reason } = world.usage.knownUntil()
  assert.is(atMs, START_MS + 15_000)
  assert.is(reason, 'gtpu has given nothing since 2026-11-22T10:00:15.000Z; GET /v1/health says why')
  await world.round({ mme: {}, gtpu: {} })
  assert.equal(world.usage.knownUntil(), { atMs: START_MS + 15_000 + 3 * DAY_MS + 15_000, reason: undefined })
})

usage(
  'goes on with one technology while the other cannot be seen, and knows all usage up to then alone',
  async () => {
    const world = await sessionsWorld()
    const [lte, nr] = [sighting(), sighting({ reference: 'nr/2', technology: 'nr', address: '10.45.0.9' })]
    await world.round({
      mme: { sightings: [lte, nr], isWhole: true },
      gtpu: { volumes: [reading(1, START_MS + 15_000)] },
    })
    const { atMs } = world.usage.knownUntil()
    const next = sighting({ reference: 'lte/3', address: '10.45.0.3' })
    // The AMF is away: an LTE session ends, another begins, and the one of NR goes on as it was.
    for (let round = 0; round < 6; round += 1)
      await world.round({ mme: { sightings: [next], isWhole: true, unseen: ['nr'] }, gtpu: {} })
    const open = (await world.sessions()).filter(({ ended_at_ms: endedAtMs }) => endedAtMs === null)
    assert.equal(
      open.map(({ technology, address }) => [technology, address]),
      [
        ['nr', '10.45.0.9'],
        ['lte', '10.45.0.3'],
      ],
    )
    assert.is(world.usage.knownUntil().atMs, atMs)
    assert.match(world.usage.knownUntil().reason ?? '', /^mme last saw all at/)
    await world.round({ mme: { sightings: [next], isWhole: true }, gtpu: {} })
    assert.is(world.usage.knownUntil().reason, undefined)
  },
)

usage('adds up rows beyond what a sum of the store holds', async () => {
  const world = await sessionsWorld()
  const most = Number.MAX_SAFE_INTEGER
  const rows = 1_030
  const hoursLong = Array.from({ length: rows }, (_, hour) => {
    const fromMs = TODAY_MS - hour * HOUR_MS
    return charged(most, fromMs, fromMs + 1_000, { downBytes: 0 })
  })
  await world.round({ cdr: { volumes: hoursLong } })
  const totals = await world.usage.totals(ANN, 0, START_MS)
  assert.equal([totals.upBytes, totals.bySource.get('cdr')?.upBytes], [most, most])
  // Of as many sources in one hour, each of another APN: none is set against another.
  const alike = Array.from({ length: rows }, (_, source) => {
    const key = { by: 'imsi', imsi: BOB, apn: `a${source}` } as const
    return [`s${source}`, { volumes: [charged(most, TODAY_MS, TODAY_MS + 1_000, { downBytes: 0, key })] }]
  })
  await world.round(Object.fromEntries(alike))
  assert.equal(await world.usage.series(BOB, TODAY_MS, TODAY_MS + HOUR_MS, 'hour'), [
    { atMs: TODAY_MS, upBytes: most, downBytes: 0, isIncomplete: false },
  ])
})

usage.run()
