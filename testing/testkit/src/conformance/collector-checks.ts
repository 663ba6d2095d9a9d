import type {
  Clock,
  Collection,
  Collector,
  Imsi,
  ImsiHash,
  SessionSighting,
  Volume,
} from '@steeple/contracts'
import * as assert from 'uvu/assert'
import type { BodyOptions } from '../suite.ts'
import {
  type Check,
  changesNothing,
  honoursAbort,
  isCount,
  patient,
  rejection,
  runChecks,
  type WorldFixture,
} from './common.ts'

interface Octets {
  upBytes: number
  downBytes: number
}

/** Counts what a collector gives as whoever keeps usage does: volumes with the position in one step. */
class CollectorLedger {
  readonly #sums = new Map<string, Octets>()
  readonly #counters = new Map<string, Octets & { generation: string }>()
  readonly #live = new Map<string, SessionSighting>()
  /** Whose a reference was, also when the session has ended. */
  readonly #owners = new Map<string, string>()
  #position: string | undefined

  /** Asks from the kept position and counts. */
  async round(collector: Collector): Promise<Collection> {
    const collection = await this.ask(collector)
    this.count(collection)
    return collection
  }

  /** Asks from the kept position; nothing is counted. */
  ask(collector: Collector): Promise<Collection> {
    return collector.poll(this.#position, patient())
  }

  count({ sightings, isWhole, volumes, position }: Collection): void {
    if (isWhole) this.#live.clear()
    for (const sighting of sightings) {
      this.#owners.set(sighting.reference, sighting.imsi)
      if (sighting.state === 'ended') this.#live.delete(sighting.reference)
      else this.#live.set(sighting.reference, sighting)
    }
    for (const volume of volumes) this.#add(volume)
    this.#position = position ?? this.#position
  }

  /** The sessions that live, as far as was counted. */
  get live(): readonly SessionSighting[] {
    return [...this.#live.values()]
  }

  /** What was counted of it, whatever the volumes were keyed with. */
  sumOf({ imsi, address, prefix, reference }: BegunSession): readonly [number, number] {
    const names = new Set<string | undefined>([imsi, address, prefix, reference])
    for (const [name, owner] of this.#owners) if (owner === imsi) names.add(name)
    const sums = [...this.#sums].filter(([name]) => names.has(name)).map(([, sum]) => sum)
    return [
      sums.reduce((sum, { upBytes }) => sum + upBytes, 0),
      sums.reduce((sum, { downBytes }) => sum + downBytes, 0),
    ]
  }

  #add({ key, count, upBytes, downBytes }: Volume): void {
    const before = count === 'delta' ? undefined : this.#counters.get(count.counter)
    const isKnown = count !== 'delta' && before?.generation === count.generation
    const isBeginning = count !== 'delta' && count.isBeginning === true
    const from = isKnown ? before : isBeginning ? { upBytes, downBytes } : { upBytes: 0, downBytes: 0 }
    const name = key.by === 'imsi' ? key.imsi : key.by === 'address' ? key.address : key.reference
    const sum = this.#sums.get(name) ?? { upBytes: 0, downBytes: 0 }
    this.#sums.set(name, {
      upBytes: sum.upBytes + Math.max(upBytes - from.upBytes, 0),
      downBytes: sum.downBytes + Math.max(downBytes - from.downBytes, 0),
    })
    if (count !== 'delta')
      this.#counters.set(count.counter, { generation: count.generation, upBytes, downBytes })
  }
}

/** How far what a collector says may be from the clock, ms. */
const SKEW_MS = 60_000

/** Says what is wrong with a sighting that was made now. */
function wellFormedSighting(sighting: SessionSighting, nowMs: number): void {
  assert.match(sighting.imsi, /^[0-9a-f]{12}$/)
  assert.ok(sighting.apn.length > 0 && sighting.reference.length > 0, 'APN and reference must be named')
  assert.ok(['active', 'idle', 'ended'].includes(sighting.state))
  assert.ok(['lte', 'nr'].includes(sighting.technology))
  if (sighting.plmn !== undefined) assert.match(sighting.plmn, /^\d{3}-\d{2,3}$/)
  if (sighting.address !== undefined) assert.match(sighting.address, /^\d+(\.\d+){3}$/)
  if (sighting.prefix !== undefined) assert.match(sighting.prefix, /^[0-9a-f:]+\/\d+$/)
  assert.ok(isCount(sighting.seenAtMs), 'seenAtMs must be ms since the epoch')
  assert.ok(Math.abs(sighting.seenAtMs - nowMs) <= SKEW_MS, 'seenAtMs must be the time of the look')
  const { startedAtMs } = sighting
  if (startedAtMs !== undefined)
    assert.ok(isCount(startedAtMs) && startedAtMs <= nowMs + SKEW_MS, 'no session begins in the future')
}

/** Says what is wrong with a volume of a span that has passed. */
function wellFormedVolume(volume: Volume, nowMs: number): void {
  assert.ok(isCount(volume.upBytes) && isCount(volume.downBytes), 'octets must be counts')
  assert.ok(isCount(volume.fromMs) && isCount(volume.toMs), 'a span must be ms since the epoch')
  assert.ok(volume.fromMs <= volume.toMs && volume.toMs <= nowMs + SKEW_MS, 'a span must have passed')
  const { key, count } = volume
  if (key.by === 'imsi') assert.match(key.imsi, /^[0-9a-f]{12}$/)
  else if (key.by === 'address') assert.match(key.address, /^(\d+(\.\d+){3}|[0-9a-f:]+\/\d+)$/)
  else assert.ok(key.by === 'session' && key.reference.length > 0, 'a volume must say whose it is')
  if (count !== 'delta') assert.ok(count.counter.length > 0 && count.generation.length > 0)
}

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

/** A session as the fixture brought it about; what is undefined the source does not know. */
export interface BegunSession {
  readonly imsi: ImsiHash
  readonly apn: string
  readonly address: string | undefined
  readonly prefix: string | undefined
  /** Its name, where another source gives it and volumes are keyed with that. */
  readonly reference?: string
}

/** Sessions of the source, past the collector. */
export interface CollectedSessions {
  /** Another subscriber begins a session at each call; the next poll can see it. */
  begin(): Promise<BegunSession>
  /** It ends as sessions do; the next poll can see that. */
  end(session: BegunSession): Promise<void>
}

/** Traffic of the source, past the collector. */
export interface CollectedTraffic {
  /** Two subscribers, each with a session through which octets can move. */
  readonly phones: readonly [BegunSession, BegunSession]
  /** Moves that many octets of inner IP packets, all visible to the next poll. */
  move(phone: BegunSession, upBytes: number, downBytes: number): Promise<void>
  /** Makes the source miss packets of one of them, where it can. The next poll can know of it. */
  lose?(phone: BegunSession): Promise<void>
}

/** A collector over a simulated or real source that has seen no traffic yet. It knows sessions, traffic, or both. */
export interface CollectorFixture extends WorldFixture {
  readonly collector: Collector
  /** The time that the collector goes by. */
  readonly clock: Pick<Clock, 'nowMs'>
  /** Every IMSI that the source knows, now and later: none of them may be in what a collector gives. */
  readonly imsis: readonly Imsi[]
  readonly sessions?: CollectedSessions
  readonly traffic?: CollectedTraffic
  /**
   * Restarts the core that the collector reads from: counters begin at 0, and no session lives on. The phones of `traffic`
   * come back with the same addresses, nobody else does.
   */
  restartCore(): Promise<void>
  /** Restarts what counts for the collector (a helper, a charging function) where that is not the core itself. */
  restartSource?(): Promise<void>
  /** Ends the collector as the unloading of its plugin does, and gives a new one over the same source. */
  reopen(): Promise<Collector>
  /** From now on the source cannot be read. */
  fallSilent(): Promise<void>
}

/** Registers the tests that every collector passes. `make` gives a fresh fixture for each test. */
export function collectorConformance(
  name: string,
  make: () => Promise<CollectorFixture>,
  options: BodyOptions = {},
): void {
  runChecks(`${name}: collector conformance`, COLLECTOR_CHECKS, make, options)
}
