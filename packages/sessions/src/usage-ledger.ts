import {
  allListed,
  type Context,
  type ImsiHash,
  msFromDuration,
  type Reader,
  type Settings,
  sectionOf,
  sumOctets,
  timestampFromMs,
  type UsageLedger,
  type UsageTotals,
  usageListenerRef,
} from '@steeple/contracts'
import { OTHER_SUBMISSION, SUBMISSION } from './ledger/counting.ts'
import type { LocalHours } from './ledger/hours.ts'
import type { LedgerWriter } from './ledger/ledger.ts'
import type { SourceRow } from './store/tables.ts'

/** Sums over rows of one source. */
interface SourceSums {
  readonly source: string
  readonly up: number | string
  readonly down: number | string
  readonly counted_up: number | string
  readonly counted_down: number | string
  readonly incomplete: number | string
  readonly open: number | string
}

/** As a fraction: it holds every octet up to 2^53, and does not overflow as whole numbers of the store do. */
export function octets(column: string): string {
  return `sum(${column} * 1.0)`
}

const RANGE = 'where imsi = :imsi and hour_ms >= :from and hour_ms < :to'
/** What each source saw, and what of it counts, in the hours that begin in a span. */
const BY_SOURCE = `select source, ${octets('up_bytes')} as up, ${octets('down_bytes')} as down,
  ${octets('counted_up')} as counted_up, ${octets('counted_down')} as counted_down,
  sum(is_incomplete) as incomplete, sum(counted_incomplete) as open
  from sessions_ledger ${RANGE} group by source order by source`

const OF_HOUR = 'select source from sessions_ledger where imsi = :imsi and hour_ms = :hour'

interface HourSums extends Pick<SourceSums, 'counted_up' | 'counted_down' | 'open'> {
  readonly hour_ms: number | string
}
/** What counts in each hour that begins in a span. */
const BY_HOUR = `select hour_ms, ${octets('counted_up')} as counted_up, ${octets('counted_down')} as counted_down,
  sum(counted_incomplete) as open from sessions_ledger ${RANGE} group by hour_ms order by hour_ms`

const SINCE = `select ${octets('counted_up')} as up, ${octets('counted_down')} as down
  from sessions_ledger where hour_ms >= :from`

/** Which sources are counted up to when, as this instance knows. */
export interface SourceTimes {
  rows: readonly SourceRow[]
}

const DAY_MS = 86_400_000
/** How often collectors are asked while the configuration cannot be read. */
const DEFAULT_INTERVAL_MS = 15_000
/** Intervals after which a source is late. */
const LATE_AFTER = 4

/** Submitters that are told apart of one subscriber within an hour: each is a row of the ledger, and whoever submits names it. */
const MOST_SUBMITTERS = 16

/** The usage ledger as other plugins see it. */
export function usageLedger(
  context: Context,
  hours: LocalHours,
  add: LedgerWriter,
  times: SourceTimes,
): UsageLedger {
  return {
    totals: (imsi, fromMs, toMs) => totalsOf(context.db, imsi, fromMs, toMs),
    totalsIn: (tx, imsi, fromMs, toMs) => totalsOf(context.db.join(tx), imsi, fromMs, toMs),
    sums: (imsis, fromMs, toMs, tx) =>
      sumsOf(tx === undefined ? context.db : context.db.join(tx), imsis, fromMs, toMs),
    series: async (imsi, fromMs, toMs, step) => {
      const rows = await context.db.all<HourSums>(BY_HOUR, { imsi, from: fromMs, to: toMs })
      const points = new Map<number, UsageTotals>()
      for (const { hour_ms: hourMs, counted_up: up, counted_down: down, open } of rows) {
        const atMs = step === 'day' ? hours.dayOf(Number(hourMs)) : Number(hourMs)
        const before = points.get(atMs)
        points.set(atMs, {
          upBytes: sumOctets(before?.upBytes ?? 0, exact(up)),
          downBytes: sumOctets(before?.downBytes ?? 0, exact(down)),
          isIncomplete: before?.isIncomplete === true || Number(open) > 0,
        })
      }
      return [...points].map(([atMs, totals]) => ({ atMs, ...totals }))
    },
    today: async () => {
      const from = hours.dayOf(Math.floor(context.clock.nowMs()))
      const row = await context.db.get<Pick<SourceSums, 'up' | 'down'>>(SINCE, { from })
      return sumOctets(exact(row?.up ?? 0), exact(row?.down ?? 0))
    },
    submit: async (tx, imsi, source, { upBytes, downBytes, isIncomplete }, atMs) => {
      const own = context.db.join(tx)
      const hour = hours.hourOf(atMs)
      const rows = await own.all<Pick<SourceSums, 'source'>>(OF_HOUR, { imsi, hour })
      const known = new Set(rows.map((row) => row.source))
      const piece = { lane: '', fromMs: atMs, toMs: atMs, upBytes, downBytes, isIncomplete }
      const increments = await add(own, [{ imsi, source: toldApart(source, known), ...piece }])
      await context.maybe(usageListenerRef)?.counted(tx, increments)
    },
    knownUntil: () => knownUntil(context, times),
  }
}

