import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { plugin as amf } from '@steeple/collector-amf'
import { plugin as cdr } from '@steeple/collector-cdr'
import { plugin as mme } from '@steeple/collector-mme'
import {
  type Collection,
  type CollectionConsumer,
  type Collector,
  type Context,
  collectionConsumerRef,
  collectorRef,
  type ImsiHash,
  type Plugin,
  usageLedgerRef,
} from '@steeple/contracts'
import { plugin as coreB } from '@steeple/driver-core-b'
import { cpuMs, fakeContext, memoryDb, type Testbed, tempDir } from '@steeple/testkit'
import { ROOT } from '../harness/launch.ts'
import {
  type Bench,
  bedOf,
  bench,
  type Finding,
  longestOf,
  median,
  most,
  program,
  timed,
  times,
  told,
} from './bench.ts'

const PHONES = 10_000
const INTERVAL_MS = 15_000
/** What a look at 10,000 phones may take, ms of a processor, and what looks at none may, percent of a core. */
const LOOK_LIMIT_MS = 1_000
const IDLE_LIMIT = 0.5

const look = (name: string, ms: number): Finding => most(`${name}, processor time`, ms, 'ms', LOOK_LIMIT_MS)
const idleLine = (name: string, took: readonly number[]): Finding =>
  most(name, (100 * median(took)) / INTERVAL_MS, '% of a core', IDLE_LIMIT, { target: `≤ ${IDLE_LIMIT} %` })

/** A plugin that has been set up, and the collector that it provides. */
async function collectorOf(plugin: Plugin, context: unknown, id: string): Promise<Collector> {
  const { services } = await plugin.setup(context as Context) // the plugins have no schema of their own here
  return services?.get(collectorRef(id).id) as Collector // the plugin provides it
}

/** Processor time of a poll, ms; what it has seen or counted has to be as much as there is. */
async function pollMs(
  collector: Collector,
  of: 'sightings' | 'volumes',
  count: number | undefined,
  position?: string,
): Promise<{ readonly ms: number; readonly position: string | undefined }> {
  const before = process.cpuUsage()
  const collection = await collector.poll(position, AbortSignal.timeout(60_000))
  const { user, system } = process.cpuUsage(before)
  if (count !== undefined && collection[of].length !== count)
    throw new Error(`${collection[of].length} ${of} of ${count} are there`)
  return { ms: (user + system) / 1_000, position: collection.position ?? position }
}

const collectorMme = bench({
  name: 'collector-mme',
  about:
    'processor time of a look at a core whose lists another process serves, and of looks at an empty one',
  setup: () => 5,
  act: async (passes) => {
    const full = await mmePasses(PHONES, passes)
    return [
      longestOf('look of collector-mme at 10,000 attached phones, processor time', full, LOOK_LIMIT_MS),
      idleLine('collector-mme with nothing attached, every 15 s', await mmePasses(0, 20 * passes)),
    ]
  },
})

/** Processor time of each look, ms; the first one, which compiles, is not among them. */
async function mmePasses(phones: number, count: number): Promise<readonly number[]> {
  using server = await program<string>('info-pages', { phones })
  let passedMs = 0
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() + passedMs }
  const collector = { mme_url: server.said, smf_url: server.said }
  const fake = fakeContext({ config: {}, id: 'collector-mme', settings: { core: 'another', collector } })
  const context = { ...fake.context, settings: fake.context.settings, clock }
  const collecting = await collectorOf(mme, context, 'collector-mme')
  const took = await times(count + 1, async () => {
    passedMs += 120_000
    return (await pollMs(collecting, 'sightings', phones)).ms
  })
  await fake.dispose()
  return took.slice(1)
}

