import { hash } from 'node:crypto'
import {
  type Clock,
  type Collection,
  type Collector,
  type ImsiHash,
  NOTHING_COLLECTED,
  southboundUnavailable,
  type Volume,
} from '@steeple/contracts'
import type { ChargingRun, Free5gcOam, Registration } from '@steeple/southbound'
import { imsiHash, inGroups, parseImsi, parseImsiHash } from '@steeple/telecom'
import {
  type CountedRun,
  contentOf,
  countFile,
  type FileContent,
  knownFrom,
  lineFrom,
} from './count/count-file.ts'
import { type CdrFolder, cdrFolder, type Listing, type Reading } from './folder/cdr-folder.ts'
import type { CdrMetrics } from './metrics.ts'

/**
 * Which sessions the CHF knows, by digests of their references: it forgets them all when it ends, and counts none that began
 * while it was away.
 */
interface Charged {
  /** The run that was there last; undefined before the first. */
  readonly run: string | undefined
  /** Sessions that began in that run. */
  readonly known: ReadonlySet<string>
  /** Sessions that it does not know. */
  readonly lost: ReadonlySet<string>
}

/** Nobody was listed yet. */
const NO_SESSIONS: Charged = { run: undefined, known: new Set(), lost: new Set() }

/** What is kept of a reference: 48 bits tell the sessions of one core apart. */
function sessionDigest(ref: string): string {
  return hash('sha256', ref, 'base64url').slice(0, 8)
}

/**
 * What is known once the sessions with these digests are listed and the CHF runs so. `before` itself when nothing is new.
 *
 * A session that comes between two looks between which the CHF has started may have begun before it did: it counts as lost.
 */
function chargedNow(
  before: Charged,
  listed: ReadonlySet<string>,
  { run, isOlderThanSessions }: ChargingRun,
): Charged {
  const isFirst = before.run === undefined
  const isSame = run === undefined || run === before.run
  const isCharging = (digest: string): boolean => {
    if (run !== undefined && isOlderThanSessions) return true
    if (before.lost.has(digest)) return false
    if (before.known.has(digest)) return isSame
    return run !== undefined && (isSame || isFirst)
  }
  const [known, lost] = [new Set<string>(), new Set<string>()]
  for (const digest of listed) (isCharging(digest) ? known : lost).add(digest)
  const isOther =
    (run ?? before.run) !== before.run || !isEqual(known, before.known) || !isEqual(lost, before.lost)
  return isOther ? { run: run ?? before.run, known, lost } : before
}

function isEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each))
}

/** As a text without blanks and line breaks. */
function chargedText({ run, known, lost }: Charged): string {
  return run === undefined && lost.size === 0
    ? ''
    : encodeURI(JSON.stringify([run ?? null, [...known], [...lost]]))
}

/** What `chargedText` has written; nothing known for anything else. */
function chargedFrom(text: string | undefined): Charged {
  if (text === undefined || text === '') return NO_SESSIONS
  try {
    // Written by chargedText, kept by who counts.
    const [run, known, lost] = JSON.parse(decodeURI(text)) as [string | null, string[], string[]]
    return { run: run ?? undefined, known: new Set(known), lost: new Set(lost) }
  } catch {
    return NO_SESSIONS
  }
}

/** A list of so long ago still tells, ms. */
const LIST_AGE_MS = 5_000
/** How often it is told that octets are missing: the hours of a ledger are longer, ms. */
const TELL_MS = 60_000

/** Looks for sessions of which the CHF writes nothing. */
function unchargedSessions(clock: Clock, oam: () => Free5gcOam | undefined) {
  let told = { lost: new Set() as ReadonlySet<string>, atMs: Number.NEGATIVE_INFINITY }
  return {
    /** What is known of sessions after `before`, and that of each that is lost octets are missing. Tells the driver of the core. */
    look: async (
      before: Charged,
      lookedMs: number,
      signal: AbortSignal,
    ): Promise<{ readonly charged: Charged; readonly volumes: readonly Moved[] }> => {
      const core = oam()
      const seen = core && (await seenAt(core, signal))
      // Where nobody can be asked nothing is known to be lost, and what was lost stays so.
      if (core === undefined || seen === undefined) return { charged: before, volumes: [] }
      const sessions = sessionsOf(seen.registrations)
      const charged = chargedNow(before, new Set(sessions.map(({ digest }) => digest)), seen.run)
      const lost = sessions.filter(({ digest }) => charged.lost.has(digest))
      core.uncharged(lost.map(({ imsi }) => imsi))
      const isNew = lost.some(({ digest }) => !told.lost.has(digest))
      if (!isNew && clock.monotonicMs() - told.atMs < TELL_MS) return { charged, volumes: [] }
      told = { lost: charged.lost, atMs: clock.monotonicMs() }
      const toMs = clock.nowMs()
      const span = { fromMs: Math.min(lookedMs === 0 ? toMs : lookedMs, toMs - 1), toMs }
      const volumes = lost.map(({ imsi, dnn }) => ({
        imsi: imsiHash(imsi),
        apn: dnn,
        upBytes: 0,
        downBytes: 0,
        isIncomplete: true,
        ...span,
      }))
      return { charged, volumes }
    },
  }
}

