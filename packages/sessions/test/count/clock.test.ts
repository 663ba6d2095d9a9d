import { assert, suite } from '@steeple/testkit'
import { ANN, BOB, reading, START_MS, sessionsWorld, sighting, type World } from '../support/world.ts'

const clock = suite('sessions/count/clock')
const AHEAD_MS = 2 * 3_600_000
const INTERVAL_MS = 15_000

/** A box whose clock is two hours ahead: a phone comes, and moves 100 octets. */
async function ahead(): Promise<World> {
  const world = await sessionsWorld()
  world.fake.clock.jump(START_MS + AHEAD_MS)
  await world.round({ mme: {} })
  await round(world, 100)
  return world
}

/** Everybody goes by the machine's clock. */
async function round(world: World, up: number, who: Parameters<typeof sighting>[0] = {}): Promise<void> {
  const toMs = world.fake.clock.nowMs() + INTERVAL_MS
  await world.round({
    mme: { sightings: [sighting({ seenAtMs: toMs, ...who })] },
    gtpu: { volumes: [reading(up, toMs, { fromMs: Math.min(toMs, START_MS + AHEAD_MS) })] },
  })
}

clock('gives octets to whom they belong when a clock that was ahead is put right', async () => {
  let world = await ahead()
  world.fake.clock.jump(START_MS)
  for (const up of [200, 300]) await round(world, up)
  world = await world.restarted()
  for (let up = 400; up <= 3_000; up += 100) await round(world, up)
  assert.equal((await world.counted()).counted, [3_000, 30_000])
  assert.equal(await world.db.all('select * from sessions_held'), [])
  const [session] = await world.sessions()
  assert.ok(session !== undefined && session.started_at_ms <= START_MS + INTERVAL_MS)
  assert.ok(session.since_ms <= session.started_at_ms)
})

clock('gives nothing more to who had an address before by the clock that was ahead', async () => {
  const world = await ahead()
  await round(world, 200, { imsi: BOB, reference: 'r2' })
  assert.equal((await world.counted(BOB)).counted?.[0], 200 - ((await world.counted()).counted?.[0] ?? 0))
  const before = await world.counted()
  world.fake.clock.jump(START_MS)
  for (let up = 300; up <= 1_000; up += 100) await round(world, up, { imsi: BOB, reference: 'r2' })
  assert.equal(await world.counted(), before)
  assert.equal((await world.counted(BOB)).counted?.[0], 1_000 - (before.counted?.[0] ?? 0))
  const [gone] = await world.sessions()
  assert.equal([gone?.imsi, (gone?.ended_at_ms ?? 0) <= START_MS + INTERVAL_MS], [ANN, true])
})

clock(
  'gives octets to a session that begins in the very moment in which the clock is put right',
  async () => {
    const world = await sessionsWorld()
    world.fake.clock.jump(START_MS + AHEAD_MS)
    await world.round({ mme: {} })
    world.fake.clock.jump(START_MS)
    for (let up = 100; up <= 2_500; up += 100) await round(world, up)
    assert.equal((await world.counted()).counted, [2_500, 25_000])
  },
)

clock('knows in which hour octets moved once the clock is right', async () => {
  const world = await ahead()
  world.fake.clock.jump(START_MS)
  for (let up = 200; up <= 500; up += 100) await round(world, up)
  const series = await world.usage.series(ANN, 0, START_MS + 24 * 3_600_000, 'hour')
  assert.equal(
    series.map(({ atMs, upBytes }) => [atMs, upBytes]),
    [
      [START_MS, 400],
      [START_MS + AHEAD_MS, 100],
    ],
  )
  const spans = await world.db.all<{ readonly spans: string }>(
    'select spans from sessions_ledger order by hour_ms',
  )
  // One of them for the polls of five minutes, without a hole but that of the moment itself.
  const [[, fromMs, toMs, seenMs]] = JSON.parse(spans[0]?.spans ?? '[[]]')
  assert.equal([toMs - fromMs, seenMs], [3 * INTERVAL_MS, 3 * INTERVAL_MS])
})

clock.run()
