import {
  type Clock,
  type Collection,
  type CollectionConsumer,
  type Collector,
  type ComponentHealth,
  type Context,
  countText,
  eachPaced,
  untilAborted,
} from '@steeple/contracts'
import { inGroups, safeText } from '@steeple/telecom'

/** What is counted of polls; the label `collector` is the plugin's id. */
export interface PollMetrics {
  polled(collector: string, result: 'ok' | 'failed', seconds: number): void
  /** What a collector gave was counted, or not: it is asked for it again then. */
  ended(collector: string, result: 'counted' | 'refused', collection: Collection): void
  took(result: 'ok' | 'failed', seconds: number): void
  lag(collector: string, seconds: number): void
  /** Its plugin has left. */
  gone(collector: string): void
}

const BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 5, 10, 30]

export function pollMetrics({ metrics }: Context): PollMetrics {
  const ofOne = ['collector']
  const polls = metrics.counter('svc_collectors_polls_total', 'Polls of collectors, by result.', [
    'collector',
    'result',
  ])
  const pollSeconds = metrics.histogram('svc_collectors_poll_seconds', 'Duration of polls.', BUCKETS, ofOne)
  const records = metrics.counter(
    'svc_collectors_records_total',
    'Records of collectors, by kind (sighting, volume) and result: counted, or refused and asked for again.',
    ['collector', 'kind', 'result'],
  )
  const incomplete = metrics.counter(
    'svc_collectors_incomplete_total',
    'Volumes with bytes that may be missing.',
    ofOne,
  )
  const lost = metrics.counter(
    'svc_collectors_lost_packets_total',
    'Packets that a source reports as missed.',
    ofOne,
  )
  const lag = metrics.gauge(
    'svc_collectors_lag_seconds',
    'Time since records of a collector were last counted. NaN after its plugin was unloaded.',
    ofOne,
  )
  const takes = metrics.histogram(
    'svc_collectors_take_seconds',
    'Time to count the records of one round of polls, by result.',
    BUCKETS,
    ['result'],
  )
  return {
    polled: (collector, result, took) => {
      polls.inc({ collector, result })
      pollSeconds.observe(took, { collector })
    },
    ended: (collector, result, { sightings, volumes, lost: missed }) => {
      records.inc({ collector, result, kind: 'sighting' }, sightings.length)
      records.inc({ collector, result, kind: 'volume' }, volumes.length)
      if (result === 'refused') return
      incomplete.inc({ collector }, volumes.filter(({ isIncomplete }) => isIncomplete).length)
      lost.inc({ collector }, missed?.packets ?? 0)
      lag.set(0, { collector })
    },
    took: (result, took) => takes.observe(took, { result }),
    lag: (collector, value) => lag.set(value, { collector }),
    gone: (collector) => lag.set(Number.NaN, { collector }),
  }
}

const HASH = /^[0-9a-f]{12}$/
const STATES: readonly unknown[] = ['active', 'idle', 'ended']
/** Of a sighting, where the source knows them. */
const SIGHTED_TEXTS = ['plmn', 'address', 'prefix', 'cell'] as const
/** An APN has 100 characters (TS 23.003 clause 9.1), references are the sources' own: far longer is none. */
const MOST_CHARACTERS = 1_000
const TECHNOLOGIES: readonly unknown[] = ['lte', 'nr']

/**
 * What is wrong with what a collector gave, in words that name no subscriber; undefined when nothing is. Collectors may be
 * anybody's plain JavaScript, and one bad row must not make the take of all others fail. Long lists are looked at in several turns.
 */
export async function collectionProblem(value: unknown): Promise<string | undefined> {
  const { sightings, isWhole, unseen = [], volumes, position, lost, over } = fieldsOf(value)
  if (!Array.isArray(sightings) || !Array.isArray(volumes)) return 'it gave no list of sightings or volumes'
  if (typeof isWhole !== 'boolean') return 'isWhole is no boolean'
  if (!Array.isArray(unseen) || unseen.some((one) => !TECHNOLOGIES.includes(one)))
    return 'unseen is no list of lte and nr'
  if (position !== undefined && typeof position !== 'string') return 'position is no text'
  if (over !== undefined && !isText(over)) return 'over is no text'
  if (lost !== undefined && !isLoss(lost)) return 'lost is no count of packets in a span'
  return (
    (await firstProblem('sightings', sightings, sightingProblem)) ??
    (await firstProblem('volumes', volumes, volumeProblem))
  )
}

