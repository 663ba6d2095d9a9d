import type { Collection, ImsiHash } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import {
  ANN,
  BOB,
  charged,
  reading,
  START_MS,
  sessionsWorld,
  sighting,
  type World,
} from '../support/world.ts'

const count = suite('sessions/count')
const BOBS = {
  key: { by: 'address', address: '10.45.0.7' },
  count: { counter: '10.45.0.7', generation: 'g1' },
} as const
const CARL = 'cccccccccccc' as ImsiHash
const SEEN = { mme: { sightings: [sighting()] } }

function tap(
  volumes: Collection['volumes'],
  part: Partial<Collection> = {},
): Record<string, Partial<Collection>> {
  return { ...SEEN, gtpu: { volumes, ...part } }
}

async function shown(world: World): Promise<readonly (readonly [string, string])[]> {
  return (await world.sessions()).map(({ state, volumes }) => [state, volumes])
}

count('counts the growth of a counter alone, and none of it twice', async () => {
  const world = await sessionsWorld()
  for (const up of [100, 100, 250, 250, 251])
    await world.round(tap([reading(up, world.fake.clock.nowMs() + 15_000)]))
  assert.equal(await world.counted(), { counted: [251, 2_510], gtpu: [251, 2_510] })
  assert.equal(await shown(world), [['active', '{"gtpu":[251,2510,0]}']])
})

count('counts a counter of another generation from nothing, and an earlier one no more', async () => {
  const world = await sessionsWorld()
  const second = { count: { counter: '10.45.0.2', generation: 'g2' } }
  await world.round(tap([reading(100, START_MS + 15_000)]))
  await world.round(tap([reading(30, START_MS + 30_000, second)]))
  await world.round(tap([reading(100, START_MS + 45_000), reading(40, START_MS + 45_000, second)]))
  assert.equal(await world.counted(), { counted: [140, 1_400], gtpu: [140, 1_400] })
})

count('counts a counter that had counted for others from its first reading on', async () => {
  const world = await sessionsWorld()
  const begun = { count: { counter: '10.45.0.2', generation: 'g1', isBeginning: true } }
  await world.round(tap([reading(100, START_MS + 15_000, begun)]))
  assert.equal(await world.counted(), { counted: [0, 0] })
  await world.round(tap([reading(130, START_MS + 30_000)]))
  // Who says so of one that is known already, does not take away what it has grown.
  await world.round(tap([reading(170, START_MS + 45_000, begun)]))
  assert.equal(await world.counted(), { counted: [70, 700], gtpu: [70, 700] })
})

count('counts nothing of a counter that goes back, and reports it', async () => {
  const world = await sessionsWorld()
  await world.round(tap([reading(100, START_MS + 15_000)]))
  await world.round(tap([reading(80, START_MS + 30_000)]))
  await world.round(tap([reading(110, START_MS + 45_000)]))
  assert.equal(await world.counted(), { counted: [110, 1_100], gtpu: [110, 1_100] })
  const refused = { source: 'gtpu', reason: 'backwards' }
  assert.is(world.fake.metrics.value('svc_sessions_refused_volumes_total', refused), 1)
  assert.ok(world.fake.logs.some(({ level, message }) => level === 'warn' && /contradicts/.test(message)))
})

count('goes on with counters and positions after a restart', async () => {
  const world = await sessionsWorld()
  await world.round(tap([reading(100, START_MS + 15_000)], { position: 'p1' }))
  const again = await world.restarted()
  assert.is(await again.consumer.position('gtpu'), 'p1')
  assert.is(await again.consumer.position('cdr'), undefined)
  await again.round(tap([reading(130, START_MS + 30_000)]))
  assert.is(await again.consumer.position('gtpu'), 'p1')
  assert.equal(await again.counted(), { counted: [130, 1_300], gtpu: [130, 1_300] })
})

count('counts deltas that are offered again with their position once', async () => {
  const world = await sessionsWorld()
  const cdr = { volumes: [charged(70, START_MS, START_MS + 10_000)], position: 'p1' }
  await world.round({ cdr })
  await world.round({ cdr })
  assert.equal(await world.counted(), { counted: [70, 700], cdr: [70, 700] })
})

count('gives octets to a session by its reference, also by that of another source', async () => {
  const world = await sessionsWorld()
  const own = charged(5, START_MS, START_MS + 1_000, { key: { by: 'session', reference: 'r1' } })
  const others = charged(7, START_MS, START_MS + 1_000, {
    key: { by: 'session', reference: 'r1', source: 'mme' },
  })
  await world.round({ mme: { sightings: [sighting()], volumes: [own] }, cdr: { volumes: [others] } })
  assert.equal(await shown(world), [['active', '{"mme":[5,50,0],"cdr":[7,70,0]}']])
})

