import {
  coreDriverRef,
  DURATION_PATTERN,
  fieldRefused,
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
} from '@steeple/contracts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'
import type { SimsParts } from '../parts.ts'
import type { Detached, EndBoard } from '../provision/cut.ts'
import { MOVED_SIM_SCHEMA, recordOf } from '../record.ts'
import { type Changed, toldTransition, wantedInHss } from '../states/change.ts'
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
  throw fieldRefused('/wait', 'must be more than zero and at most 30s')
}

/** What is waited for of some SIMs. */
interface Watch<How> {
  /** How it ended for each of these: at once where all have, `pending` where the time is over. */
  ends(hashes: readonly string[]): Promise<readonly (How | 'pending' | undefined)[]>
  /** Waits for nobody any more. */
  end(): void
}

/** Listens from now on, before the change, so that a quick end is not missed. Not at all with `waitMs` of 0. */
export function watch<How>(
  board: EndBoard<How>,
  hashes: readonly string[],
  waitMs: number,
  left: AbortSignal,
): Watch<How> {
  const over = new AbortController()
  const signal = AbortSignal.any([left, over.signal])
  const awaited = new Map(
    waitMs === 0 ? [] : hashes.map((hash) => [hash, board.expect(hash, waitMs, signal)]),
  )
  return {
    ends: (changed) => Promise.all(changed.map((hash) => awaited.get(hash))),
    end: () => over.abort(),
  }
}

/** Those whose phone was on when the core was last looked at. */
export function attachedAmong(
  { attachedSet }: SimsParts,
  hashes: readonly ImsiHash[],
): ReadonlySet<ImsiHash> {
  const present = attachedSet.now()?.hashes
  return new Set(hashes.filter((hash) => present?.has(hash) === true))
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
  const { params, body, signal } = request
  const { imsi: hash } = params
  const waitMs = waitMsOf(request.query)
  const wasOn = attachedAmong(parts, [hash]).has(hash)
  const cuts = watch(parts.detaches, verb === 'resume' ? [] : [hash], waitMs, signal)
  const pushes = watch(parts.pushes, verb === 'resume' ? [hash] : [], waitMs, signal)
  try {
    let changed: Changed | undefined
    const reply = await request.mutate(hash, async (tx) => {
      const change = { action: verb, override: body?.override }
      changed = await toldTransition(parts, tx, hash, change, { reason: body?.reason ?? null })
      const { after } = changed
      return { body: { ...(await recordOf(parts, after, tx)), detached: firstGuess(parts, after) } }
    })
    if (waitMs === 0 || changed === undefined || !isUnderWay(parts, changed.after)) return reply
    await pushes.ends([hash])
    const [ended] = await cuts.ends([hash])
    const row = (await SIMS.find(parts.context.db, { hash })) ?? changed.after
    // The block in the HSS may have let it go before the core was asked to.
    const how = ended === 'not_attached' && wasOn ? 'yes' : ended
    const detached = how === undefined || how === 'pending' ? firstGuess(parts, row) : how
    return { body: { ...(await recordOf(parts, row)), detached } }
  } finally {
    cuts.end()
    pushes.end()
  }
}

/** What can be said before the cut has run: `pending` while there is a core that may hold a session. */
function firstGuess(parts: SimsParts, row: SimRow): Detached {
  return isToBeCut(row) && parts.context.maybe(coreDriverRef) !== undefined ? 'pending' : 'not_attached'
}

function isToBeCut(row: SimRow): boolean {
  return wantedInHss(row.state) !== 'open' && row.hss_status !== 'synced'
}

/** Whether there is something that works on it, so that waiting makes sense. */
function isUnderWay({ context, hss }: SimsParts, row: SimRow): boolean {
  if (row.hss_status === 'synced') return false
  return hss.driver() !== undefined || (isToBeCut(row) && context.maybe(coreDriverRef) !== undefined)
}
