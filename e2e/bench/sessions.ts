import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type Collection,
  type CollectionConsumer,
  collectionConsumerRef,
  type ImsiHash,
  usageLedgerRef,
} from '@steeple/contracts'
import { cpuMs, loadTestbed, type Testbed } from '@steeple/testkit'
import { type Finding, median } from './measure.ts'

const SESSIONS = 10_000
const ROUNDS = 9
const ROUND_LIMIT_MS = 500
const INTERVAL_MS = 15_000
const HOUR_MS = 3_600_000
const HASHES = Array.from(
  { length: SESSIONS },
  (_, index) => index.toString(16).padStart(12, '0') as ImsiHash,
)

/** The join of 10,000 sessions with their octets, a round in which nothing has changed, and a series of 90 days. */
export async function benchSessions(): Promise<readonly Finding[]> {
  const { startTestbed } = await loadTestbed()
  const bed = await startTestbed({
    plugins: [{ dir: fileURLToPath(new URL('../../packages/sessions', import.meta.url)) }],
  })
  try {
    const consumer = serviceOf(bed)
    return [...(await benchRounds(consumer)), ...(await benchSeries(bed, consumer))]
  } finally {
    await bed.stop()
  }
}

function serviceOf(bed: Testbed): CollectionConsumer {
  const consumer = bed.service(collectionConsumerRef)
  if (consumer === undefined) throw new Error('the sessions plugin provides no consumer')
  return consumer
}

/** What an MME and a tap give: each phone has moved `round` × 1,000 octets since the beginning. */
function collections(round: number, atMs: number, fromMs: number): ReadonlyMap<string, Collection> {
  const rest = { isWhole: true, position: undefined, lost: undefined }
  const address = (index: number): string => `10.45.${index >> 8}.${index & 255}`
  const sightings = HASHES.map((imsi, index) => ({
    imsi,
    apn: 'internet',
    plmn: '999-99',
    address: address(index),
    prefix: undefined,
    technology: 'lte' as const,
    cell: '1a2b301',
    state: 'active' as const,
    reference: `mme-${index}`,
    startedAtMs: fromMs,
    seenAtMs: atMs,
  }))
  const volumes = HASHES.map((_, index) => ({
    key: { by: 'address' as const, address: address(index) },
    upBytes: round * 1_000 + (round === 0 ? 0 : index),
    downBytes: round * 10_000,
    fromMs,
    toMs: atMs,
    count: { counter: address(index), generation: 'g1' },
    isIncomplete: false,
  }))
  return new Map([
    ['mme', { ...rest, sightings, volumes: [] }],
    ['gtpu', { ...rest, sightings: [], volumes }],
  ])
}

/** Watches the event loop; gives the processor time of its longest turn, that of making collections included. */
function longestTurn(): () => number {
  let isOver = false
  let longest = 0
  let last = cpuMs()
  const look = (): void => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  return () => {
    isOver = true
    return longest
  }
}

async function benchRounds(consumer: CollectionConsumer): Promise<readonly Finding[]> {
  const fromMs = Date.now() - 2 * HOUR_MS
  const { signal } = new AbortController()
  const spent = async (round: number, at: number): Promise<number> => {
    const given = collections(round, fromMs + at * INTERVAL_MS, fromMs)
    // What makes the collections is no part of it.
    await nextTurn()
    const before = cpuMs()
    await consumer.take(given, signal)
    return cpuMs() - before
  }
  const first = await spent(1, 1)
  const turns = longestTurn()
  const moving: number[] = []
  for (let round = 2; round < 2 + ROUNDS; round++) moving.push(await spent(round, round))
  const turnMs = turns()
  const still: number[] = []
  for (let round = 0; round < ROUNDS; round++) still.push(await spent(1 + ROUNDS, 2 + ROUNDS + round))
  const target = `≤ ${ROUND_LIMIT_MS} ms, one commit`
  const line = (name: string, value: number, limit: number, aim: string): Finding => ({
    name,
    value,
    unit: 'ms CPU',
    target: aim,
    isMet: value <= limit,
  })
  return [
    line(`join of ${SESSIONS} new sessions with their octets`, first, 2 * ROUND_LIMIT_MS, 'none'),
    line(`join of ${SESSIONS} sessions, all of which move data`, median(moving), ROUND_LIMIT_MS, target),
    {
      name: 'longest turn of the event loop meanwhile',
      value: turnMs,
      unit: 'ms CPU',
      target: 'none',
      isMet: true,
    },
    line(`the same, none of which does`, median(still), ROUND_LIMIT_MS / 5, 'a fifth of that'),
  ]
}

const DAYS = 90
const LEDGER_ROWS = Number(process.env.BENCH_LEDGER_ROWS ?? 2_000_000)
const SERIES_LIMIT_MS = 10

/** A ledger of 2 million rows, filled by rounds of late volumes of one subscriber each. */
async function benchSeries(bed: Testbed, consumer: CollectionConsumer): Promise<readonly Finding[]> {
  const usage = bed.service(usageLedgerRef)
  if (usage === undefined) throw new Error('the sessions plugin provides no ledger')
  const hours = DAYS * 24
  const subscribers = Math.ceil(LEDGER_ROWS / hours)
  const end = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const begin = end - hours * HOUR_MS
  const { signal } = new AbortController()
  // As a network fills it: hour by hour, every subscriber in each.
  for (let hour = 0; hour < hours; hour += 4) {
    const volumes = Array.from({ length: 4 * subscribers }, (_, index) => {
      const fromMs = begin + (hour + Math.floor(index / subscribers)) * HOUR_MS
      const imsi = HASHES[index % subscribers] as ImsiHash
      return {
        key: { by: 'imsi' as const, imsi },
        upBytes: 1_000,
        downBytes: 9_000,
        fromMs,
        toMs: fromMs + HOUR_MS / 2,
        count: 'delta' as const,
        isIncomplete: false,
      }
    })
    const one = { sightings: [], isWhole: false, volumes, position: String(hour), lost: undefined }
    await consumer.take(new Map([['cdr', one]]), signal)
  }
  const took: number[] = []
  for (let index = 0; index < 50; index++) {
    const imsi = HASHES[(index * 17) % subscribers] as ImsiHash
    const before = performance.now()
    const series = await usage.series(imsi, begin, end, index % 2 === 0 ? 'day' : 'hour')
    took.push(performance.now() - before)
    if (series.length < DAYS) throw new Error(`${series.length} points of ${DAYS} days`)
  }
  const value = median(took)
  return [
    {
      name: `usage series of ${DAYS} days among ${LEDGER_ROWS.toLocaleString('en-US')} ledger rows`,
      value,
      unit: 'ms',
      target: `≤ ${SERIES_LIMIT_MS} ms`,
      isMet: value <= SERIES_LIMIT_MS,
    },
  ]
}