const collectorFree5gc = bench({
  name: 'collector-free5gc',
  about:
    'processor time of looks at AMF and SMF that another process serves, and of reading charging records',
  setup: async (stage) => stage.use(await tempDir()).path,
  act: async (folder) => {
    const looks = await amfPasses(PHONES, 9)
    const idleLooks = (await amfPasses(0, 50)).slice(1)
    const { changed, unchanged, none } = await cdrPasses(folder)
    return [
      look(
        'look of collector-amf at 10,000 phones that it does not know yet',
        Math.max(...looks.slice(0, 4)),
      ),
      look('look of collector-amf at 10,000 phones that it knows', median(looks.slice(4))),
      idleLine('collector-amf with nothing attached, every 15 s', idleLooks),
      look('poll of collector-cdr with 10,000 files that have changed', median(changed)),
      look('poll of collector-cdr with 10,000 files that have not', median(unchanged)),
      idleLine('collector-cdr with no files, every 15 s', none),
    ]
  },
})

/** Processor time of each look through the driver, ms: the first ones learn the addresses. */
async function amfPasses(phones: number, count: number): Promise<readonly number[]> {
  using server = await program<string>('oam-pages', { phones })
  const url = server.said
  const fake = fakeContext<unknown>({
    config: {},
    id: 'driver-core-b',
    db: memoryDb(),
    settings: { core: 'core_b', core_b: { amf_oam_url: url, smf_oam_url: url, nrf_url: url } },
  })
  const { services = new Map() } = await coreB.setup(fake.context as Context)
  for (const [id, service] of services) fake.services.set(id, service)
  const context = { ...fake.context, plugin: { id: 'collector-amf', version: '0.0.0' } }
  const collector = await collectorOf(amf, context, 'collector-amf')
  const took = await times(count, async () => {
    await fake.clock.advance(INTERVAL_MS)
    return (await pollMs(collector, 'sightings', phones)).ms
  })
  await fake.dispose()
  return took
}

/** A file of one record, as a real CHF wrote it, of this subscriber. */
const RECORDED = join(ROOT, 'packages/collector-cdr/test/fixtures/2update.cdr')
const RECORDED_IMSI = '999990000000001'

/** Processor time of polls over as many files, ms. */
async function cdrPasses(cdr_dir: string) {
  const settings = { core: 'core_b', core_b: { cdr_dir } } as const
  const fake = fakeContext<unknown>({ config: {}, id: 'collector-cdr', settings })
  const collector = await collectorOf(cdr, fake.context, 'collector-cdr')
  const recorded = readFileSync(RECORDED)
  const at = recorded.indexOf(RECORDED_IMSI)
  let position: string | undefined
  const poll = async (count?: number): Promise<number> => {
    const polled = await pollMs(collector, 'volumes', count, position)
    position = polled.position
    return polled.ms
  }
  const write = (round: number): void => {
    for (let n = 0; n < PHONES; n += 1) {
      const imsi = `99970${String(n).padStart(10, '0')}`
      const bytes = Buffer.from(recorded)
      bytes.write(imsi, at, 'latin1')
      // The record's number of this run: another record each time.
      bytes[bytes.indexOf(Buffer.from([0x8b, 0x01])) + 2] = round
      writeFileSync(join(cdr_dir, `chf-${hash('sha256', `imsi-${imsi}`)}.cdr`), bytes)
    }
  }
  const none = await times(20, () => poll())
  const rounds = await times(5, async (round) => {
    write(round + 1)
    const changed = await poll(PHONES)
    // Once more, until nothing may have changed in the same tick.
    await poll()
    return { changed, unchanged: await poll() }
  })
  await fake.dispose()
  return { none, changed: rounds.map((one) => one.changed), unchanged: rounds.map((one) => one.unchanged) }
}

const SESSIONS = 10_000
const HOUR_MS = 3_600_000
const HASHES = Array.from({ length: SESSIONS }, (_, n) => n.toString(16).padStart(12, '0') as ImsiHash)
const DAYS = 90
const LEDGER_ROWS = Number(process.env.BENCH_LEDGER_ROWS ?? 2_000_000)

const sessions = bench({
  name: 'sessions',
  about: 'the join of 10,000 sessions with their octets, a round without a change, a series of 90 days',
  setup: (stage) => bedOf(stage, ['sessions']),
  act: async (bed) => {
    const consumer = bed.service(collectionConsumerRef)
    if (consumer === undefined) throw new Error('the sessions plugin provides no consumer')
    return [...(await roundLines(consumer)), await seriesLine(bed, consumer)]
  },
})

