import { policyRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ANN, BOB, charged, reading, START_MS, sessionsWorld, sighting, type World } from './support/world.ts'

const retention = suite('sessions/retention')
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Days later, as the clock of the machine says, and the hour that pruning comes in. */
async function later(world: World, days: number): Promise<void> {
  world.fake.clock.jump(world.fake.clock.nowMs() + days * DAY_MS - HOUR_MS)
  await world.fake.clock.advance(HOUR_MS)
}

async function kept(world: World): Promise<readonly number[]> {
  const tables = ['session', 'link', 'ledger']
  const counts = tables.map((table) => world.db.all(`select * from sessions_${table}`))
  return (await Promise.all(counts)).map((rows) => rows.length)
}

/** A session that has ended, with octets, and one that goes on. */
async function used(world: World): Promise<void> {
  const going = sighting({ reference: 'r2', apn: 'ims', address: '10.46.0.2' })
  const gtpu = { volumes: [reading(100, START_MS + 15_000)] }
  await world.round({ mme: { sightings: [sighting(), going] }, gtpu })
  await world.round({ mme: { sightings: [going] } })
}

retention('keeps history and ledger for as long as the policy says, and what goes on for ever', async () => {
  const world = await sessionsWorld()
  const days = { sessions: 2, metrics: 5, audit: 400 }
  await world.fake.provide(policyRef, { bundle: () => ({ retention_days: days }) } as never)
  await used(world)
  await later(world, 1)
  assert.equal(await kept(world), [2, 2, 1])
  await later(world, 1.1)
  assert.equal(await kept(world), [1, 1, 1])
  await later(world, 3)
  assert.equal(await kept(world), [1, 1, 0])
})

retention('takes the specification at its word while no policy is loaded', async () => {
  const world = await sessionsWorld()
  await used(world)
  await later(world, 29)
  assert.equal(await kept(world), [2, 2, 1])
  await later(world, 2)
  assert.equal(await kept(world), [1, 1, 1])
  await later(world, 60)
  assert.equal(await kept(world), [1, 1, 0])
})

retention('removes nothing while the clock is in doubt', async () => {
  const world = await sessionsWorld()
  await used(world)
  const { clock } = world.fake
  Object.assign(clock, { doubt: () => 'it leapt' })
  await later(world, 400)
  assert.equal(await kept(world), [2, 2, 1])
  Object.assign(clock, { doubt: () => undefined })
  await clock.advance(HOUR_MS)
  assert.equal(await kept(world), [1, 1, 0])
})

retention('closes hours after three days: what is late is set against the hour as a whole', async () => {
  const world = await sessionsWorld()
  await used(world)
  const open = 'select is_open, spans from sessions_ledger'
  await later(world, 2)
  assert.is((await world.db.all<{ readonly is_open: number }>(open))[0]?.is_open, 1)
  await later(world, 2)
  assert.equal(await world.db.all(open), [{ is_open: 0, spans: null }])
  await world.round({ cdr: { volumes: [charged(130, START_MS, START_MS + 600_000)] } })
  assert.equal(await world.counted(ANN), { counted: [100, 1_000], cdr: [130, 1_300], gtpu: [100, 1_000] })
})

retention('leaves what counts of a closed hour as it is, whatever comes late', async () => {
  const world = await sessionsWorld()
  await used(world)
  const at = (minutes: number): number => START_MS + minutes * 60_000
  await world.round({ cdr: { volumes: [charged(200, at(30), at(40))] } })
  assert.equal(await world.counted(), { counted: [300, 3_000], cdr: [200, 2_000], gtpu: [100, 1_000] })
  await later(world, 4)
  world.increments.length = 0
  await world.round({ other: { volumes: [charged(50, at(50), at(51))] } })
  assert.equal((await world.counted()).counted, [300, 3_000])
  assert.equal(world.increments, [])
  await world.round({ cdr: { volumes: [charged(7, at(45), at(46))] } })
  await later(world, 1)
  await world.round({ cdr: { volumes: [charged(8, at(55), at(56))] } })
  assert.equal(await world.counted(), {
    counted: [300, 3_000],
    cdr: [215, 2_150],
    gtpu: [100, 1_000],
    other: [50, 500],
  })
})

retention('counts in full what comes late to a closed hour of which a worse source alone knows', async () => {
  const world = await sessionsWorld()
  await world.round({ cdr: { volumes: [charged(200, START_MS, START_MS + 600_000)] } })
  await later(world, 4)
  await world.round({ cdr: { volumes: [charged(30, START_MS, START_MS + 600_000)] } })
  await world.round({ first: { volumes: [charged(5, START_MS, START_MS + 60_000)] } })
  assert.equal(await world.counted(), { counted: [230, 2_300], cdr: [230, 2_300], first: [5, 50] })
})

retention('keeps what has ended for as long as a core goes on listing it', async () => {
  const world = await sessionsWorld()
  const left = sighting()
  const next = sighting({ imsi: BOB, reference: 'r2', startedAtMs: START_MS + 30_000 })
  const both = { mme: { sightings: [left, next] } }
  await world.round({ mme: { sightings: [left] } })
  await world.round({ mme: { sightings: [] } })
  await world.round(both)
  await world.round(both)
  const states = async (of: World): Promise<unknown> =>
    (await of.sessions()).map(({ imsi, state }) => [imsi, state])
  const before = await states(world)
  assert.equal(before, [
    [ANN, 'ended'],
    [BOB, 'active'],
  ])
  await later(world, 40)
  const again = await world.restarted()
  await again.round(both)
  assert.equal(await states(again), before)
  // Its time has come when the core has forgotten it too.
  await again.round({ mme: { sightings: [next] } })
  await later(again, 40)
  assert.equal(await states(again), [[BOB, 'active']])
})

retention('counts on after history is gone', async () => {
  const world = await sessionsWorld()
  await used(world)
  await later(world, 100)
  const atMs = world.fake.clock.nowMs()
  await world.round({ mme: { sightings: [sighting()] }, cdr: { volumes: [charged(5, atMs, atMs + 1)] } })
  assert.equal(await world.counted(ANN), { counted: [5, 50], cdr: [5, 50] })
})

retention.run()
