import { randomBytes } from 'node:crypto'
import {
  eachAbreast,
  type ImsiHash,
  isServiceError,
  type Metrics,
  type MutationTx,
  moveRecorderRef,
  type ObservedTx,
  quotaKeeperRef,
  type Reader,
  type RecordedSimMove,
  type SubscriberMove,
  type SubscriberMoves,
  type SubscriberState,
  simStateConflict,
  systemPrincipal,
  type Tx,
  untilAborted,
} from '@steeple/contracts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import {
  countByState,
  countUnsynced,
  expiredHashes,
  SIM_STATES,
  SIMS,
  type SimLifecycle,
  type SimRow,
  type SuspendReason,
  simOf,
  suspendReasonOf,
  wronglyExpired,
} from '../store/sim-store.ts'

/** What became of one SIM by itself. */
export interface SimNews {
  readonly type: 'sim.synced' | 'sim.pending' | 'sim.refused' | 'sim.attached' | 'sim.detached'
  readonly hash: ImsiHash
}

/** Events of single SIMs in one transaction. An import, or an HSS or a core that was away, changes thousands at once. */
const MOST_EVENTS = 20

/** Tells of each SIM, or of how many when there are too many. */
export function tellOfSims(tx: Pick<ObservedTx, 'event'>, news: readonly SimNews[]): void {
  if (news.length <= MOST_EVENTS) {
    for (const { type, hash } of news) tx.event({ type, subject: hash })
    return
  }
  const counts: Record<string, number> = {}
  for (const { type } of news) {
    const noun = type.slice('sim.'.length)
    counts[noun] = (counts[noun] ?? 0) + 1
  }
  tx.event({ type: 'sim.many', subject: 'sims', data: counts })
}

export type SimAction = 'attach' | 'suspend' | 'resume' | 'expire' | 'unexpire' | 'revoke'

/**
 * `before`: the state that the suspension interrupted. `unexpired`: what it was when it expired. `same`: holds already,
 * nothing changes.
 */
type Target = SubscriberState | 'before' | 'unexpired' | 'same'

/** The moves of contract section 6. What is missing here is refused. */
const MOVES: Readonly<Record<SubscriberState, Readonly<Partial<Record<SimAction, Target>>>>> = {
  issued: { attach: 'in-use', suspend: 'suspended', resume: 'same', expire: 'expired', revoke: 'revoked' },
  'in-use': { attach: 'same', suspend: 'suspended', resume: 'same', expire: 'expired', revoke: 'revoked' },
  suspended: { suspend: 'same', resume: 'before', expire: 'expired', revoke: 'revoked' },
  expired: { expire: 'same', unexpire: 'unexpired', revoke: 'revoked' },
  revoked: { revoke: 'same' },
}

/**
 * The standing after an action; the same object when it holds already, undefined when the table lacks the move.
 *
 * An operator's suspension replaces the reason of one by quota or policy, so that no new period lifts it.
 */
export function moved(
  lifecycle: SimLifecycle,
  action: SimAction,
  reason: SuspendReason = 'operator',
): SimLifecycle | undefined {
  const target = MOVES[lifecycle.state][action]
  if (target === undefined) return undefined
  if (target === 'same')
    return isHarder(lifecycle, action, reason) ? { ...lifecycle, suspend_reason: reason } : lifecycle
  if (target === 'before')
    return { state: lifecycle.previous_state ?? 'issued', previous_state: null, suspend_reason: null }
  if (target === 'suspended')
    return { state: target, previous_state: lifecycle.state, suspend_reason: reason }
  if (target === 'expired') return expired(lifecycle)
  if (target === 'unexpired') return unexpired(lifecycle)
  return { state: target, previous_state: null, suspend_reason: null }
}

/** Keeps what it was: the clock may turn out to have been wrong. */
function expired({ state, previous_state, suspend_reason }: SimLifecycle): SimLifecycle {
  const interrupted = state === 'suspended' ? (previous_state ?? 'issued') : state
  return { state: 'expired', previous_state: interrupted, suspend_reason }
}

/** One that expired before its state was kept comes back suspended: it may have been. */
function unexpired({ previous_state, suspend_reason }: SimLifecycle): SimLifecycle {
  const reason = previous_state === null ? 'operator' : suspend_reason
  const interrupted = previous_state ?? 'issued'
  if (reason === null) return { state: interrupted, previous_state: null, suspend_reason: null }
  return { state: 'suspended', previous_state: interrupted, suspend_reason: reason }
}

