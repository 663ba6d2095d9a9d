import {
  coreDriverRef,
  DURATION_PATTERN,
  type ImsiHash,
  type JsonSchema,
  msFromDuration,
  objectSchema,
  type Reply,
  type Request,
  type Role,
  type Route,
  route,
  SIM_PARAMS,
  validationFailed,
} from '@steeple/contracts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'
import type { SimsParts } from '../parts.ts'
import type { Detached } from '../provision/cut.ts'
import { MOVED_SIM_SCHEMA, recordOf } from '../record.ts'
import { type Changed, transitionSim, wantedInHss } from '../states/change.ts'
import { SIMS, type SimRow } from '../store/sim-store.ts'
import type { SimParams } from './read-routes.ts'

/** How long an answer waits for phones to be off. */
export interface WaitQuery {
  readonly wait?: string
}

const MAX_WAIT_MS = 30_000

/** Schema of `wait`. */
export const WAIT_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: DURATION_PATTERN,
  maxLength: 16,
  description:
    'How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent.',
}

/** Ms to wait; 0 when nothing is waited for. Throws `validation_failed`. */
export function waitMsOf({ wait }: WaitQuery): number {
  if (wait === undefined) return 0
  const ms = msFromDuration(wait)
  if (ms !== undefined && ms <= MAX_WAIT_MS) return ms
  const message = 'must be more than zero and at most 30s'
  throw validationFailed(`/wait ${message}`, { details: [{ pointer: '/wait', message }] })
}

/** Those of many SIMs whose phones were on before they are cut off. */
interface CutWatch {
  readonly on: ReadonlySet<string>
  /** How many of these, each of which was on, are off: once all are, or the time is over. */
  off(hashes: readonly string[]): Promise<number>
  /** Waits for nobody any more. */
  end(): void
}

/** Listens from now on, before the change, so that a quick cut is not missed. */
export function watchCuts(
  { attachedSet, detaches }: SimsParts,
  hashes: readonly string[],
  waitMs: number,
  left: AbortSignal,
): CutWatch {
  const present = attachedSet.now()?.hashes
  // Hashes, by the schema.
  const on = new Set(hashes.filter((hash) => present?.has(hash as ImsiHash) === true))
  const over = new AbortController()
  const signal = AbortSignal.any([left, over.signal])
  const cuts = new Map(
    waitMs === 0 ? [] : [...on].map((hash) => [hash, detaches.expect(hash, waitMs, signal)]),
  )
  return {
    on,
    off: async (changed) => {
      const ends = await Promise.all(changed.map((hash) => cuts.get(hash)))
      return ends.filter((how) => how === 'yes' || how === 'not_attached').length
    },
    end: () => over.abort(),
  }
}

/** Listens from now on for what the HSS is told of SIMs that are resumed. */
export function watchPushes(
  { pushes, hss }: SimsParts,
  hashes: readonly string[],
  waitMs: number,
  left: AbortSignal,
): { done(hashes: readonly string[]): Promise<void>; end(): void } {
  const over = new AbortController()
  const signal = AbortSignal.any([left, over.signal])
  const isWaiting = waitMs > 0 && hss.driver() !== undefined
  const ends = new Map(isWaiting ? hashes.map((hash) => [hash, pushes.expect(hash, waitMs, signal)]) : [])
  return {
    done: async (changed) => void (await Promise.all(changed.map((hash) => ends.get(hash)))),
    end: () => over.abort(),
  }
}

interface StateBody {
  readonly reason?: string
  readonly override?: boolean
}
type StateRequest = Request<SimParams, WaitQuery, StateBody | undefined>
type Verb = 'suspend' | 'resume' | 'revoke'

const QUERY: JsonSchema = objectSchema({ wait: WAIT_SCHEMA })
const REASON: JsonSchema = { ...NAME_SCHEMA, maxLength: 256 }
const REASON_BODY: JsonSchema = objectSchema({ reason: REASON })
const RESUME_BODY: JsonSchema = objectSchema({
  reason: REASON,
  override: { type: 'boolean', description: 'Resume although the quota is used up.' },
})

