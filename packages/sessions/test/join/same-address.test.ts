import { assert, suite } from '@steeple/testkit'
import { sessionsWorld, sighting } from '../support/world.ts'

const join = suite('sessions/same address')

join('tells a session that was seen to begin from an ended one with its address and reference', async () => {
  const world = await sessionsWorld()
  const seen = () => ({ mme: { sightings: [sighting()] } })
  const began = () => ({ mme: { sightings: [sighting({ startedAtMs: world.fake.clock.nowMs() + 15_000 })] } })
  const none = { mme: { sightings: [] } }
  const states = async () => (await world.sessions()).map(({ id, state }) => [id, state])
  await world.round(seen())
  await world.round(none)
  const second = began()
  await world.round(second)
  assert.equal(await states(), [
    [1, 'ended'],
    [2, 'active'],
  ])
  // As long as it lives it is that one, also for a copy of the collector that has not seen it begin.
  await world.round(second)
  await world.round(seen())
  await world.round(none)
  await world.round(began())
  assert.equal(await states(), [
    [1, 'ended'],
    [2, 'ended'],
    [3, 'active'],
  ])
})

join.run()