count('gives late octets to a session that ended long ago', async () => {
  const world = await sessionsWorld()
  await world.round(SEEN)
  await world.round({ mme: {} })
  await world.round({}, 5 * 3_600_000)
  const again = await world.restarted()
  await again.round({
    cdr: {
      volumes: [
        charged(70, START_MS + 15_000, START_MS + 20_000),
        charged(3, START_MS + 15_000, START_MS + 20_000, { key: { by: 'address', address: '10.45.0.2' } }),
        charged(2, START_MS, START_MS + 1, { key: { by: 'session', reference: 'r1', source: 'mme' } }),
      ],
    },
  })
  assert.equal(await shown(again), [['ended', '{"cdr":[75,750,0]}']])
})

count('gives octets of before a session was first seen to it after a restart as well', async () => {
  const world = await sessionsWorld()
  await world.round({ mme: {} })
  // Whoever lists sessions was asked ten minutes ago: the phone may have had its address since then.
  await world.round(SEEN, 600_000)
  const again = await world.restarted()
  await again.round({ gtpu: { volumes: [reading(100, START_MS + 100_000)] } })
  assert.equal(await again.counted(), { counted: [100, 1_000], gtpu: [100, 1_000] })
})

count('holds octets of an address until its holder is seen, over a restart too', async () => {
  const world = await sessionsWorld()
  await world.round({ gtpu: { volumes: [reading(100, START_MS + 15_000)] } })
  await world.round({ gtpu: { volumes: [reading(130, START_MS + 30_000)] } })
  assert.equal(await world.counted(), { counted: [0, 0] })
  assert.is(world.fake.metrics.value('svc_sessions_held_bytes'), 1_430)
  const again = await world.restarted()
  await again.round(tap([reading(140, START_MS + 45_000)]))
  assert.equal(await again.counted(), { counted: [140, 1_400], gtpu: [140, 1_400] })
  assert.equal(await again.db.all('select * from sessions_held'), [])
})

count('counts octets as unattributed when nobody was seen to hold their address', async () => {
  const world = await sessionsWorld()
  await world.round({ gtpu: { volumes: [reading(100, START_MS + 15_000)] } })
  for (let round = 0; round < 21; round++) await world.round({ gtpu: { isWhole: false } })
  // Nobody has listed sessions yet: that nobody holds the address is not known.
  assert.is((await world.db.all('select * from sessions_held')).length, 1)
  await world.round({ mme: {} })
  const value = (direction: string): unknown =>
    world.fake.metrics.value('svc_sessions_unattributed_bytes_total', { source: 'gtpu', direction })
  assert.equal([value('up'), value('down')], [100, 1_000])
  assert.equal(await world.db.all('select * from sessions_held'), [])
})

count('keeps no counters of a generation that is over, and those of all others', async () => {
  const world = await sessionsWorld()
  const named = (generation: string, up: number): Collection['volumes'][number] =>
    reading(up, world.fake.clock.nowMs() + 15_000, { count: { counter: '10.45.0.2', generation } })
  const kept = (): Promise<readonly unknown[]> =>
    world.db.all('select generation, up_bytes from sessions_counter order by generation')
  await world.round(tap([named('g1', 100)]))
  await world.round(tap([named('g2', 10)], { over: 'g1' }))
  assert.equal(await kept(), [{ generation: 'g2', up_bytes: 10 }])
  // Said again, and of one that nobody knows.
  await world.round(tap([named('g2', 15)], { over: 'g1' }))
  await world.round(tap([named('g2', 15), named('g3', 1)], { over: 'g0' }))
  assert.equal(await kept(), [
    { generation: 'g2', up_bytes: 15 },
    { generation: 'g3', up_bytes: 1 },
  ])
  assert.equal(await world.counted(), { counted: [116, 1_160], gtpu: [116, 1_160] })
})

/** Readings of addresses that nobody has. */
function forged(from: number, to: number): Collection['volumes'] {
  return Array.from({ length: to - from }, (_, index) => {
    const address = `11.${(from + index) >> 16}.${((from + index) >> 8) & 255}.${(from + index) & 255}`
    return reading(1, START_MS + 15_000, {
      key: { by: 'address', address },
      count: { counter: address, generation: 'g1' },
    })
  })
}

