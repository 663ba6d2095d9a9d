import { EventEmitter, once } from 'node:events'
import {
  type ComponentHealth,
  type Context,
  type CoreDriver,
  coreDriverRef,
  countText,
  createTurns,
  eachAbreast,
  type HssDriver,
  msFromDuration,
  type Outcome,
  untilAborted,
  type Vault,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { SimsConfig } from '../config.ts'
import type { SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/card.ts'
import { wantedInHss } from '../states/change.ts'
import type { SimRow } from '../store/sim-store.ts'
import { differences } from './drift.ts'
import { type Mark, unanswered, upsertRows, writeMarks } from './push.ts'

/** What a kick has come to. `unknown`: the core did not say. */
export type Kicked = Detached | 'unknown'

/** The circuit breaker before the core: whichever driver is loaded, and whether it is worth a try now. */
export interface CoreBreaker {
  /** Has the core let sessions go, a few at a time; one outcome for each row. */
  kick(rows: readonly SimRow[], signal: AbortSignal): Promise<ReadonlyMap<string, Kicked>>
  /** Why the core takes no kicks; undefined while it does. */
  problem(): string | undefined
  /** Neither core nor HSS is written to, so that nobody is cut off: nothing is waited for. */
  looksOnly(): boolean
}

/** Kicks at a time: each is a request or two to the core. */
const KICKS = 8
/** Bound on one kick: a core that hangs must not hold up the other cuts. */
const KICK_MS = 5_000
/** So many kicks in a row without an answer, and the core is left alone for a while: one alone may be to blame itself. */
const PATIENCE = 3
const REST_MS = 5_000

/** With neither files nor subscribers to write, nobody is cut off either: a phone would be back at once. */
const LOOKS_ONLY = 'southbound.driver and hss.driver are none: nobody is cut off'

export function coreBreaker(context: Context<SimsConfig>, vault: Vault): CoreBreaker {
  let silent = 0
  let restsUntilMs = 0
  let reason = ''
  /** Gives up the kicks that are under way when the core is left alone. */
  let patience = new AbortController()
  const looksOnly = (): boolean =>
    context.settings.southbound.driver === 'none' && context.settings.hss.driver === 'none'
  const isResting = (): boolean => restsUntilMs > context.clock.monotonicMs()

  const unanswered = (error: unknown): void => {
    silent += 1
    reason = safeText(error)
    if (silent < PATIENCE || isResting()) return
    if (silent === PATIENCE) context.log.warn({ reason }, 'core takes no kicks')
    restsUntilMs = context.clock.monotonicMs() + REST_MS
    patience.abort()
    patience = new AbortController()
  }

  const one = async (core: CoreDriver, row: SimRow, signal: AbortSignal): Promise<Kicked> => {
    if (isResting()) return 'unknown'
    const bound = AbortSignal.any([signal, patience.signal, AbortSignal.timeout(KICK_MS)])
    try {
      const how = await untilAborted(core.kick(openImsi(vault, row), bound), bound)
      if (silent >= PATIENCE) context.log.info({ kicks: silent }, 'core takes kicks again')
      silent = 0
      return how
    } catch (error) {
      signal.throwIfAborted()
      unanswered(bound.aborted ? new Error('the core did not answer in time') : error)
      return 'unknown'
    }
  }

  return {
    looksOnly,
    problem: () => (looksOnly() || silent < PATIENCE ? undefined : reason),
    kick: async (rows, signal) => {
      const core = context.maybe(coreDriverRef)
      if (core === undefined) return new Map(rows.map(({ hash }) => [hash, 'not_attached']))
      if (looksOnly()) return new Map(rows.map(({ hash }) => [hash, 'unknown']))
      const kicked = new Map<string, Kicked>()
      await eachAbreast(rows, KICKS, async (row) => {
        kicked.set(row.hash, await one(core, row, signal))
      })
      return kicked
    },
  }
}

/** A cut that takes longer is worth a word: a core that works lets go within a second or two, ms. */
const LATE_MS = 5_000

/** SIMs that may not be on air and are not known to be off yet. */
export class OpenCuts {
  readonly #since = new Map<string, number>()

  /** One is still open; since when counts from the first time. */
  open(hash: string, nowMs: number): void {
    if (!this.#since.has(hash)) this.#since.set(hash, nowMs)
  }

  ended(hash: string): void {
    this.#since.delete(hash)
  }

  /** The component `kicks`. */
  health(core: CoreBreaker, nowMs: number): ComponentHealth {
    const about = { name: 'kicks', kind: 'feature' } as const
    if (core.looksOnly()) return { ...about, status: 'ok', detail: LOOKS_ONLY }
    const problem = core.problem()
    const late = [...this.#since.values()].filter((atMs) => nowMs - atMs >= LATE_MS)
    const words = [
      ...(problem === undefined ? [] : [`the core takes no kicks: ${problem}`]),
      ...(late.length === 0 ? [] : [lateWords(late, nowMs)]),
    ]
    if (words.length === 0) return { ...about, status: 'ok', detail: 'the core lets go who is cut off' }
    return { ...about, status: 'degraded', detail: words.join('; ') }
  }
}

function lateWords(late: readonly number[], nowMs: number): string {
  const longestS = Math.round((nowMs - Math.min(...late)) / 1_000)
  const who = countText(late.length, 'SIM that is cut off is', 'SIMs that are cut off are')
  return `${who} not known to be off, for up to ${longestS} s: each SIM says why`
}

/** SIMs that one call cuts off: their kicks take turns. */
export const CUTS_AT_ONCE = 50
/** Of those that come later. */
export const NEXT_CUTS: Outcome = { state: 'pending', afterMs: 0, reason: 'others are being cut off' }
const AGAIN_MS = 300
const RETRY_MS = 2_000
/** A core that did not take a kick is left alone so long. */
const CORE_RETRY_MS = 10_000
/** A blocked subscriber stays in the HSS so long before it is removed: a core's own cancel needs the document. */
const LINGER_MS = 1_500
/** A block is written again after that long at the latest, or after `sims.drift_interval`: it may have been lifted by hand. */
const LONGEST_REBLOCK_MS = 60_000
/** Longer than a blocked subscriber stays before it is removed. */
const SHORTEST_REBLOCK_MS = 5_000

/** Why a step of a cut did not work, by hash. */
type Failures = ReadonlyMap<string, string>

/** Cuts off SIMs that may not be on air. */
interface Cutter {
  /**
   * Blocks these in the HSS, then has the core let their sessions go and checks that it did, then removes what is revoked
   * or expired. One outcome for each.
   */
  cut(driver: HssDriver, rows: readonly SimRow[], signal: AbortSignal): Promise<Map<string, Outcome>>
  /** Nothing is to be cut off of this one any more. */
  settled(hash: string): void
}

/** A cutter that has blocked nobody yet. */
export function createCutter(parts: SimsParts): Cutter {
  const blocked: Blocks = new Map()
  /** One at a time, so that a core gets a few kicks at a time. */
  const inTurn = createTurns()
  return {
    settled: (hash) => {
      blocked.delete(hash)
      parts.cuts.ended(hash)
    },
    cut: async (driver, all, signal) => {
      if (all.length === 0) return new Map()
      const rows = all.slice(0, CUTS_AT_ONCE)
      const outcomes = new Map<string, Outcome>()
      for (const { hash } of all.slice(CUTS_AT_ONCE)) outcomes.set(hash, NEXT_CUTS)
      const { marks, detached } = await inTurn(() => cut(parts, blocked, driver, rows, signal))
      await writeMarks(parts.context, driver.name, parts.context.clock.nowMs(), marks)
      for (const mark of marks) {
        const how = detached.get(mark.row.hash)
        outcomes.set(mark.row.hash, outcomeOf(parts, mark, how))
        if (mark.status === 'synced') blocked.delete(mark.row.hash)
        tell(parts, mark, how)
      }
      return outcomes
    },
  }
}

/** Tells those who wait that the phone is off; its removal from the HSS may still be to come. */
function tell(parts: SimsParts, { row, status }: Mark, how: Kicked | undefined): void {
  const isOff = how === 'yes' || how === 'not_attached'
  if (status === 'synced' || isOff) parts.cuts.ended(row.hash)
  else parts.cuts.open(row.hash, parts.context.clock.monotonicMs())
  if (status !== 'failed' && isOff) {
    parts.attachedSet.left(row.hash)
    parts.detaches.ended(row.hash, how)
  }
}

interface Cut {
  readonly marks: readonly Mark[]
  readonly detached: ReadonlyMap<string, Kicked>
}

/** When subscribers that are not yet off were blocked, by hash: ms of the monotonic clock, generation of the row. */
type Blocks = Map<string, { readonly atMs: number; readonly generation: number }>

async function cut(
  parts: SimsParts,
  blocked: Blocks,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<Cut> {
  const nowMs = parts.context.clock.monotonicMs()
  const sinceMs = nowMs - reblockMs(parts)
  const open = rows.filter((row) => !isBlocked(blocked, row, sinceMs))
  const failed = await block(parts, driver, open, signal)
  if (failed === undefined) return { marks: rows.map((row) => unanswered(row)), detached: new Map() }
  for (const { hash, generation } of open)
    if (!failed.has(hash)) blocked.set(hash, { atMs: nowMs, generation })
  const detached = await parts.core.kick(rows, signal)
  const leaving = rows.filter(
    (row) => wantedInHss(row.state) === 'absent' && mayLeave(parts, blocked, driver, row),
  )
  const removed = await remove(parts, driver, leaving, signal)
  if (removed === undefined) return { marks: rows.map((row) => unanswered(row)), detached }
  const marks = rows.map((row): Mark => {
    const error = failed.get(row.hash) ?? removed.get(row.hash)
    if (error !== undefined) return { row, error, status: 'failed' }
    const left = parts.core.looksOnly() ? undefined : openStep(row, detached.get(row.hash), leaving)
    return { row, error: left, status: left === undefined ? 'synced' : 'pending' }
  })
  return { marks, detached }
}

/** Whether its block is fresh, so that waiting for the core does not write to the HSS again and again. */
function isBlocked(blocked: Blocks, row: SimRow, sinceMs: number): boolean {
  const last = blocked.get(row.hash)
  return last !== undefined && last.generation === row.generation && last.atMs > sinceMs
}

function reblockMs({ context }: SimsParts): number {
  const driftMs = msFromDuration(context.config.drift_interval) ?? LONGEST_REBLOCK_MS
  return Math.min(LONGEST_REBLOCK_MS, Math.max(SHORTEST_REBLOCK_MS, driftMs))
}

/** Whether a subscriber was blocked long enough ago, or never was in the HSS. */
function mayLeave(parts: SimsParts, blocked: Blocks, driver: HssDriver, row: SimRow): boolean {
  if (driver.name === 'none' || row.hss_synced_at_ms === null) return true
  const since = blocked.get(row.hash)
  return since !== undefined && parts.context.clock.monotonicMs() - since.atMs >= LINGER_MS
}

/** What is said of a SIM that is blocked, while its session may go on. */
const STILL_ON = {
  pending: 'the core has not let the session go yet',
  unknown: 'the core did not say whether the session is gone',
} as const

/** Whether a SIM is blocked and nothing but its phone is waited for. */
export function isPhoneLeft({ state, hss_error }: Pick<SimRow, 'state' | 'hss_error'>): boolean {
  return wantedInHss(state) !== 'open' && Object.values<string | null>(STILL_ON).includes(hss_error)
}

/** What is still to be done, in words; undefined when nothing is. */
function openStep(row: SimRow, how: Kicked | undefined, leaving: readonly SimRow[]): string | undefined {
  if (how === 'pending' || how === 'unknown') return STILL_ON[how]
  const isLeft = wantedInHss(row.state) === 'absent' && !leaving.includes(row)
  return isLeft ? 'blocked; about to be removed' : undefined
}

/**
 * Those that are blocked, and otherwise not as they should be: another slice is configured, or somebody has edited them.
 * Only one that was found to differ, or was tried before, is looked at. Undefined: the HSS did not answer.
 */
async function driftedOf(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  absent: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly SimRow[] | undefined> {
  const doubtful = rows.filter(
    (row) => wantedInHss(row.state) === 'blocked' && row.hss_error !== null && !absent.includes(row),
  )
  if (doubtful.length === 0) return []
  const found = await differences(parts, driver, doubtful, signal)
  if (found === undefined) return undefined
  const differing = new Set(found.map(({ row }) => row.hash))
  return doubtful.filter(({ hash }) => differing.has(hash))
}

/** Blocks what the HSS should hold or may hold. Undefined: the HSS did not answer. */
async function block(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<Failures | undefined> {
  if (rows.length === 0 || driver.name === 'none') return new Map()
  const imsis = rows.map((row) => openImsi(parts.vault, row))
  const errors = await parts.hss.write(signal, imsis, (bound) => driver.setBlocked(imsis, true, bound))
  if (errors === undefined) return undefined
  // What must go may be gone; what must stay blocked has to be there.
  const missing = rows.filter((row, i) => errors[i] !== undefined && wantedInHss(row.state) === 'blocked')
  const drifted = await driftedOf(parts, driver, rows, missing, signal)
  if (drifted === undefined) return undefined
  const absent = [...missing, ...drifted]
  if (absent.length === 0) return new Map()
  const inserted = await upsertRows(parts, driver, absent, signal)
  return inserted === undefined ? undefined : failuresOf(absent, inserted)
}

async function remove(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<Failures | undefined> {
  if (rows.length === 0 || driver.name === 'none') return new Map()
  const imsis = rows.map((row) => openImsi(parts.vault, row))
  const errors = await parts.hss.write(signal, imsis, (bound) => driver.remove(imsis, bound))
  return errors === undefined ? undefined : failuresOf(rows, errors)
}

function failuresOf(rows: readonly SimRow[], errors: readonly (Error | undefined)[]): Failures {
  return new Map(
    rows.flatMap(({ hash }, i) => (errors[i] === undefined ? [] : [[hash, safeText(errors[i])] as const])),
  )
}

function outcomeOf(parts: SimsParts, mark: Mark, how: Kicked | undefined): Outcome {
  if (mark.status === 'synced') return { state: 'converged' }
  const later = parts.hss.later(mark.error)
  const { reason } = later
  if (mark.status === 'failed') return { state: 'pending', afterMs: RETRY_MS, reason }
  if (parts.hss.restMs() !== undefined) return later
  if (how !== 'unknown') return { state: 'pending', afterMs: AGAIN_MS, reason }
  if (parts.core.problem() !== undefined) return { state: 'pending', afterMs: CORE_RETRY_MS, reason }
  // The first time the removal is still to come.
  const isKnown = mark.row.hss_error === mark.error
  return { state: 'pending', afterMs: isKnown ? CORE_RETRY_MS : RETRY_MS, reason }
}

/** Whether the session of a SIM that was cut off is gone. */
export type Detached = 'yes' | 'pending' | 'not_attached'

/** Tells those who wait how a work on a SIM ended. */
export class EndBoard<How> {
  readonly #ends = new EventEmitter().setMaxListeners(0)

  /** Waits for the next end of it for that SIM; `pending` when `ms` pass or the signal aborts before. */
  async expect(hash: string, ms: number, signal: AbortSignal): Promise<How | 'pending'> {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(ms)])
      const [how] = await once(this.#ends, hash, { signal: limited })
      return how
    } catch {
      return 'pending'
    }
  }

  ended(hash: string, how: How): void {
    this.#ends.emit(hash, how)
  }
}
