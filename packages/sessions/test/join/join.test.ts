import type { Collection } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ANN, BOB, START_MS, sessionsWorld, sighting, type World } from '../support/world.ts'

const join = suite('sessions/join')

type Seen = Readonly<Record<string, readonly Parameters<typeof sighting>[0][]>>

async function sees(world: World, seen: Seen, afterMs?: number): Promise<void> {
  const collections: Record<string, Partial<Collection>> = {}
  for (const [source, parts] of Object.entries(seen)) collections[source] = { sightings: parts.map(sighting) }
  await world.round(collections, afterMs)
}

/** `id state`, one after the other. */
async function states(world: World): Promise<readonly string[]> {
  return (await world.sessions()).map(({ id, state }) => `${id} ${state}`)
}

join('makes one session of what two sources see, whatever their clocks say', async () => {
  const world = await sessionsWorld()
  await sees(world, {
    mme: [{ reference: 'm1', startedAtMs: START_MS - 200_000 }],
    smf: [{ reference: 's1', startedAtMs: START_MS, seenAtMs: START_MS + 3_600_000, cell: undefined }],
  })
  await sees(world, { mme: [{ reference: 'm1', startedAtMs: START_MS - 200_000 }] })
  assert.equal(await states(world), ['1 active'])
})

join('finds the session of a source that does not know its address yet', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ address: undefined, reference: 'm1' }] })
  await sees(world, { mme: [{ address: undefined, reference: 'm1' }], smf: [{ reference: 's1' }] })
  const [row] = await world.sessions()
  assert.equal([row?.address, row?.prefix, (await world.sessions()).length], ['10.45.0.2', null, 1])
})

join('keeps sessions of other APNs, subscribers and addresses apart', async () => {
  const world = await sessionsWorld()
  await sees(world, {
    mme: [
      { reference: 'a' },
      { reference: 'b', apn: 'ims', address: '10.46.0.2' },
      { reference: 'c', imsi: BOB, address: '10.45.0.3' },
      { reference: 'd', address: '10.45.0.4' },
    ],
  })
  assert.equal(await states(world), ['1 active', '2 active', '3 active', '4 active'])
})

join('goes on over a handover between cells, and to NR and back', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }] })
  await sees(world, { mme: [{ reference: 'm1', cell: 'cell-2' }] })
  assert.is((await world.sessions())[0]?.cell, 'cell-2')
  await sees(world, { mme: [], amf: [{ reference: 'n1', technology: 'nr', cell: 'cell-3' }] })
  assert.equal(await states(world), ['1 active'])
  assert.is((await world.sessions())[0]?.technology, 'nr')
  // One source of both.
  await sees(world, { amf: [{ reference: 'n2', technology: 'lte' }], mme: [] })
  assert.equal(await states(world), ['1 active'])
  assert.is((await world.sessions())[0]?.technology, 'lte')
})

join('goes idle and becomes active again without another session', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ state: 'idle' }] })
  assert.equal(await states(world), ['1 idle'])
  await sees(world, { mme: [{ state: 'active' }] })
  assert.equal(await states(world), ['1 active'])
})

join(
  'begins another session at a reattach with the same address: by its reference, by its start',
  async () => {
    const world = await sessionsWorld()
    await sees(world, { mme: [{ reference: 'm1' }] })
    await sees(world, { mme: [{ reference: 'm2' }] })
    assert.equal(await states(world), ['1 ended', '2 active'])
    await sees(world, { mme: [{ reference: 'm3', startedAtMs: START_MS }] })
    await sees(world, { mme: [{ reference: 'm3', startedAtMs: START_MS + 60_000 }] })
    assert.equal(await states(world), ['1 ended', '2 ended', '3 ended', '4 active'])
  },
)

join('joins a reattach over two sources that see it one round after the other', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }], smf: [{ reference: 's1' }] })
  await sees(world, { mme: [{ reference: 'm2' }], smf: [{ reference: 's1' }] })
  assert.equal(await states(world), ['1 ended', '2 active'])
  await sees(world, { mme: [{ reference: 'm2' }], smf: [{ reference: 's2' }] })
  assert.equal(await states(world), ['1 ended', '2 active'])
})

join('is not misled by entries that a restarted core has left behind', async () => {
  const world = await sessionsWorld()
  await sees(world, { smf: [{ reference: 's1', startedAtMs: START_MS - 900_000 }] })
  // The phone has come back with its address; the old entry stays in the list, in whatever order.
  const fresh = { reference: 's2', startedAtMs: START_MS }
  const stale = { reference: 's1', startedAtMs: START_MS - 900_000 }
  await sees(world, { smf: [fresh, stale] })
  await sees(world, { smf: [stale, fresh] })
  assert.equal(await states(world), ['1 ended', '2 active'])
  const again = await world.restarted()
  await sees(again, { smf: [stale, fresh] })
  assert.equal(await states(again), ['1 ended', '2 active'])
})

join('gives the address to the newer one of two that are first seen together', async () => {
  const world = await sessionsWorld()
  const fresh = { reference: 's2', imsi: BOB, startedAtMs: START_MS }
  const stale = { reference: 's1', startedAtMs: START_MS - 900_000 }
  await sees(world, { smf: [fresh, stale] })
  const rows = await world.sessions()
  assert.equal(
    rows.map(({ imsi, state }) => [imsi, state]),
    [
      [ANN, 'ended'],
      [BOB, 'active'],
    ],
  )
})