/** The list of sessions and the run of the CHF; undefined where there is none, or somebody cannot be asked. */
async function seenAt(
  core: Free5gcOam,
  signal: AbortSignal,
): Promise<{ readonly registrations: readonly Registration[]; readonly run: ChargingRun } | undefined> {
  try {
    // In this order: a session of the list began before the CHF is looked at.
    const { registrations } = await core.registrations(LIST_AGE_MS, signal)
    const run = await core.charging(signal)
    return run === undefined ? undefined : { registrations, run }
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

function sessionsOf(registrations: readonly Registration[]) {
  return registrations.flatMap(({ imsi, sessions }) =>
    sessions.flatMap(({ ref, dnn }) =>
      ref === '' || dnn === '' ? [] : [{ imsi, dnn, digest: sessionDigest(ref) }],
    ),
  )
}

/** What a position says: which reports of every subscriber have been counted. */
interface Position {
  /** When the directory was looked at last before it was written, ms since the epoch; 0: never. */
  readonly lookedMs: number
  /** What is known of each subscriber, see `lineFrom`. */
  readonly lines: Map<ImsiHash, string>
  /** Which sessions the CHF knows. */
  readonly charged: Charged
}

const FORMAT = 'cdr1'
/** Lines taken in one turn of the event loop. */
const TOGETHER = 2_000

/** A position as a text: a line of its own, and one for each subscriber. */
function textFrom({ lookedMs, lines, charged }: Position): string {
  const parts = [`${FORMAT} ${lookedMs} ${chargedText(charged)}`.trimEnd()]
  for (const [imsi, line] of lines) parts.push(`${imsi} ${line}`)
  return parts.join('\n')
}

/** What `textFrom` has written. Throws `southbound_unavailable` for anything else: to begin anew would count all again. */
async function positionFrom(text: string | undefined): Promise<Position> {
  const lines = new Map<ImsiHash, string>()
  if (text === undefined) return { lookedMs: 0, lines, charged: NO_SESSIONS }
  let at = text.indexOf('\n')
  const [format, looked, sessions] = (at < 0 ? text : text.slice(0, at)).split(' ')
  const lookedMs = Number(looked)
  if (format !== FORMAT || !Number.isFinite(lookedMs)) throw unreadable()
  while (at >= 0) {
    const end = text.indexOf('\n', at + 1)
    const line = text.slice(at + 1, end < 0 ? undefined : end)
    const imsi = parseImsiHash(line.slice(0, HASH_LENGTH))
    if (imsi === undefined) throw unreadable()
    lines.set(imsi, line.slice(HASH_LENGTH + 1))
    at = end
    if (lines.size % TOGETHER === 0) await new Promise(setImmediate)
  }
  return { lookedMs, lines, charged: chargedFrom(sessions) }
}

const HASH_LENGTH = 12

function unreadable(): Error {
  return southboundUnavailable(
    'the position of the source cdr is from another release; return to that release, or delete it: ' +
      'records that the CHF still shows count again',
  )
}

export interface CdrParts {
  /** The directory into which the CHF writes; empty: none is read. */
  readonly dir: string
  readonly clock: Clock
  readonly metrics: CdrMetrics
  /** Who tells which sessions there are, and how the CHF runs. */
  readonly oam?: () => Free5gcOam | undefined
}

/** Longest poll; what it did not come to is read at the next, ms. */
const LONGEST_MS = 5_000

/**
 * Counts what the records of a CHF grow by.
 *
 * A record holds every report of its session so far, and its file is rewritten at every report: what counts is what a record
 * holds beyond what was counted of it. How far each was counted is the position. Memory beside it is a cache: it belongs to the
 * position that was given last and is dropped when another one comes.
 */
export function createCdrCollector(parts: CdrParts): Collector {
  const { dir, clock, metrics } = parts
  const uncharged = unchargedSessions(clock, parts.oam ?? (() => undefined))
  const folder = cdrFolder(dir, clock)
  const state: State = {
    text: null,
    lookedMs: 0,
    lines: new Map(),
    charged: NO_SESSIONS,
    owners: new Map(),
    writers: new Map(),
    faults: new Map(),
  }
  let problem: string | undefined

  const poll = async (position: string | undefined, signal: AbortSignal): Promise<Collection> => {
    if (state.text !== position) {
      folder.forget()
      state.faults.clear()
      Object.assign(state, await positionFrom(position))
    }
    // Whatever ends this poll early: what is in memory then is of no position.
    state.text = null
    const [nowMs, fromMs] = [clock.nowMs(), clock.monotonicMs()]
    const { charged, volumes } = await uncharged.look(state.charged, state.lookedMs, signal)
    const { changed, gone, count, others } = await folder.list(signal)
    const moved = tally()
    const around = { state, moved, nowMs, metrics }
    for (const name of gone) {
      lose(around, name)
      state.owners.delete(name)
    }
    const isLate = (): boolean => clock.monotonicMs() - fromMs > LONGEST_MS
    const { hasChanged, waiting } = await takeAll(around, folder, changed, isLate, signal)
    metrics.files(count, others)
    problem = problemOf(state.faults, others, waiting)
    if (waiting === 0) state.lookedMs = nowMs
    const isOther = charged !== state.charged
    state.charged = charged
    for (const volume of volumes) moved.add(volume)
    const next = hasChanged || isOther ? textFrom(state) : undefined
    state.text = next ?? position
    return { ...NOTHING_COLLECTED, volumes: moved.volumes(), position: next }
  }
  return {
    source: 'cdr',
    poll: async (position, signal) => {
      signal.throwIfAborted()
      return dir === '' ? NOTHING_COLLECTED : await poll(position, signal)
    },
    health: () => ({
      status: problem === undefined ? 'ok' : 'degraded',
      detail:
        problem ??
        (dir === '' ? 'core_b.cdr_dir is empty: no charging records are read' : 'reads the charging records'),
    }),
  }
}

interface State {
  /** The position whose state this is; null: of none. */
  text: string | null | undefined
  lookedMs: number
  lines: Position['lines']
  charged: Position['charged']
  /** Whose file it is, by name. */
  readonly owners: Map<string, ImsiHash>
  /** When each instance of a CHF was first seen. */
  readonly writers: Map<string, number>
  /** What is wrong with a file, and as of which signature that was told. */
  readonly faults: Map<string, { readonly state: string; readonly signature: string }>
}

interface Around {
  readonly state: State
  readonly moved: ReturnType<typeof tally>
  readonly nowMs: number
  readonly metrics: CdrMetrics
}

/** Reads and takes files until it is late; whether any changes the position, and how many were not come to. */
async function takeAll(
  around: Around,
  folder: CdrFolder,
  changed: Listing['changed'],
  isLate: () => boolean,
  signal: AbortSignal,
): Promise<{ readonly hasChanged: boolean; readonly waiting: number }> {
  let [hasChanged, waiting] = [false, changed.flat().length]
  for (const group of changed) {
    if (isLate()) break
    const readings = await Promise.all(group.map((name) => folder.read(name, signal)))
    signal.throwIfAborted()
    for (const [index, reading] of readings.entries())
      hasChanged = (await take(around, group[index] ?? '', reading)) || hasChanged
    waiting -= group.length
  }
  return { hasChanged, waiting }
}

/** Takes what was read of a file; whether it changes the position. */
async function take(around: Around, name: string, reading: Reading): Promise<boolean> {
  const { state, metrics } = around
  if (reading.state === 'gone') return false
  const content = reading.state === 'whole' ? await contentOf(reading.bytes, name) : undefined
  if (reading.state !== 'whole' || content === undefined) {
    const fault = reading.state === 'whole' ? 'damaged' : reading.state
    metrics.read(fault === 'torn' ? 'torn' : 'refused')
    if (state.faults.get(name)?.signature !== reading.signature) lose(around, name)
    state.faults.set(name, { state: fault, signature: reading.signature })
    return false
  }
  metrics.read('ok')
  metrics.records(content.records.length)
  state.faults.delete(name)
  const { imsi } = content
  if (imsi === undefined) return false
  state.owners.set(name, imsi)
  // What the look before did not show was written since, whatever the clock of the machine said then.
  const writtenMs = Math.max(Math.round(reading.writtenMs), state.lookedMs)
  return await count(around, imsi, content, Math.min(writtenMs, around.nowMs))
}

/** Counts what records that were written at `toMs` have grown by; whether it changes the position. */
async function count(around: Around, imsi: ImsiHash, content: FileContent, toMs: number): Promise<boolean> {
  const { state, moved } = around
  const known = knownFrom(state.lines.get(imsi))
  const { growths, isIncomplete, isChanged } = await countFile(known, content, toMs, (run, openedMs) =>
    isSureOf(around, run, openedMs),
  )
  const span = (sinceMs: number) => ({ fromMs: Math.min(sinceMs, toMs - 1), toMs })
  for (const { sinceMs, groups: _groups, ...growth } of growths) {
    const since = sinceMs ?? (state.lookedMs === 0 ? toMs : state.lookedMs)
    moved.add({ imsi, ...growth, ...span(since) })
  }
  if (isIncomplete) moved.add({ imsi, ...NO_OCTETS, ...span(state.lookedMs) })
  if (isChanged) state.lines.set(imsi, lineFrom(known))
  return isChanged
}

/** Octets of the subscriber of a file may have come and gone since the directory was last looked at. */
function lose({ state, moved, nowMs }: Around, name: string): void {
  state.faults.delete(name)
  const imsi = state.owners.get(name) ?? ownerIn(name)
  if (imsi === undefined) return
  moved.add({ imsi, ...NO_OCTETS, fromMs: Math.min(state.lookedMs, nowMs - 1), toMs: nowMs })
}

/** All that is known is that something may be missing. */
const NO_OCTETS = { apn: undefined, upBytes: 0, downBytes: 0, isIncomplete: true } as const

/** The subscriber that the name of a file of an old release tells. */
function ownerIn(name: string): ImsiHash | undefined {
  const imsi = parseImsi(name.replace(/^imsi-|[.]cdr$/g, ''))
  return imsi === undefined ? undefined : imsiHash(imsi)
}

/** Opening times are whole seconds, cut. */
const OPENING_MS = 1_000

/** Whether a run was there when the directory was looked at before. */
function isSureOf({ state, nowMs }: Around, { writer }: CountedRun, openedMs: number | undefined): boolean {
  const firstMs = state.writers.get(writer) ?? nowMs
  state.writers.set(writer, firstMs)
  const isOld = openedMs !== undefined && openedMs + OPENING_MS <= state.lookedMs
  return firstMs <= state.lookedMs || isOld
}

function problemOf(faults: State['faults'], others: number, waiting: number): string | undefined {
  const names = Map.groupBy(faults.keys(), (name) => faults.get(name)?.state ?? '')
  const words = [
    ...[...names].map(
      ([state, list]) => `${inGroups(list.length)} ${WORDS[state] ?? state} (${listed(list)})`,
    ),
    ...(others > 0 ? [`${inGroups(others)} with a name that no CHF gives are not read`] : []),
    ...(waiting > 0 ? [`${inGroups(waiting)} were not come to yet`] : []),
  ]
  return words.length === 0 ? undefined : `of the files of charging records ${words.join('; ')}`
}

/** So many hex digits of a file's name are shown: more might hold as many digits as an IMSI, and are made unreadable for that. */
const SHOWN_DIGITS = 5

/** The first of files, and how many others: by the digest in its name, or by that of the IMSI, which is never shown. */
function listed(names: readonly string[]): string {
  const [first = ''] = names.toSorted()
  const digest = /^chf-([0-9a-f]+)/.exec(first)?.[1]
  const hash = ownerIn(first)
  const told =
    digest === undefined
      ? `one named by IMSI${hash === undefined ? '' : `, imsi_sha256_12 ${hash.slice(0, SHOWN_DIGITS)}*`}`
      : `chf-${digest.slice(0, SHOWN_DIGITS)}*.cdr`
  return names.length === 1 ? told : `${told} and ${inGroups(names.length - 1)} more`
}

const WORDS: Readonly<Record<string, string>> = {
  torn: 'stay torn, as on a full disk: what they add is missing',
  damaged: 'are no charging records of their subscriber',
  foreign: 'are links, no files, or far too large',
  denied: 'may not be read by this service',
}

/** Octets that came to count, with the time in which they moved. */
interface Moved {
  readonly imsi: ImsiHash
  readonly apn: string | undefined
  readonly upBytes: number
  readonly downBytes: number
  readonly fromMs: number
  readonly toMs: number
  readonly isIncomplete: boolean
}

/** Adds up what moved by subscriber and APN. */
function tally() {
  const sums = new Map<string, Moved>()
  return {
    add: (moved: Moved): void => {
      const key = `${moved.imsi} ${moved.apn ?? ''}`
      const sum = sums.get(key)
      sums.set(key, sum === undefined ? moved : added(sum, moved))
    },
    volumes: (): readonly Volume[] =>
      [...sums.values()].map(({ imsi, apn, ...moved }) => ({
        ...moved,
        key: { by: 'imsi', imsi, ...(apn === undefined ? {} : { apn }) },
        count: 'delta',
      })),
  }
}

function added(one: Moved, other: Moved): Moved {
  return {
    imsi: one.imsi,
    apn: one.apn,
    upBytes: one.upBytes + other.upBytes,
    downBytes: one.downBytes + other.downBytes,
    fromMs: Math.min(one.fromMs, other.fromMs),
    toMs: Math.max(one.toMs, other.toMs),
    isIncomplete: one.isIncomplete || other.isIncomplete,
  }
}
