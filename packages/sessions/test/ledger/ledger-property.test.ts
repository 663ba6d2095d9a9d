import type { UsageIncrement } from '@steeple/contracts'
import { assert, memoryDb, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { sourceOrder } from '../../src/ledger/counting.ts'
import { localHours } from '../../src/ledger/hours.ts'
import { ledgerWriter, type Share } from '../../src/ledger/ledger.ts'
import { MIGRATIONS } from '../../src/migrations.ts'
import { LEDGER } from '../../src/store/tables.ts'
import { ANN, START_MS } from '../support/world.ts'

const property = suite('sessions/ledger/property', { limitMs: 600_000 })
const ORDER = ['gtpu', 'cdr']
const POLL_MS = 15_000
const WINDOW_MS = 600_000
const POLLS = WINDOW_MS / POLL_MS

interface Result {
  readonly rows: readonly object[]
  readonly up: number
  readonly down: number
  /** What the listener has been told, all together. */
  readonly told: readonly [number, number]
}

/** The ledger after shares that came in these batches. */
async function ledgerOf(batches: readonly (readonly Share[])[], zone = 'UTC'): Promise<Result> {
  const db = memoryDb(MIGRATIONS)
  const writer = ledgerWriter(localHours(zone), sourceOrder(ORDER))
  const increments: UsageIncrement[] = []
  for (const batch of batches) increments.push(...(await db.write((tx) => writer(tx, batch))))
  const rows = await db.all<{ readonly counted_up: number; readonly counted_down: number }>(
    `select imsi, hour_ms, source, up_bytes, down_bytes, counted_up, counted_down, is_incomplete, counted_incomplete
     from sessions_ledger order by imsi, hour_ms, source`,
  )
  db.close()
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)
  return {
    rows,
    up: sum(rows.map((row) => row.counted_up)),
    down: sum(rows.map((row) => row.counted_down)),
    told: [sum(increments.map(({ upBytes }) => upBytes)), sum(increments.map(({ downBytes }) => downBytes))],
  }
}

function share(
  source: string,
  fromMs: number,
  toMs: number,
  octets: readonly [number, number],
  isIncomplete = false,
): Share {
  const [upBytes, downBytes] = octets
  return { imsi: ANN, source, lane: 'internet', fromMs, toMs, upBytes, downBytes, isIncomplete }
}

/** Cuts a permuted list into batches. */
function inBatches<T>(list: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  const batches: (readonly T[])[] = []
  for (let at = 0, turn = 0; at < list.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    batches.push(list.slice(at, at + size))
    at += size
  }
  return batches
}

const octets = fc.tuple(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: 1_000_000 }))
const anyShare = fc
  .record({
    source: fc.constantFrom('gtpu', 'cdr', 'amf', 'submission:a', 'submission:b'),
    lane: fc.constantFrom('internet', 'ims', ''),
    from: fc.integer({ min: 0, max: 7_200 }),
    length: fc.constantFrom(0, 1, 15, 60, 600, 3_600, 7_200),
    octets,
    isIncomplete: fc.boolean(),
  })
  .map(({ source, lane, from, length, octets: moved, isIncomplete }) => ({
    ...share(source, START_MS + from * 1_000, START_MS + (from + length) * 1_000, moved, isIncomplete),
    lane,
  }))