function isHarder(lifecycle: SimLifecycle, action: SimAction, reason: SuspendReason): boolean {
  return action === 'suspend' && reason === 'operator' && lifecycle.suspend_reason !== 'operator'
}

/** What an HSS must hold of a SIM in a state. */
export function wantedInHss(state: SubscriberState): 'open' | 'blocked' | 'absent' {
  if (state === 'issued' || state === 'in-use') return 'open'
  return state === 'suspended' ? 'blocked' : 'absent'
}

/** Moves that are kept for those who follow. */
const KEPT = 20_000
/** Moves of one answer. */
const MOST = 5_000

/** The newest moves, for others to follow; it begins now. Cursors of another one (before a restart, of another copy) count as a gap. */
export class MoveFeed {
  readonly #epoch = randomBytes(6).toString('hex')
  readonly #kept: SubscriberMove[] = []
  /** Number of the first move that is kept; they are numbered from 1. */
  #first = 1
  #moved = new Set<ImsiHash>()
  #news = Promise.withResolvers<void>()

  get #last(): number {
    return this.#first + this.#kept.length - 1
  }

  add(move: SubscriberMove): void {
    this.#kept.push(move)
    // The phone of one that was taken over or imported may be on already.
    this.#moved.add(move.imsi)
    // Cut in one go now and then: a shift for each move would cost more.
    if (this.#kept.length > 2 * KEPT) this.#first += this.#kept.splice(0, KEPT).length
    const told = this.#news
    this.#news = Promise.withResolvers()
    told.resolve()
  }

  /** The SIMs that have moved since this was asked last; for the one that watches the phones. */
  takeMoved(): ReadonlySet<ImsiHash> {
    const taken = this.#moved
    this.#moved = new Set()
    return taken
  }

  /** See `Subscribers.moves`. */
  async since(cursor: string | undefined, signal: AbortSignal): Promise<SubscriberMoves> {
    signal.throwIfAborted()
    const [of, number] = (cursor ?? '').split('.')
    const place = of === this.#epoch ? Number(number) : Number.NaN
    const isKept = (): boolean => place >= this.#first - 1 && place <= this.#last
    while (isKept() && place === this.#last) await untilAborted(this.#news.promise, signal)
    // It was never kept, or so much was added while this one slept that its place is gone.
    if (!isKept() || !Number.isInteger(place))
      return { cursor: `${this.#epoch}.${this.#last}`, moves: [], isGap: true }
    const moves = this.#kept.slice(place + 1 - this.#first, place + 1 - this.#first + MOST)
    return { cursor: `${this.#epoch}.${place + moves.length}`, moves, isGap: false }
  }
}

export interface Change {
  readonly action: SimAction
  /** Of a suspension, why. Of a resume, the one suspension that it lifts: what is suspended otherwise stays. Absent: an operator's. */
  readonly reason?: SuspendReason
  /** Of a resume: also when the quota is used up. */
  readonly override?: boolean | undefined
}

/** The rows before and after; the same row when the move held already. */
export interface Changed {
  readonly before: SimRow
  readonly after: SimRow
}

/** Nobody would write it into the HSS that holds the SIM, and a phone would go on as before: an operator is not told that it is done. */
export function refuseUnwritten(
  { hss }: SimsParts,
  row: Pick<SimRow, 'hash' | 'hss_driver'>,
  what = 'be changed',
): void {
  if (hss.driver()?.name !== 'none' || !isInHss(row)) return
  throw simStateConflict(
    `hss.driver is none, so the SIM ${row.hash} cannot ${what}: nobody writes into its HSS. ` +
      'svc core adopt --yes sets it again',
  )
}

/** Whether an HSS was told of it. */
export function isInHss({ hss_driver: driver }: Pick<SimRow, 'hss_driver'>): boolean {
  return driver !== null && driver !== 'none'
}

/** Whether an operator asks for what an HSS has to be told. A policy lifts its suspension only when somebody has it do so. */
function isOfOperator({ action, reason = 'operator' }: Change): boolean {
  if (action === 'resume') return reason !== 'quota'
  return ['suspend', 'revoke'].includes(action) && reason === 'operator'
}

/**
 * Moves a SIM inside a transaction: its row, the counters, and what the HSS must hear of it.
 * Throws `sim_not_found`, `sim_state_conflict`.
 */
export async function transitionSim(
  parts: SimsParts,
  tx: MutationTx,
  hash: string,
  change: Change,
): Promise<Changed> {
  const { action, reason, override } = change
  const before = await simOf(tx, hash)
  const isOthers = before.state === 'suspended' && reason !== undefined && before.suspend_reason !== reason
  if (action === 'resume' && isOthers) return { before, after: before }
  const lifecycle = moved(before, action, reason)
  if (lifecycle === undefined)
    throw simStateConflict(`the SIM ${hash} is ${before.state}; it cannot ${WORDS[action]}`)
  if (lifecycle === before) return { before, after: before }
  if (isOfOperator(change)) refuseUnwritten(parts, before, WORDS[action])
  // Who keeps quotas knows of them.
  if (action === 'resume' && reason !== 'quota') await askKeeper(parts, tx, before, override === true)
  const isHeard = wantedInHss(lifecycle.state) !== wantedInHss(before.state)
  const after: SimRow = {
    ...before,
    state: lifecycle.state,
    previous_state: lifecycle.previous_state,
    suspend_reason: lifecycle.suspend_reason,
    attached_at_ms:
      action === 'attach' ? (before.attached_at_ms ?? parts.context.clock.nowMs()) : before.attached_at_ms,
    ...(isHeard ? unsynced(before) : {}),
  }
  await SIMS.put(tx, after)
  await noteMoves(parts, tx, [{ before, after }])
  if (isHeard) tx.dirty(SIM_RESOURCE, hash, wantedInHss(after.state) !== 'open')
  return { before, after }
}

/** As `transitionSim`, with the audit entry and the event of the caller's mutation. */
export async function toldTransition(
  parts: SimsParts,
  tx: MutationTx,
  hash: string,
  change: Change,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Changed> {
  const changed = await transitionSim(parts, tx, hash, change)
  const facts = { from: changed.before.state, to: changed.after.state }
  tx.audit({ detail: { ...facts, ...more } })
  tx.event({ type: `sim.${change.action}`, subject: hash, data: facts })
  return changed
}

/** A SIM that is another one after a change; `before` is undefined for a new SIM. */
interface Moved {
  readonly before?: SimRow
  readonly after: SimRow
}

/** Has moves written down where somebody keeps a record; once their transaction is durable, they count and are told. */
export async function noteMoves(parts: SimsParts, tx: Tx, all: readonly Moved[]): Promise<void> {
  await parts.context.maybe(moveRecorderRef)?.simsMoved(
    tx,
    all.map(({ before, after }) => ({ ...recordedState(after), from: before?.state })),
  )
  tx.afterCommit(() => {
    for (const { before, after } of all) {
      if (before?.state === after.state) continue
      parts.counters.moved(before?.state, after.state)
      parts.moves.add({ imsi: after.hash, from: before?.state, to: after.state })
    }
  })
}

/** A SIM as records have it. */
export function recordedState(
  row: Pick<SimRow, 'hash' | 'state' | 'suspend_reason'>,
): Omit<RecordedSimMove, 'from'> {
  return { imsi: row.hash, to: row.state, reason: suspendReasonOf(row) ?? undefined }
}

/** What changes in a row that the HSS must hear of. */
export function unsynced(row: SimRow): Pick<SimRow, 'generation' | 'hss_status' | 'hss_error'> {
  return { generation: row.generation + 1, hss_status: 'pending', hss_error: null }
}

const WORDS: Readonly<Record<SimAction, string>> = {
  attach: 'attach',
  suspend: 'be suspended',
  resume: 'be resumed',
  expire: 'expire',
  unexpire: 'come back from its expiry',
  revoke: 'be revoked',
}

/** A quota that is used up keeps off whom it has suspended. */
async function askKeeper(
  { context }: SimsParts,
  tx: MutationTx,
  row: SimRow,
  isOverride: boolean,
): Promise<void> {
  const isKeptOff = await context.maybe(quotaKeeperRef)?.keepsOff(tx, row.hash, isOverride)
  if (isKeptOff !== true || row.suspend_reason !== 'quota') return
  throw simStateConflict(
    `the SIM ${row.hash} has used up its quota; raise it, wait for the next period, or resume with override: true`,
  )
}

/** `svc_sim_state{state}` and `svc_attach_total{plmn}`, kept without counting rows at each change. */
export interface SimCounters {
  /** SIMs in any state, revoked ones included. */
  readonly total: number
  /** How many are in each state. */
  states(): ReadonlyMap<SubscriberState, number>
  /** Counts a move that is durable; `from` is undefined for a new SIM. */
  moved(from: SubscriberState | undefined, to: SubscriberState): void
  /** Counts one less: its row is gone, durably. */
  removed(state: SubscriberState): void
  /** Counts one that was seen when the core was looked at. */
  attached(plmn: string): void
  /** Those that were counted one by one, ever; and whether the core tells of each now. */
  told(totals: ReadonlyMap<string, number>, isTelling: boolean): void
  /** How many phones are attached now; undefined while the core does not tell. */
  present(phones: number | undefined): void
  /** Counts anew: another instance may have changed rows. */
  recount(reader: Reader): Promise<void>
}

/** Registers the series; attaches of the network `home` count from nought on. */
export function simCounters(metrics: Metrics, home: string): SimCounters {
  const gauge = metrics.gauge('svc_sim_state', 'SIMs by state.', ['state'])
  const unsynced = metrics.gauge(
    'svc_sims_unsynced',
    'SIMs that differ in the HSS, by reason: pending or failed.',
    ['status'],
  )
  const phones = metrics.gauge(
    'svc_sims_phones_attached',
    'Phones that are attached now. NaN: the core gives no number.',
  )
  const attaches = metrics.counter(
    'svc_attach_total',
    'Attaches in the core. When its log can be read, each one counts. Otherwise they are seen by polls, and a phone that left and came back between two polls counts once.',
    ['plmn'],
  )
  attaches.inc({ plmn: home }, 0)
  const telling = metrics.gauge(
    'svc_sims_attaches_told',
    '1: the core reports each attach. 0: attaches are counted by polls.',
  )
  const shown = new Map<string, number>()
  const counts = new Map<SubscriberState, number>()
  // Moves that became durable while a recount was reading are in neither of its sides for sure: it starts again.
  let moves = 0
  const add = (state: SubscriberState, by: number): void => {
    const next = (counts.get(state) ?? 0) + by
    counts.set(state, next)
    gauge.set(next, { state })
  }
  return {
    get total() {
      return [...counts.values()].reduce((sum, count) => sum + count, 0)
    },
    states: () => new Map(SIM_STATES.map((state) => [state, counts.get(state) ?? 0])),
    moved: (from, to) => {
      moves += 1
      if (from !== undefined) add(from, -1)
      add(to, 1)
    },
    removed: (state) => {
      moves += 1
      add(state, -1)
    },
    attached: (plmn) => attaches.inc({ plmn }),
    told: (totals, isTelling) => {
      telling.set(isTelling ? 1 : 0)
      for (const [plmn, total] of totals) {
        const more = total - (shown.get(plmn) ?? 0)
        // A total that is less is of a backup that was put back.
        if (more > 0) attaches.inc({ plmn }, more)
        if (more !== 0) shown.set(plmn, total)
      }
    },
    present: (count) => phones.set(count ?? Number.NaN),
    recount: async (reader) => {
      const { pending, failed } = await countUnsynced(reader)
      unsynced.set(pending, { status: 'pending' })
      unsynced.set(failed, { status: 'failed' })
      const movesBefore = moves
      const found = await countByState(reader)
      if (moves !== movesBefore) return
      for (const state of SIM_STATES) {
        counts.set(state, found.get(state) ?? 0)
        gauge.set(counts.get(state) ?? 0, { state })
      }
    },
  }
}

const CHUNK = 200
/** Moves at a time: they share commits. */
const ABREAST = 32

/**
 * Expires every SIM whose time has come, and gives back to every SIM that a wrong clock has expired what it was. Each
 * is a move of its own in the audit trail. Does nothing while the clock is not believed.
 */
export async function expireDue(parts: SimsParts, signal: AbortSignal): Promise<void> {
  await moveAll(parts, 'expire', expiredHashes, signal)
  await moveAll(parts, 'unexpire', wronglyExpired, signal)
}

type Find = (reader: Reader, nowMs: number, limit: number) => Promise<readonly string[]>

async function moveAll(
  parts: SimsParts,
  action: 'expire' | 'unexpire',
  find: Find,
  signal: AbortSignal,
): Promise<void> {
  const { clock, db } = parts.context
  const mayMove = (): boolean => !signal.aborted && clock.doubt?.() === undefined
  while (mayMove()) {
    const found = await find(db, clock.nowMs(), CHUNK)
    if (found.length === 0) return
    await eachAbreast(found, ABREAST, async (hash) => {
      if (mayMove()) await moveAlone(parts, action, hash)
    })
  }
}

async function moveAlone(parts: SimsParts, action: 'expire' | 'unexpire', hash: string): Promise<void> {
  try {
    await parts.context.mutate(systemPrincipal('sims'), `sim.${action}`, hash, async (tx) => {
      await toldTransition(parts, tx, hash, { action })
    })
  } catch (error) {
    // Revoked in this very moment.
    if (!isServiceError(error) || error.code !== simStateConflict.code) throw error
  }
}
