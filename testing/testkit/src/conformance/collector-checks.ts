import type { Collector, ImsiHash, SessionSighting } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import type { BegunSession, CollectedSessions, CollectedTraffic, CollectorFixture } from './collector.ts'
import { CollectorLedger } from './collector-ledger.ts'
import { wellFormedSighting, wellFormedVolume } from './collector-rows.ts'
import { type Check, changesNothing, honoursAbort, patient, rejection } from './common.ts'

type CollectorCheck = Check<CollectorFixture>

/** A requirement of those that know sessions; the others have nothing to show. */
function ofSessions(
  sentence: string,
  body: (sessions: CollectedSessions, fixture: CollectorFixture) => Promise<void>,
): CollectorCheck {
  return {
    sentence,
    body: async (fixture) => {
      if (fixture.sessions !== undefined) await body(fixture.sessions, fixture)
    },
  }
}

/** As above, of those that count octets. */
function ofTraffic(
  sentence: string,
  body: (traffic: CollectedTraffic, fixture: CollectorFixture) => Promise<void>,
): CollectorCheck {
  return {
    sentence,
    body: async (fixture) => {
      if (fixture.traffic !== undefined) await body(fixture.traffic, fixture)
    },
  }
}

/** Something to give, of whatever the source knows. */
async function somethingHappens({ sessions, traffic }: CollectorFixture): Promise<void> {
  await sessions?.begin()
  if (traffic !== undefined) await traffic.move(traffic.phones[0], 1_500, 64_000)
}

function one(live: readonly SessionSighting[], { imsi, apn }: BegunSession): SessionSighting {
  const [found, ...others] = live.filter((each) => each.imsi === imsi && each.apn === apn)
  assert.ok(found !== undefined, 'a session that has begun must be seen')
  assert.is(others.length, 0, 'one session must be seen once')
  return found
}

function isGone(live: readonly SessionSighting[], { imsi }: { readonly imsi: ImsiHash }, why: string): void {
  assert.not.ok(
    live.some((each) => each.imsi === imsi),
    why,
  )
}

function holds(
  ledger: CollectorLedger,
  { phones }: CollectedTraffic,
  first: readonly [number, number],
  second: readonly [number, number],
): void {
  assert.equal(ledger.sumOf(phones[0]), first)
  assert.equal(ledger.sumOf(phones[1]), second)
}

const GIVING: readonly CollectorCheck[] = [
  {
    sentence: 'names its source, and says how it does',
    body: async ({ collector }) => {
      assert.match(collector.source, /^[a-z][a-z0-9-]*$/)
      const health = collector.health?.()
      if (health !== undefined) assert.ok(['ok', 'degraded', 'down'].includes(health.status))
    },
  },
  {
    sentence: 'gives well-formed sightings and volumes',
    body: async (fixture) => {
      await somethingHappens(fixture)
      const { sightings, volumes } = await fixture.collector.poll(undefined, patient())
      assert.ok(sightings.length + volumes.length > 0, 'what happens must be given')
      const nowMs = fixture.clock.nowMs()
      for (const sighting of sightings) wellFormedSighting(sighting, nowMs)
      for (const volume of volumes) wellFormedVolume(volume, nowMs)
      const references = sightings.map(({ reference }) => reference)
      assert.is(new Set(references).size, references.length, 'a reference must name one session')
    },
  },
  {
    sentence: 'names no subscriber but by the hash, also when it fails',
    body: async (fixture) => {
      await somethingHappens(fixture)
      const { collector } = fixture
      const given: unknown[] = [await collector.poll(undefined, patient()), collector.health?.()]
      await fixture.fallSilent()
      const error = await rejection(
        () => collector.poll(undefined, patient()),
        'a source that cannot be read must be an error',
      )
      given.push(`${error}`, collector.health?.())
      const text = JSON.stringify(given)
      assert.ok(fixture.imsis.length > 0, 'the fixture must name its IMSIs')
      for (const imsi of fixture.imsis) assert.not.ok(text.includes(imsi), 'an IMSI is in what was given')
    },
  },
  {
    sentence: 'fails where the source cannot be read, and takes that for no end of anything',
    body: async (fixture) => {
      const ledger = new CollectorLedger()
      await somethingHappens(fixture)
      await ledger.round(fixture.collector)
      await fixture.fallSilent()
      await rejection(() => ledger.ask(fixture.collector), 'a source that cannot be read must be an error')
      const next = await fixture.reopen()
      await rejection(() => ledger.ask(next), 'a source that cannot be read must be an error')
    },
  },
  {
    sentence: 'changes nothing outside by polling, and honours an aborted signal',
    body: async (fixture) => {
      await somethingHappens(fixture)
      await changesNothing(fixture, () => fixture.collector.poll(undefined, patient()))
      await honoursAbort(fixture, (signal) => fixture.collector.poll(undefined, signal), 'poll')
    },
  },
]