async function firstProblem(
  name: string,
  rows: readonly unknown[],
  problem: (row: Fields) => string | undefined,
): Promise<string | undefined> {
  let first: string | undefined
  await eachPaced(rows.entries(), ([index, row]) => {
    const found = first === undefined ? problem(fieldsOf(row)) : undefined
    if (found !== undefined) first = `${name}.${index}: ${found}`
  })
  return first
}

function sightingProblem(row: Fields): string | undefined {
  if (!isHash(row.imsi)) return 'imsi is no hash'
  if (!isText(row.apn)) return 'apn is empty or too long'
  if (!isText(row.reference)) return 'reference is empty or too long'
  if (!STATES.includes(row.state)) return 'state is none of active, idle, ended'
  if (!TECHNOLOGIES.includes(row.technology)) return 'technology is neither lte nor nr'
  const wrong = SIGHTED_TEXTS.find((name) => row[name] !== undefined && !isText(row[name]))
  if (wrong !== undefined) return `${wrong} is no text`
  if (!isCount(row.seenAtMs)) return 'seenAtMs is no time'
  if (row.startedAtMs !== undefined && !isCount(row.startedAtMs)) return 'startedAtMs is no time'
  return undefined
}

function volumeProblem(row: Fields): string | undefined {
  if (!isKey(fieldsOf(row.key))) return 'its key names neither a session, an address nor a subscriber'
  if (!isCount(row.upBytes) || !isCount(row.downBytes)) return 'octets are no counts'
  if (!isSpan(row)) return 'its span ends before it begins'
  const { counter, generation, isBeginning = false } = fieldsOf(row.count)
  const isTotal = isText(counter) && isText(generation) && typeof isBeginning === 'boolean'
  if (row.count !== 'delta' && !isTotal) return 'count is neither delta nor a counter with its generation'
  return typeof row.isIncomplete === 'boolean' ? undefined : 'isIncomplete is no boolean'
}

function isKey(key: Fields): boolean {
  if (key.by === 'session') return isText(key.reference)
  if (key.by === 'address') return isText(key.address)
  return key.by === 'imsi' && isHash(key.imsi)
}

function isLoss(value: unknown): boolean {
  const loss = fieldsOf(value)
  return isCount(loss.packets) && isSpan(loss)
}

