import { assert, rounds, suite, testSeed } from '@steeple/testkit'
import { array, asyncProperty, constantFrom, assert as holds, integer, record, tuple } from 'fast-check'
import { freeInd, laterSeq, seqIn, seqToBegin, sqnFrom } from '../src/sqn.ts'
import { autnOf, Card } from './support/card.ts'
import { KEYS } from './support/keys.ts'

const sqn = suite('roaming/sqn')
const RAND = Buffer.alloc(16, 7)
const NODES = Array.from({ length: 4 }, (_, i) => `${i}000000${i}-0000-4000-8000-00000000000${i}`)
const DAY_MS = 86_400_000
const ISSUED_MS = Date.UTC(2026, 0, 1)

sqn('is SEQ and index of TS 33.102 annex C.3.2', () => {
  assert.is(sqnFrom(1, 0), 32n)
  assert.is(sqnFrom(3, 31), 127n)
  assert.is(seqIn(sqnFrom(2 ** 43 - 1, 5)), 2 ** 43 - 1)
})

sqn('gives each box an index of its own, the same one to a home that has forgotten', () => {
  const given = new Set<number>()
  for (let i = 0; i < 31; i += 1) {
    const ind = freeInd(given, `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`)
    assert.ok(ind !== undefined && ind >= 1 && ind <= 31 && !given.has(ind), `${ind}`)
    given.add(ind ?? 0)
  }
  assert.is(freeInd(given, NODES[0] ?? ''), undefined, 'a 32nd box gets one')
  assert.is(freeInd(new Set(), NODES[2] ?? ''), freeInd(new Set(), NODES[2] ?? ''))
})

sqn('moves nobody out of reach of a card, be the clock decades ahead', () => {
  const card = new Card(KEYS)
  let highest = 0
  let nowMs = ISSUED_MS
  for (let step = 0; step < 5; step += 1) {
    nowMs += 20 * 365 * DAY_MS
    const seq = seqToBegin({ issuedAtMs: ISSUED_MS, nowMs, aboveOwn: 0, highest })
    assert.is(card.authenticate(RAND, autnOf(KEYS, RAND, sqnFrom(seq, step + 1))), 'takes')
    highest = Math.max(highest, seq)
  }
})

/** What a visited box has of a SIM: in its store, in its HSS, and kept after the lease. */
interface Visited {
  ind: number
  /** As the home has drawn it, and when. */
  granted: { seq: number; atMs: number }
  /** In the HSS; undefined while it is not there. */
  next: number | undefined
  inserted: { seq: number; atMs: number } | undefined
  mark: number
}

type What = 'attach' | 'end' | 'hss_lost' | 'store_lost' | 'home_restored' | 'time' | 'clock_back'

/** What happens. `at`: which box; 0 is the home. */
const STEP = tuple(
  constantFrom<What[]>(
    'attach',
    'attach',
    'attach',
    'end',
    'hss_lost',
    'store_lost',
    'home_restored',
    'time',
    'clock_back',
  ),
  record({ at: integer({ min: 0, max: NODES.length }), days: integer({ min: 0, max: 40 }) }),
)

/**
 * A model of home, boxes and card, with the functions that the product draws by. A clock goes back at most as the service lets it: it goes
 * by the last plausible time (ADR 12), so that it stands still instead.
 */
class Network {
  readonly card = new Card(KEYS)
  readonly boxes = new Map<number, Visited>()
  nowMs = ISSUED_MS + DAY_MS
  home = 1
  #leases = new Map<number, { ind: number; seq: number; atMs: number }>()
  #backup = new Map(this.#leases)

  time(days: number): void {
    this.nowMs += Math.max(1, days * DAY_MS)
    this.#backup = new Map(this.#leases)
  }

  homeRestored(): void {
    this.#leases = new Map(this.#backup)
  }

  /** The home grants, or grants again what the box has lost. */
  #grant(at: number, mark: number): { ind: number; seq: number; atMs: number } {
    const known = this.#leases.get(at)
    const given = new Set([...this.#leases.values()].map(({ ind }) => ind))
    const ind = known?.ind ?? freeInd(given, NODES[at - 1] ?? '') ?? 0
    const highest = Math.max(0, ...[...this.#leases.values()].map(({ seq }) => seq))
    const aboveOwn = Math.max(known?.seq ?? 0, mark)
    const seq = seqToBegin({ issuedAtMs: ISSUED_MS, nowMs: this.nowMs, aboveOwn, highest })
    const lease = { ind, seq, atMs: this.nowMs }
    this.#leases.set(at, lease)
    return lease
  }

  attach(at: number): void {
    if (at === 0) {
      this.home += 1
      this.#authenticate(this.home, 0)
      return
    }
    const box = this.boxes.get(at) ?? this.#visit(at)
    if (box.next === undefined) {
      const seq =
        box.inserted === undefined
          ? Math.max(box.granted.seq, box.mark + 1)
          : laterSeq(box.inserted.seq, box.inserted.atMs, this.nowMs)
      box.inserted = { seq, atMs: this.nowMs }
      box.mark = Math.max(box.mark, seq)
      box.next = seq
    }
    this.#authenticate(box.next, box.ind)
    box.next += 1
  }

  #visit(at: number, mark = 0): Visited {
    const { ind, seq, atMs } = this.#grant(at, mark)
    const box = { ind, granted: { seq, atMs }, next: undefined, inserted: undefined, mark }
    this.boxes.set(at, box)
    return box
  }

  #authenticate(seq: number, ind: number): void {
    // No phone authenticates more than once in ten seconds.
    this.nowMs += 10_000
    assert.is(this.card.authenticate(RAND, autnOf(KEYS, RAND, sqnFrom(seq, ind))), 'takes')
  }

  /** Its lease ends: the HSS is asked for the SQN it had come to before it is removed. */
  end(at: number): void {
    const box = this.boxes.get(at)
    if (box === undefined) return
    this.#visit(at, Math.max(box.mark, (box.next ?? 0) - 1))
  }

  hssLost(at: number): void {
    const box = this.boxes.get(at)
    if (box !== undefined) box.next = undefined
  }

  /** The box has a backup from before it knew the SIM. */
  storeLost(at: number): void {
    if (this.boxes.has(at)) this.#visit(at)
  }
}

const HAPPENS: Readonly<Record<What, (network: Network, at: number, days: number) => void>> = {
  attach: (network, at) => network.attach(at),
  end: (network, at) => network.end(at),
  hss_lost: (network, at) => network.hssLost(at),
  store_lost: (network, at) => network.storeLost(at),
  home_restored: (network) => network.homeRestored(),
  time: (network, _, days) => network.time(days),
  // It goes by the last plausible time: nothing moves.
  clock_back: () => undefined,
}

sqn('no card falls out of step: any order of visits, ends, losses, restores and clocks', async () => {
  await holds(
    asyncProperty(array(STEP, { maxLength: 60, size: 'max' }), async (steps) => {
      const network = new Network()
      for (const [what, { at, days }] of steps) HAPPENS[what](network, at, days)
    }),
    { numRuns: rounds(200), seed: testSeed() },
  )
})

sqn.run()