/** Suspend, resume and revoke. */
export function stateRoutes(parts: SimsParts): readonly Route[] {
  return [
    verbRoute(parts, 'suspend', 'operator', 'Block a SIM and disconnect its phone', REASON_BODY),
    verbRoute(parts, 'resume', 'operator', 'Lift a suspension', RESUME_BODY),
    verbRoute(parts, 'revoke', 'sim:admin', 'End a SIM for good and disconnect its phone', REASON_BODY),
  ]
}

function verbRoute(parts: SimsParts, verb: Verb, role: Role, summary: string, body: JsonSchema): Route {
  return route<SimParams, WaitQuery, StateBody | undefined>({
    method: 'POST',
    path: `/v1/sims/:imsi/${verb}`,
    role,
    summary,
    description: 'Repeating it changes nothing. `detached` says whether the session of the phone is gone.',
    schema: { params: SIM_PARAMS, query: QUERY, body, response: MOVED_SIM_SCHEMA },
    errors: ['sim_not_found', 'sim_state_conflict', 'store_corrupt', 'rate_limited'],
    audit: `sim.${verb}`,
    ...(verb === 'revoke' ? { rateLimit: { name: 'sim_revoke' } } : {}),
    handle: (request) => changeState(parts, request, verb),
  })
}

async function changeState(parts: SimsParts, request: StateRequest, verb: Verb): Promise<Reply> {
  const { imsi: hash } = request.params
  const waitMs = waitMsOf(request.query)
  // A hash, by the schema.
  const wasOn = parts.attachedSet.now()?.hashes.has(hash as ImsiHash) === true
  const over = new AbortController()
  // Listens before the change, so that a quick cut is not missed.
  const left = AbortSignal.any([request.signal, over.signal])
  const isLifted = verb === 'resume'
  const cut = waitMs > 0 && !isLifted ? parts.detaches.expect(hash, waitMs, left) : undefined
  const push = waitMs > 0 && isLifted ? parts.pushes.expect(hash, waitMs, left) : undefined
  try {
    let changed: Changed | undefined
    const reply = await request.mutate(hash, async (tx) => {
      changed = await transitionSim(parts, tx, hash, {
        action: verb,
        ...(request.body?.override === true ? { lift: 'override' } : {}),
      })
      const facts = { from: changed.before.state, to: changed.after.state }
      tx.audit({ detail: { ...facts, reason: request.body?.reason ?? null } })
      tx.event({ type: `sim.${verb}`, subject: hash, data: facts })
      const { after } = changed
      return { body: { ...(await recordOf(parts, after, tx)), detached: firstGuess(parts, after) } }
    })
    if (push !== undefined && changed !== undefined && isPushUnderWay(parts, changed.after)) {
      await push
      const row = (await SIMS.find(parts.context.db, { hash })) ?? changed.after
      return { body: { ...(await recordOf(parts, row)), detached: 'not_attached' } }
    }
    if (cut === undefined || changed === undefined || !isCutUnderWay(parts, changed.after)) return reply
    const ended = await cut
    // The block in the HSS may have let it go before the core was asked to.
    const how = ended === 'not_attached' && wasOn ? 'yes' : ended
    const row = (await SIMS.find(parts.context.db, { hash })) ?? changed.after
    const detached = how === 'pending' ? firstGuess(parts, row) : how
    return { body: { ...(await recordOf(parts, row)), detached } }
  } finally {
    over.abort()
  }
}

/** What can be said before the cut has run: `pending` while there is a core that may hold a session. */
function firstGuess(parts: SimsParts, row: SimRow): Detached {
  return isToBeCut(row) && parts.context.maybe(coreDriverRef) !== undefined ? 'pending' : 'not_attached'
}

function isToBeCut(row: SimRow): boolean {
  return wantedInHss(row.state) !== 'open' && row.hss_status !== 'synced'
}

function isPushUnderWay({ hss }: SimsParts, row: SimRow): boolean {
  return wantedInHss(row.state) === 'open' && row.hss_status !== 'synced' && hss.driver() !== undefined
}

/** Whether there is something that works on it, so that waiting makes sense. */
function isCutUnderWay(parts: SimsParts, row: SimRow): boolean {
  const { context, hss } = parts
  return isToBeCut(row) && (context.maybe(coreDriverRef) !== undefined || hss.driver() !== undefined)
}