function isSpan({ fromMs, toMs }: Fields): boolean {
  return isCount(fromMs) && isCount(toMs) && Number(fromMs) <= Number(toMs)
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {} // each field is looked at
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && HASH.test(value)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MOST_CHARACTERS
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Intervals without a success after which a collector is down. */
const DOWN_AFTER = 4
/** Shortest bound on one poll: a collector with a short interval may still have a slow source, ms. */
const LEAST_BOUND_MS = 10_000

type State = Pick<ComponentHealth, 'status' | 'detail'>

interface LaneOptions {
  /** The plugin that provides the source. */
  readonly id: string
  readonly source: string
  readonly clock: Clock
  readonly intervalMs: number
  readonly metrics: PollMetrics
}

/** The polls of one source: one at a time, and the next one only when what the last one gave is counted or given up. */
export class Lane {
  readonly id: string
  isPolling = false
  /** The last round went on without it. */
  isSlow = false
  /** What the last poll gave and nobody has counted yet. */
  collection: Collection | undefined
  readonly #options: LaneOptions
  readonly #sinceMs: number
  #lastOkMs: number | undefined
  #lastCountedMs: number | undefined
  #seen = ''
  #failure: string | undefined
  #obstacle: string | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    this.id = options.id
    this.#sinceMs = options.clock.monotonicMs()
  }

  /** A poll runs, or what it gave waits. */
  get isBusy(): boolean {
    return this.isPolling || this.collection !== undefined
  }

  /** Seconds since what it saw was last counted, since it came when it never was. */
  get lagS(): number {
    return this.#secondsSince(this.#lastCountedMs ?? this.#sinceMs)
  }

  /** Asks for what came since the position that is kept. Never rejects. */
  async poll(collector: Collector, consumer: CollectionConsumer, signal: AbortSignal): Promise<void> {
    const { id, source, clock, intervalMs, metrics } = this.#options
    const bound = AbortSignal.any([signal, AbortSignal.timeout(Math.max(intervalMs, LEAST_BOUND_MS))])
    const fromMs = clock.monotonicMs()
    this.isPolling = true
    try {
      const position = await untilAborted(consumer.position(source), bound)
      const given = await untilAborted(collector.poll(position, bound), bound)
      const problem = await collectionProblem(given)
      if (problem !== undefined) throw new Error(`what it gave cannot be counted: ${problem}`)
      this.collection = given
      this.#seen = `${countText(inGroups(given.sightings.length), 'session')}, ${countText(inGroups(given.volumes.length), 'volume')}`
      this.#lastOkMs = clock.monotonicMs()
      this.#failure = undefined
      metrics.polled(id, 'ok', this.#secondsSince(fromMs))
    } catch (error) {
      if (signal.aborted) return
      this.#failure = bound.aborted ? 'it did not answer in time' : safeText(error)
      metrics.polled(id, 'failed', this.#secondsSince(fromMs))
    } finally {
      this.isPolling = false
    }
  }

  /** What it gave is counted, or not; with why: the same position is polled again. */
  settle(refusal: string | undefined): void {
    if (this.collection === undefined) return
    this.#options.metrics.ended(this.id, refusal === undefined ? 'counted' : 'refused', this.collection)
    this.collection = undefined
    this.#obstacle = refusal
    if (refusal === undefined) this.#lastCountedMs = this.#options.clock.monotonicMs()
  }

  /** What it sees is not counted now. */
  waits(why: string): void {
    this.#obstacle = why
  }

  /** With what the collector says of itself. */
  health(own: ReturnType<NonNullable<Collector['health']>> | undefined): State {
    return own === undefined ? this.#state() : worse(this.#state(), own)
  }

  #state(): State {
    const okMs = this.#lastOkMs ?? this.#sinceMs
    const isLate = this.#secondsSince(okMs) * 1_000 > DOWN_AFTER * this.#options.intervalMs
    const ago = (fromMs: number): string => `${Math.round(this.#secondsSince(fromMs))} s`
    if (this.#failure !== undefined) {
      const last =
        this.#lastOkMs === undefined
          ? `has not worked since it came ${ago(okMs)} ago`
          : `last worked ${ago(okMs)} ago`
      return { status: isLate ? 'down' : 'degraded', detail: `${this.#failure} (${last})` }
    }
    if (this.#obstacle !== undefined) {
      const counted = ago(this.#lastCountedMs ?? this.#sinceMs)
      return { status: 'degraded', detail: `not counted for ${counted}: ${this.#obstacle}` }
    }
    if (isLate) return { status: 'down', detail: `has not answered for ${ago(okMs)}` }
    if (this.#lastOkMs === undefined) return { status: 'ok', detail: 'not asked yet' }
    return { status: 'ok', detail: `${this.#seen} ${ago(okMs)} ago` }
  }

  #secondsSince(fromMs: number): number {
    return (this.#options.clock.monotonicMs() - fromMs) / 1_000
  }
}

const GRADES = ['ok', 'degraded', 'down'] as const

/** The worse status, and what both say. */
function worse(one: State, other: State): State {
  const grade = Math.max(GRADES.indexOf(one.status), GRADES.indexOf(other.status))
  const details = [one, other].map(({ detail }) => detail).filter((detail) => detail !== '')
  return { status: GRADES[grade] ?? 'down', detail: safeText(details.join('; ')) }
}