/** As `forged`, and how many of them were looked at within one turn of the event loop, at most. */
function watched(count: number) {
  const seen = { most: 0 }
  let inTurn = 0
  const volumes = forged(0, count).map(({ count: counter, ...rest }) => ({
    ...rest,
    get count() {
      if (inTurn === 0)
        setImmediate(() => {
          seen.most = Math.max(seen.most, inTurn)
          inTurn = 0
        })
      inTurn += 1
      return counter
    },
  }))
  return { seen, volumes }
}

count('holds octets of addresses that nobody has up to a bound, and says what it does not', async () => {
  const world = await sessionsWorld()
  const value = (direction: string): unknown =>
    world.fake.metrics.value('svc_sessions_unattributed_bytes_total', { source: 'gtpu', direction })
  const held = (): Promise<readonly unknown[]> => world.db.all('select count(*) as held from sessions_held')
  await world.round(tap(forged(0, 60_000)))
  assert.equal([value('up'), value('down')], [10_000, 100_000])
  assert.is(world.fake.metrics.value('svc_sessions_held_bytes'), 50_000 * 11)
  // One of them says that there were others.
  assert.equal(await held(), [{ held: 50_001 }])
  // Those of a phone that is known count all the while, and nothing of it is missing.
  await world.round(tap([...forged(60_000, 61_000), reading(7, START_MS + 30_000)]))
  assert.equal(await world.counted(), { counted: [7, 70], gtpu: [7, 70] })
  assert.is((await world.usage.totals(ANN, 0, START_MS * 2)).isIncomplete, false)
  assert.is(value('up'), 11_000)
  await world.round({ mme: {} }, 301_000)
  assert.equal(await held(), [{ held: 0 }])
  assert.is(value('up'), 61_000)
})

count('marks the usage of who comes to be known once its octets had no room to wait', async () => {
  const world = await sessionsWorld()
  await world.round(SEEN)
  await world.round({ gtpu: { volumes: [...forged(0, 50_000), reading(5, START_MS + 30_000, BOBS)] } })
  const again = await world.restarted()
  // Bob moves nothing any more; Ann was known all the while.
  const bob = sighting({ imsi: BOB, reference: 'r2', address: '10.45.0.7', startedAtMs: START_MS + 20_000 })
  await again.round(tap([reading(3, START_MS + 45_000)], { over: 'g0' }))
  await again.round({ mme: { sightings: [sighting(), bob] } })
  const of = (imsi: typeof ANN) => again.usage.totals(imsi, 0, START_MS * 2)
  assert.equal(await again.counted(BOB), { counted: [0, 0], gtpu: [0, 0] })
  assert.is((await of(BOB)).isIncomplete, true)
  assert.is((await of(ANN)).isIncomplete, false)
  // Who comes later than those octets has none among them.
  const late = sighting({
    imsi: CARL,
    reference: 'r3',
    address: '10.45.0.8',
    startedAtMs: START_MS + 100_000,
  })
  await again.round({ mme: { sightings: [sighting(), bob, late] } }, 60_000)
  assert.is((await of(CARL)).isIncomplete, false)
})

count('gives others a turn however many addresses there are', async () => {
  const world = await sessionsWorld()
  const { seen, volumes } = watched(65_536)
  await world.round(tap(volumes))
  // All of them in one turn would be 65,536.
  assert.ok(seen.most < 30_000, `${seen.most} looked at in one turn`)
})

count('divides octets by time when an address changed hands, and marks both', async () => {
  const world = await sessionsWorld()
  await world.round(SEEN)
  const bob = sighting({ imsi: BOB, reference: 'r2', startedAtMs: START_MS + 20_000 })
  const volume = reading(100, START_MS + 30_000, { count: 'delta', fromMs: START_MS + 15_000 })
  await world.round({ mme: { sightings: [bob] }, gtpu: { volumes: [volume] } })
  assert.equal(await world.counted(ANN), { counted: [33, 333], gtpu: [33, 333] })
  assert.equal(await world.counted(BOB), { counted: [67, 667], gtpu: [67, 667] })
  for (const imsi of [ANN, BOB])
    assert.is((await world.usage.totals(imsi, 0, START_MS * 2)).isIncomplete, true)
})