property('comes to the same in whatever order and batches volumes arrive', async () => {
  const arrival = fc
    .array(anyShare, { minLength: 1, maxLength: 25 })
    .chain((shares) =>
      fc.tuple(
        fc.constant(shares),
        fc.shuffledSubarray(shares, { minLength: shares.length }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      ),
    )
  await fc.assert(
    fc.asyncProperty(arrival, async ([shares, shuffled, sizes]) => {
      const one = await ledgerOf([shares], 'Asia/Kathmandu')
      const other = await ledgerOf(inBatches(shuffled, sizes), 'Asia/Kathmandu')
      assert.equal(other.rows, one.rows)
      assert.equal(other.told, [one.up, one.down])
    }),
    { numRuns: rounds(40) },
  )
})

/** What the tap was in a window of ten minutes, and whether a charging record spans it. */
const windowOf = fc.record({
  tap: fc.constantFrom('whole', 'away', 'from the middle', 'with loss'),
  isCharged: fc.boolean(),
  polls: fc.array(octets, { minLength: POLLS, maxLength: POLLS }),
})

property('counts the tap where it saw all, and the larger figure where it did not', async () => {
  const traffic = fc.tuple(
    fc.array(windowOf, { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
  )
  await fc.assert(
    fc.asyncProperty(traffic, async ([windows, seed, sizes]) => {
      const shares: Share[] = []
      let expected = 0
      windows.forEach(({ tap, isCharged, polls }, index) => {
        const fromMs = START_MS + index * WINDOW_MS
        const seen = tap === 'away' ? [] : tap === 'from the middle' ? polls.slice(POLLS / 2) : polls
        const first = polls.length - seen.length
        let tapUp = 0
        seen.forEach(([up, down], poll) => {
          const at = fromMs + (first + poll) * POLL_MS
          const isLost = tap === 'with loss'
          const kept = isLost ? Math.floor(up / 2) : up
          tapUp += kept
          shares.push(share('gtpu', at, at + POLL_MS, [kept, down], isLost))
        })
        const truth = polls.reduce((sum, [up]) => sum + up, 0)
        if (isCharged) shares.push(share('cdr', fromMs, fromMs + WINDOW_MS, [truth, 0]))
        expected += tap === 'whole' || !isCharged ? tapUp : Math.max(tapUp, truth)
      })
      const shuffled = shares
        .map((each, index) => ({ each, at: Math.imul(index + 1, seed | 1) >>> 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ each }) => each)
      assert.is((await ledgerOf(inBatches(shuffled, sizes))).up, expected)
    }),
    { numRuns: rounds(15) },
  )
})

property('adds up what sources saw one after the other', async () => {
  const both = [
    share('gtpu', START_MS, START_MS + 300_000, [100, 0]),
    share('cdr', START_MS + 300_000, START_MS + 900_000, [80, 0]),
  ]
  for (const batches of [[both], [both.toReversed()], both.map((each) => [each])])
    assert.is((await ledgerOf(batches)).up, 180)
})

property('gives no octet of a better source to two of a worse one', async () => {
  const tap = share('gtpu', START_MS, START_MS + 100_000, [100, 0], true)
  const records = [0, 1].map((index) =>
    share('cdr', START_MS + index * 50_000, START_MS + (index + 1) * 50_000, [80, 0]),
  )
  assert.is((await ledgerOf([[tap, ...records]])).up, 160)
})

property('counts every submission, and of the octets that a tap saw at that moment none again', async () => {
  const submissions = ['a', 'b', 'c'].map((name) => share(`submission:${name}`, START_MS, START_MS, [10, 0]))
  assert.is((await ledgerOf([submissions, submissions])).up, 60)
  const tap = share('gtpu', START_MS - 60_000, START_MS + 60_000, [1_000, 0])
  assert.is((await ledgerOf([submissions, [tap]])).up, 1_000)
})

property('takes an hour whose spans are no longer kept as a whole', async () => {
  const db = memoryDb(MIGRATIONS)
  const writer = ledgerWriter(localHours('UTC'), sourceOrder(ORDER))
  await db.write((tx) => writer(tx, [share('gtpu', START_MS, START_MS + 60_000, [100, 0])]))
  await db.write(async (tx) => {
    const [row] = await LEDGER.select(tx, '')
    if (row !== undefined) await LEDGER.put(tx, { ...row, is_open: 0, spans: null })
  })
  const late = [share('cdr', START_MS, START_MS + 600_000, [130, 0])]
  const [increment] = await db.write((tx) => writer(tx, late))
  assert.equal([increment?.source, increment?.upBytes], [undefined, undefined])
  const rows = await LEDGER.select(db, 'order by source')
  assert.equal(
    rows.map(({ source, up_bytes: up, counted_up: counted }) => [source, up, counted]),
    [
      ['cdr', 130, 0],
      ['gtpu', 100, 100],
    ],
  )
  db.close()
})

property.run()