/** Its octets count all the same, under one name with those of all who came too late for a name of their own. */
function toldApart(source: string, known: ReadonlySet<string>): string {
  if (!source.startsWith(SUBMISSION)) return source
  const submitters = [...known].filter((one) => one.startsWith(SUBMISSION) && one !== OTHER_SUBMISSION)
  return known.has(source) || submitters.length < MOST_SUBMITTERS ? source : OTHER_SUBMISSION
}

async function totalsOf(
  reader: Reader,
  imsi: ImsiHash,
  fromMs: number,
  toMs: number,
): ReturnType<UsageLedger['totals']> {
  const bySource = new Map<string, UsageTotals>()
  let upBytes = 0
  let downBytes = 0
  let isIncomplete = false
  for (const row of await reader.all<SourceSums>(BY_SOURCE, { imsi, from: fromMs, to: toMs })) {
    bySource.set(row.source, {
      upBytes: exact(row.up),
      downBytes: exact(row.down),
      isIncomplete: Number(row.incomplete) > 0,
    })
    upBytes = sumOctets(upBytes, exact(row.counted_up))
    downBytes = sumOctets(downBytes, exact(row.counted_down))
    isIncomplete ||= Number(row.open) > 0
  }
  return { upBytes, downBytes, isIncomplete, bySource }
}

const sumsSql = (where: string): string =>
  `select imsi, ${octets('counted_up')} + ${octets('counted_down')} as bytes from sessions_ledger
  where ${where} and hour_ms >= :from and hour_ms < :to group by imsi`

async function sumsOf(
  reader: Reader,
  imsis: readonly ImsiHash[],
  fromMs: number,
  toMs: number,
): ReturnType<UsageLedger['sums']> {
  const rows = await allListed<{ readonly imsi: ImsiHash; readonly bytes: number | string }>(
    reader,
    'imsi',
    imsis,
    sumsSql,
    { from: fromMs, to: toMs },
  )
  return new Map(rows.map(({ imsi, bytes }) => [imsi, exact(bytes)]))
}

export function intervalMs({ settings }: Pick<Context, 'settings'>): number {
  return msFromDuration(sectionOf(settings, 'collector').interval ?? '') ?? DEFAULT_INTERVAL_MS
}

/** Octets as a number that JSON holds. */
export function exact(octets: number | string): number {
  return Math.min(Number(octets), Number.MAX_SAFE_INTEGER)
}

/** The sources that are set to count octets here. */
function countingSources(settings: Settings): readonly string[] {
  const isTapped = sectionOf(settings, 'collector').upf?.enabled === true
  const readsRecords = settings.core === 'core_b' && (sectionOf(settings, 'core_b').cdr_dir ?? '') !== ''
  return [...(isTapped ? ['gtpu'] : []), ...(readsRecords ? ['cdr'] : [])]
}

/** Why nothing is set to count octets here; undefined where something is, be it that nobody has used any yet. */
export function countingOff(settings: Settings): string | undefined {
  if (sectionOf(settings, 'collector').enabled !== true)
    return 'collector.enabled is false: nothing counts octets'
  return countingSources(settings).length > 0
    ? undefined
    : 'collector.upf.enabled is false: nothing counts octets'
}

function knownUntil(context: Context, times: SourceTimes): ReturnType<UsageLedger['knownUntil']> {
  const nowMs = context.clock.nowMs()
  // One that has given nothing for a day has left.
  const there = times.rows.filter(({ at_ms: atMs }) => nowMs - atMs < DAY_MS)
  const counting = there.filter(({ until_ms: untilMs }) => untilMs !== null)
  const off = countingOff(context.settings)
  // Collectors of others may count, too.
  const isOff = sectionOf(context.settings, 'collector').enabled !== true
  const lateMs = LATE_AFTER * intervalMs(context)
  if (isOff || (counting.length === 0 && off !== undefined)) return { atMs: undefined, reason: off }
  if (counting.length === 0)
    return withoutCounts(times.rows, countingSources(context.settings), nowMs - lateMs)
  // Who sees sessions counts, too: octets of an address that nobody was seen to hold are nobody's.
  const oldest = there.reduce((a, b) => (b.at_ms < a.at_ms ? b : a))
  const isLate = nowMs - oldest.at_ms > lateMs
  const reason = isLate
    ? `${oldest.source} last saw all at ${timestampFromMs(oldest.at_ms)}; GET /v1/health says why`
    : undefined
  return { atMs: oldest.at_ms, reason }
}

/** Where something is set to count, and nothing has given octets within a day. */
function withoutCounts(
  rows: readonly SourceRow[],
  set: readonly string[],
  freshMs: number,
): ReturnType<UsageLedger['knownUntil']> {
  // Before the first octet nothing is missing, while one that would see it answers.
  if (rows.some(({ source, at_ms: atMs }) => set.includes(source) && atMs >= freshMs))
    return { atMs: undefined, reason: undefined }
  const [last] = rows
    .filter(({ until_ms: untilMs }) => untilMs !== null)
    .toSorted((a, b) => b.at_ms - a.at_ms)
  if (last === undefined)
    return {
      atMs: undefined,
      reason: 'no collector has counted octets yet; GET /v1/health says why',
    }
  const { source, at_ms: atMs } = last
  return {
    atMs,
    reason: `${source} has given nothing since ${timestampFromMs(atMs)}; GET /v1/health says why`,
  }
}