count('waits for the next holder before it gives octets to one that had ended', async () => {
  const world = await sessionsWorld()
  await world.round(SEEN)
  await world.round({ mme: {} })
  const late = reading(100, START_MS + 45_000, { count: 'delta', fromMs: START_MS + 31_000 })
  await world.round({ mme: {}, gtpu: { volumes: [late] } })
  assert.equal(await world.counted(), { counted: [0, 0] })
  const bob = sighting({ imsi: BOB, reference: 'r2', startedAtMs: START_MS + 40_000 })
  await world.round({ mme: { sightings: [bob] } })
  assert.equal(await world.counted(BOB), { counted: [100, 1_000], gtpu: [100, 1_000] })
  // Nobody came: it was the tail of the one before.
  const tail = reading(7, START_MS + 100_000, { count: 'delta', fromMs: START_MS + 90_000 })
  await world.round({ mme: {} })
  await world.round({ mme: {}, gtpu: { volumes: [tail] } })
  for (let round = 0; round < 3; round++) await world.round({ mme: {} })
  assert.equal(await world.counted(BOB), { counted: [107, 1_070], gtpu: [107, 1_070] })
})

count('gives octets from while nobody listed sessions to who is listed next', async () => {
  const world = await sessionsWorld()
  await world.round(SEEN)
  for (let round = 2; round < 80; round++)
    await world.round({
      gtpu: { isWhole: false, volumes: [reading(round, START_MS + round * 15_000, BOBS)] },
    })
  await world.round({
    mme: { sightings: [sighting(), sighting({ imsi: BOB, reference: 'r2', address: '10.45.0.7' })] },
  })
  assert.equal(await world.counted(BOB), { counted: [79, 790], gtpu: [79, 790] })
})

count('marks octets of an address that changed hands while nobody looked', async () => {
  const world = await sessionsWorld()
  await world.round(tap([reading(10, START_MS + 15_000)]))
  const later = {
    mme: { sightings: [sighting({ imsi: BOB, reference: 'r2' })] },
    gtpu: { volumes: [reading(40, START_MS + 900_000)] },
  }
  await world.round(later, 900_000)
  const ann = await world.usage.totals(ANN, 0, START_MS * 2)
  const bob = await world.usage.totals(BOB, 0, START_MS * 2)
  assert.equal([ann.upBytes + bob.upBytes, ann.isIncomplete, bob.isIncomplete], [40, true, true])
})

count('finds sessions by their IPv6 prefix', async () => {
  const world = await sessionsWorld()
  const prefix = '2001:db8:0:1::/64'
  await world.round({
    mme: { sightings: [sighting({ address: undefined, prefix })] },
    gtpu: { volumes: [reading(9, START_MS + 15_000, { key: { by: 'address', address: prefix } })] },
  })
  assert.equal(await world.counted(), { counted: [9, 90], gtpu: [9, 90] })
})

count('marks what a source has lost packets of, and counts them', async () => {
  const world = await sessionsWorld()
  const lost = { packets: 12, fromMs: START_MS, toMs: START_MS + 15_000 }
  await world.round(tap([reading(100, START_MS + 15_000)], { lost }))
  assert.is((await world.usage.totals(ANN, 0, START_MS * 2)).isIncomplete, true)
  assert.is(world.fake.metrics.value('svc_sessions_lost_packets_total', { source: 'gtpu' }), 12)
})

count('refuses octets that are none, and counts the rest', async () => {
  const world = await sessionsWorld()
  const wrong = [-1, 0.5, 2 ** 53, Number.NaN].map((up, index) =>
    charged(up, START_MS, START_MS + 1, { downBytes: 0, key: { by: 'imsi', imsi: ANN, apn: `${index}` } }),
  )
  await world.round({
    cdr: { volumes: [...wrong, charged(3, START_MS + 2, START_MS + 1), charged(4, START_MS, START_MS + 1)] },
  })
  assert.equal(await world.counted(), { counted: [4, 40], cdr: [4, 40] })
  assert.is(
    world.fake.metrics.value('svc_sessions_refused_volumes_total', { source: 'cdr', reason: 'octets' }),
    4,
  )
  assert.is(
    world.fake.metrics.value('svc_sessions_refused_volumes_total', { source: 'cdr', reason: 'span' }),
    1,
  )
})

count('refuses octets of a time that no calendar has, and counts the rest', async () => {
  const world = await sessionsWorld()
  const most = Number.MAX_SAFE_INTEGER
  await world.round({
    cdr: {
      volumes: [charged(5, START_MS, START_MS + 1), charged(7, most - 1, most), charged(9, START_MS, most)],
    },
  })
  assert.equal(await world.counted(), { counted: [5, 50], cdr: [5, 50] })
  const refused = { source: 'cdr', reason: 'span' }
  assert.is(world.fake.metrics.value('svc_sessions_refused_volumes_total', refused), 2)
})