const SESSIONS: readonly CollectorCheck[] = [
  ofSessions('sees each session with what is known of it', async (sessions, { collector }) => {
    const begun = [await sessions.begin(), await sessions.begin()]
    const ledger = new CollectorLedger()
    await ledger.round(collector)
    for (const session of begun) {
      const { apn, address, prefix, state } = one(ledger.live, session)
      const { apn: begunApn, address: begunAddress, prefix: begunPrefix } = session
      assert.equal([apn, address, prefix], [begunApn, begunAddress, begunPrefix])
      assert.is.not(state, 'ended')
    }
  }),
  ofSessions('names a session the same as long as it lives', async (sessions, fixture) => {
    const session = await sessions.begin()
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    const { reference } = one(ledger.live, session)
    await sessions.begin()
    await ledger.round(fixture.collector)
    assert.is(one(ledger.live, session).reference, reference)
    await ledger.round(await fixture.reopen())
    assert.is(one(ledger.live, session).reference, reference, 'another copy must name it the same')
  }),
  ofSessions('lets sessions end that are not there any more, and no others', async (sessions, fixture) => {
    const [leaving, staying] = [await sessions.begin(), await sessions.begin()]
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    const { reference } = one(ledger.live, leaving)
    const { reference: kept } = one(ledger.live, staying)
    await sessions.end(leaving)
    await ledger.round(fixture.collector)
    isGone(ledger.live, leaving, 'a session that has ended must be seen to end')
    assert.is(one(ledger.live, staying).reference, kept, 'the others must keep their names')
    const next = await sessions.begin()
    await ledger.round(fixture.collector)
    assert.is.not(one(ledger.live, next).reference, reference, 'a name must not be used again')
  }),
  ofSessions('sees the end of a session also when it was away at that moment', async (sessions, fixture) => {
    const session = await sessions.begin()
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    await sessions.end(session)
    await ledger.round(await fixture.reopen())
    isGone(ledger.live, session, 'a session that has ended must be seen to end')
  }),
  ofSessions('keeps no session alive that a restart of the core has ended', async (sessions, fixture) => {
    const session = await sessions.begin()
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    one(ledger.live, session)
    await fixture.restartCore()
    await ledger.round(fixture.collector)
    isGone(ledger.live, session, 'no session lives on in a core that has restarted')
    const next = await sessions.begin()
    await ledger.round(fixture.collector)
    one(ledger.live, next)
  }),
]

const OCTETS: readonly CollectorCheck[] = [
  ofTraffic('counts every octet once and for whom it was, over many polls', async (traffic, fixture) => {
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    for (const bytes of [1, 1_500, 70_000]) {
      await traffic.move(traffic.phones[0], bytes, bytes * 2)
      await ledger.round(fixture.collector)
      await traffic.move(traffic.phones[1], bytes * 3, 0)
      await ledger.round(fixture.collector)
      await ledger.round(fixture.collector)
    }
    holds(ledger, traffic, [71_501, 143_002], [214_503, 0])
  }),
  ofTraffic('gives again what was not counted', async (traffic, fixture) => {
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    await traffic.move(traffic.phones[0], 100, 200)
    await ledger.ask(fixture.collector)
    await traffic.move(traffic.phones[0], 1, 2)
    await ledger.ask(fixture.collector)
    await ledger.round(fixture.collector)
    holds(ledger, traffic, [101, 202], [0, 0])
    await traffic.move(traffic.phones[1], 10, 20)
    await ledger.ask(fixture.collector)
    await ledger.round(await fixture.reopen())
    holds(ledger, traffic, [101, 202], [10, 20])
  }),
  ofTraffic('counts nothing twice and goes on when the core restarts', async (traffic, fixture) => {
    await acrossRestart(traffic, fixture, async () => {
      await fixture.restartCore()
      return fixture.collector
    })
  }),
  ofTraffic('counts nothing twice and goes on when its source restarts', async (traffic, fixture) => {
    await acrossRestart(traffic, fixture, async () => {
      await (fixture.restartSource ?? fixture.restartCore)()
      return fixture.collector
    })
  }),
  ofTraffic('counts nothing twice and loses nothing when it restarts itself', async (traffic, fixture) => {
    const ledger = await acrossRestart(traffic, fixture, () => fixture.reopen())
    // What moved before it was ended, and after it was asked for the last time.
    const next = await fixture.reopen()
    await ledger.round(next)
    await traffic.move(traffic.phones[0], 5, 7)
    await ledger.round(await fixture.reopen())
    holds(ledger, traffic, [6_015, 9_027], [0, 0])
  }),
  ofTraffic('says that it has missed something', async (traffic, fixture) => {
    if (traffic.lose === undefined) return
    const ledger = new CollectorLedger()
    await ledger.round(fixture.collector)
    await traffic.lose(traffic.phones[0])
    await traffic.move(traffic.phones[0], 1, 1)
    const { lost, volumes } = await ledger.round(fixture.collector)
    const isSaid = volumes.some(({ isIncomplete }) => isIncomplete) || (lost?.packets ?? 0) > 0
    assert.ok(isSaid, 'what was missed must be said')
  }),
]

async function acrossRestart(
  traffic: CollectedTraffic,
  { collector }: CollectorFixture,
  restart: () => Promise<Collector>,
): Promise<CollectorLedger> {
  const ledger = new CollectorLedger()
  await ledger.round(collector)
  await traffic.move(traffic.phones[0], 1_000, 2_000)
  await ledger.round(collector)
  const next = await restart()
  await ledger.round(next)
  holds(ledger, traffic, [1_000, 2_000], [0, 0])
  await traffic.move(traffic.phones[0], 10, 20)
  await ledger.round(next)
  await ledger.round(next)
  holds(ledger, traffic, [1_010, 2_020], [0, 0])
  const last = await restart()
  // More than its counter ever read, and before anybody has looked at it again.
  await traffic.move(traffic.phones[0], 5_000, 7_000)
  await ledger.round(last)
  holds(ledger, traffic, [6_010, 9_020], [0, 0])
  return ledger
}

/** What every collector must do. */
export const COLLECTOR_CHECKS: readonly CollectorCheck[] = [...GIVING, ...SESSIONS, ...OCTETS]