join('makes one session of an entry that a list has twice', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }, { reference: 'm1' }] })
  await sees(world, { mme: [{ reference: 'm1' }, { reference: 'm1', state: 'idle' }] })
  assert.equal(await states(world), ['1 idle'])
})

join('ends a session when no source that answers lists it', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }], smf: [{ reference: 's1' }] })
  await sees(world, { mme: [], smf: [{ reference: 's1' }] })
  assert.equal(await states(world), ['1 active'])
  await sees(world, { mme: [], smf: [] })
  const [row] = await world.sessions()
  assert.equal([row?.state, row?.ended_at_ms], ['ended', START_MS + 45_000])
})

join('does not end a session whose source stops answering, and says so', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }], smf: [{ reference: 's1', address: '10.45.0.9' }] })
  for (let round = 0; round < 20; round++) await sees(world, { smf: [] })
  assert.equal(await states(world), ['1 active', '2 ended'])
  const [health] = await world.health()
  assert.is(health?.status, 'degraded')
  assert.match(health?.detail ?? '', 'mme since 2026-11-22T10:00:15.000Z')
})

join('lets a source that does not answer have no say for ever', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }], smf: [{ reference: 's1' }] })
  await sees(world, { smf: [] })
  assert.equal(await states(world), ['1 active'])
  for (let round = 0; round < 5; round++) await sees(world, { smf: [] })
  assert.equal(await states(world), ['1 ended'])
})

join('goes on with a session that a source had left out of one list', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }] })
  await sees(world, { mme: [] })
  await sees(world, { mme: [{ reference: 'm1' }] })
  assert.equal(await states(world), ['1 active'])
  assert.is((await world.sessions())[0]?.ended_at_ms, null)
  // Much later, and without a start, it is another one's.
  await sees(world, { mme: [] })
  await sees(world, { mme: [{ reference: 'm1' }] }, 3 * 3_600_000)
  assert.equal(await states(world), ['1 ended', '2 active'])
})

join('keeps a session that began and ended between two looks', async () => {
  const world = await sessionsWorld()
  const short = {
    reference: 'c1',
    state: 'ended' as const,
    startedAtMs: START_MS + 1_000,
    seenAtMs: START_MS + 5_000,
  }
  await sees(world, { cdr: [short] })
  await sees(world, { cdr: [short] })
  const rows = await world.sessions()
  assert.equal(
    rows.map((row) => [row.state, row.started_at_ms, row.ended_at_ms]),
    [['ended', START_MS + 1_000, START_MS + 5_000]],
  )
})

join('leaves sessions that a part of a list does not name', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }] })
  await world.round({ mme: { isWhole: false } })
  assert.equal(await states(world), ['1 active'])
  await world.round({
    mme: {
      isWhole: false,
      sightings: [sighting({ reference: 'm1', state: 'ended', seenAtMs: START_MS + 32_000 })],
    },
  })
  assert.is((await world.sessions())[0]?.ended_at_ms, START_MS + 32_000)
})

join('knows all of it again after a restart, and writes nothing when nothing has changed', async () => {
  const world = await sessionsWorld()
  const seen = { mme: [{ reference: 'm1', startedAtMs: START_MS }], smf: [{ reference: 's1' }] }
  await sees(world, seen)
  const before = JSON.stringify(await world.sessions())
  const again = await world.restarted()
  const links = await again.db.all('select * from sessions_link')
  await again.db.exec(
    "create trigger no_writes before update on sessions_session begin select raise(abort, 'written'); end",
  )
  await again.db.exec(
    "create trigger no_links before update on sessions_link begin select raise(abort, 'written'); end",
  )
  await sees(again, seen)
  await sees(again, seen)
  assert.is(JSON.stringify(await again.sessions()), before)
  assert.equal(await again.db.all('select * from sessions_link'), links)
})

join('tells of sessions one by one, and of a crowd by its number', async () => {
  const world = await sessionsWorld()
  await sees(world, { mme: [{ reference: 'm1' }] })
  const crowd = Array.from({ length: 300 }, (_, index) => ({
    reference: `c${index}`,
    imsi: `${index}`.padStart(12, '0') as typeof ANN,
    address: `10.45.${1 + (index >> 8)}.${index & 255}`,
  }))
  await sees(world, { mme: crowd })
  assert.equal(
    world.fake.observed.map(({ type, subject, data }) => ({ type, subject, data })),
    [
      {
        type: 'session.begin',
        subject: '1',
        data: { imsi_sha256_12: ANN, apn: 'internet', technology: 'lte' },
      },
      { type: 'session.many', subject: 'sessions', data: { began: 300, ended: 1 } },
    ],
  )
})

join('counts sessions of APNs beyond the most apart as one, and as none when they are over', async () => {
  const world = await sessionsWorld()
  const made = Array.from({ length: 250 }, (_, index) => ({
    reference: `r${index}`,
    imsi: `${index}`.padStart(12, '0') as typeof ANN,
    address: `10.45.0.${index}`,
    apn: `made-up-${index}`,
  }))
  const others = (): unknown =>
    world.fake.metrics.value('svc_sessions_active', { apn: 'other', plmn: 'other' })
  await sees(world, { mme: made })
  // Two of 200 series are of the node's own APNs.
  assert.is(others(), 52)
  await sees(world, { mme: [] })
  assert.is(others(), 0)
})

join.run()