count(
  'gives octets whose APN is not known to the subscriber, and to its session where there is one',
  async () => {
    const world = await sessionsWorld()
    const open = (up: number, fromMs: number) =>
      charged(up, fromMs, fromMs + 1, { key: { by: 'imsi', imsi: ANN } })
    await world.round({ ...SEEN, cdr: { volumes: [open(5, START_MS + 1)] } })
    const ims = sighting({ apn: 'ims', reference: 'ims', address: '10.45.0.9' })
    await world.round({
      mme: { sightings: [sighting(), ims] },
      cdr: { volumes: [open(7, START_MS + 60_000)] },
    })
    assert.equal(await world.counted(), { counted: [12, 120], cdr: [12, 120] })
    assert.equal((await shown(world)).toSorted(), [
      ['active', '{"cdr":[5,50,0]}'],
      ['active', '{}'],
    ])
  },
)

count('keeps totals exact up to the largest number and stays there', async () => {
  const world = await sessionsWorld()
  const most = Number.MAX_SAFE_INTEGER
  const full = { downBytes: 0, key: { by: 'imsi', imsi: ANN } } as const
  await world.round({ cdr: { volumes: [charged(most - 1, START_MS, START_MS + 1, full)] } })
  await world.round({ cdr: { volumes: [charged(1, START_MS, START_MS + 1, full)] } })
  assert.equal(await world.counted(), { counted: [most, 0], cdr: [most, 0] })
  await world.round({ cdr: { volumes: [charged(5, START_MS, START_MS + 1, full)] } })
  assert.equal(await world.counted(), { counted: [most, 0], cdr: [most, 0] })
})

count('keeps nothing of a round that fails, and takes it again', async () => {
  const world = await sessionsWorld()
  await world.round(tap([reading(100, START_MS + 15_000)], { position: 'p1' }))
  let isFailing = true
  await world.fake.provide(
    { id: 'usage.listener' },
    {
      counted: async () => {
        if (isFailing) throw new Error('not now')
      },
    },
  )
  const next = {
    ...tap([reading(150, START_MS + 30_000)], { position: 'p2' }),
    cdr: { volumes: [charged(9, START_MS, START_MS + 1, { key: { by: 'imsi', imsi: BOB } })] },
  }
  const refused = await world.round(next).then(
    () => 'taken',
    (error: Error) => error.message,
  )
  assert.is(refused, 'not now')
  assert.is(await world.consumer.position('gtpu'), 'p1')
  assert.equal(await world.counted(), { counted: [100, 1_000], gtpu: [100, 1_000] })
  isFailing = false
  await world.round(next)
  assert.equal(await world.counted(), { counted: [150, 1_500], gtpu: [150, 1_500] })
  assert.equal(await world.counted(BOB), { counted: [9, 90], cdr: [9, 90] })
})

count('stores no identity that is in a name of a source', async () => {
  const world = await sessionsWorld()
  const imsi = '999990000000001'
  const reference = `imsi-${imsi}-5`
  const held = charged(1, START_MS, START_MS + 1, { key: { by: 'session', reference: `imsi-${imsi}-6` } })
  const counter = { counter: `imsi-${imsi}`, generation: `${imsi}` }
  await world.round({
    amf: {
      sightings: [sighting({ reference })],
      volumes: [
        charged(1, START_MS, START_MS + 1, { key: { by: 'session', reference }, count: counter }),
        held,
      ],
    },
  })
  await world.round({ amf: { sightings: [sighting({ reference })] } })
  assert.is((await world.sessions()).length, 1)
  const tables = ['session', 'link', 'counter', 'held', 'ledger', 'source']
  for (const table of tables)
    assert.not.match(JSON.stringify(await world.db.all(`select * from sessions_${table}`)), imsi)
  assert.not.match(JSON.stringify(world.fake.logs), imsi)
})

count('tells the listener what has come to count, hour by hour', async () => {
  const world = await sessionsWorld()
  await world.round({ cdr: { volumes: [charged(100, START_MS - 10_000, START_MS + 30_000)] } })
  const told = world.increments.map(({ imsi, source, fromMs, toMs, upBytes, downBytes }) => ({
    imsi,
    source,
    fromMs: fromMs - START_MS,
    toMs: toMs - START_MS,
    upBytes,
    downBytes,
  }))
  assert.equal(told, [
    { imsi: ANN, source: 'cdr', fromMs: -10_000, toMs: 0, upBytes: 25, downBytes: 250 },
    { imsi: ANN, source: 'cdr', fromMs: 0, toMs: 30_000, upBytes: 75, downBytes: 750 },
  ])
})

count.run()