/** What an MME and a tap give: each phone has moved `round` × 1,000 octets since the beginning. */
function collections(round: number, atMs: number, fromMs: number): ReadonlyMap<string, Collection> {
  const rest = { isWhole: true, position: undefined, lost: undefined }
  const address = (index: number): string => `10.45.${index >> 8}.${index & 255}`
  const sightings = HASHES.map((imsi, index) => ({
    ...{ imsi, apn: 'internet', plmn: '999-99', address: address(index), prefix: undefined },
    ...({ technology: 'lte', cell: '1a2b301', state: 'active', reference: `mme-${index}` } as const),
    ...{ startedAtMs: fromMs, seenAtMs: atMs },
  }))
  const volumes = HASHES.map((_, index) => ({
    key: { by: 'address' as const, address: address(index) },
    upBytes: round * 1_000 + (round === 0 ? 0 : index),
    downBytes: round * 10_000,
    ...{ fromMs, toMs: atMs, isIncomplete: false },
    count: { counter: address(index), generation: 'g1' },
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
  const turn = (): void => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return longest
  }
}

async function roundLines(consumer: CollectionConsumer): Promise<readonly Finding[]> {
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
  const rounds = 9
  const first = await spent(1, 1)
  const turns = longestTurn()
  const moving = await times(rounds, (n) => spent(n + 2, n + 2))
  const turnMs = turns()
  const still = await times(rounds, (n) => spent(1 + rounds, 2 + rounds + n))
  const limit = 500
  return [
    most(`join of ${SESSIONS} new sessions with their octets`, first, 'ms CPU', 2 * limit, {
      target: 'none',
    }),
    most(`join of ${SESSIONS} sessions, all of which move data`, median(moving), 'ms CPU', limit, {
      target: `≤ ${limit} ms, one commit`,
    }),
    told('longest turn of the event loop meanwhile', turnMs, 'ms CPU'),
    most('the same, none of which does', median(still), 'ms CPU', limit / 5, { target: 'a fifth of that' }),
  ]
}

/** A ledger of 2 million rows, filled by rounds of late volumes of one subscriber each. */
async function seriesLine(bed: Testbed, consumer: CollectionConsumer): Promise<Finding> {
  const usage = bed.service(usageLedgerRef)
  if (usage === undefined) throw new Error('the sessions plugin provides no ledger')
  const hours = DAYS * 24
  const subscribers = Math.ceil(LEDGER_ROWS / hours)
  const end = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const begin = end - hours * HOUR_MS
  const imsiOf = (n: number): ImsiHash => HASHES[n % subscribers] as ImsiHash
  // As a network fills it: hour by hour, every subscriber in each.
  for (let hour = 0; hour < hours; hour += 4) {
    const volumes = Array.from({ length: 4 * subscribers }, (_, index) => {
      const fromMs = begin + (hour + Math.floor(index / subscribers)) * HOUR_MS
      return {
        key: { by: 'imsi' as const, imsi: imsiOf(index) },
        ...{ upBytes: 1_000, downBytes: 9_000, fromMs, toMs: fromMs + HOUR_MS / 2, isIncomplete: false },
        count: 'delta' as const,
      }
    })
    const one = { sightings: [], isWhole: false, volumes, position: String(hour), lost: undefined }
    await consumer.take(new Map([['cdr', one]]), new AbortController().signal)
  }
  const took = await times(50, (index) =>
    timed(async () => {
      const series = await usage.series(imsiOf(index * 17), begin, end, index % 2 === 0 ? 'day' : 'hour')
      if (series.length < DAYS) throw new Error(`${series.length} points of ${DAYS} days`)
    }),
  )
  const name = `usage series of ${DAYS} days among ${LEDGER_ROWS.toLocaleString('en-US')} ledger rows`
  return most(name, median(took), 'ms', 10)
}

/** What looking at a core and joining what it tells takes. */
export const COLLECTORS: readonly Bench[] = [collectorFree5gc, collectorMme, sessions]
