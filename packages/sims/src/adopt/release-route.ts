import {
  type JsonSchema,
  nodeStateConflict,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  southboundUnavailable,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { upsertRows } from '../provision/push.ts'
import { openImsi } from '../secrets/card.ts'
import { isInHss, transitionSim, wantedInHss } from '../states/change.ts'
import { type ComparedSim, comparedBetween, simsOf } from '../store/sim-store.ts'
import { answered, chosenSource, foreignImsis } from './foreign.ts'

/** SIMs in one call of the driver. */
const CHUNK = 250
/** Sorts behind every hash. */
const END = 'g'

/** Suspended SIMs that are named. */
const NAMED = 100

const BODY: JsonSchema = objectSchema({
  dry_run: { type: 'boolean', description: 'Changes nothing: the answer says what would be done.' },
  unblock: {
    type: 'boolean',
    description: 'Resumes those that are suspended here: without it they stay blocked in the core.',
  },
})
const REPORT: JsonSchema = recordSchema({
  subscribers: {
    type: 'integer',
    description: 'Subscribers that this service has written or taken over, and that stay in the core.',
  },
  others: {
    type: ['integer', 'null'],
    description:
      'Subscribers of the core that are not of this service, and stay too. null: nobody can list them.',
  },
  blocked: {
    type: 'integer',
    description: 'Of these: suspended here. They stay blocked, but with `unblock`.',
  },
  blocked_ids: {
    type: 'array',
    items: { type: 'string' },
    description: `The first ${NAMED} of these, by imsi_sha256_12.`,
  },
  rates: { type: 'integer', description: 'Of these: slowed down here. They have their own AMBR back.' },
})

interface ReleaseBody {
  readonly dry_run?: boolean
  readonly unblock?: boolean
}

/** `POST /v1/sims/release` */
export function releaseRoute(parts: SimsParts): Route {
  return route<unknown, unknown, ReleaseBody>({
    method: 'POST',
    path: '/v1/sims/release',
    role: 'admin',
    example: { dry_run: true },
    summary: 'Leave the subscribers in the core as it needs them without this service',
    description:
      'Nobody is removed. Requests to cancel a location that are left over are taken away, and who was slowed down has the ' +
      'AMBR of the SIM. What this service keeps in the database for itself goes. Set hss.driver to none right after it: otherwise the service goes on to keep them in step.',
    schema: { body: BODY, response: REPORT },
    errors: ['validation_failed', 'node_state_conflict', 'southbound_unavailable', 'store_corrupt'],
    audit: 'sim.release',
    handle: async (request) => {
      const { body, signal } = request
      const isDry = body.dry_run === true
      requireHss(parts, body)
      const totals = { subscribers: 0, blocked: 0, rates: 0 }
      const suspended: string[] = []
      let isOurs = false
      for await (const all of chunks(parts)) {
        // Those that an HSS was told of, or had first.
        const rows = all.filter((row) => row.found_sealed !== null || isInHss(row))
        isOurs ||= rows.length > 0
        const open = rows.filter(({ state }) => wantedInHss(state) === 'open')
        const slow = open.filter(({ cap_bps: cap }) => cap !== null)
        const blocked = rows.filter(({ state }) => wantedInHss(state) === 'blocked')
        totals.subscribers += open.length + blocked.length
        totals.blocked += blocked.length
        totals.rates += slow.length
        suspended.push(...blocked.map(({ hash }) => hash))
        const lifted = body.unblock === true ? [...open, ...blocked] : open
        if (!isDry) await leave(parts, lifted, slow, signal)
      }
      const others = await othersIn(parts, signal)
      const report = { ...totals, others, blocked_ids: suspended.slice(0, NAMED) }
      if (isDry) return ok(report)
      const { release } = parts.hss.driver() ?? {}
      if (release !== undefined && isOurs)
        await answered(parts, signal, async (bound) => {
          await release(bound)
          return true
        })
      return await request.mutate('sims', async (tx) => {
        if (body.unblock === true)
          for (const hash of suspended)
            await transitionSim(parts, tx, hash, { action: 'resume', override: true })
        const detail = { ...totals, unblock: body.unblock === true }
        tx.audit({ detail })
        tx.event({ type: 'sim.release', subject: 'sims', data: totals })
        return { body: report }
      })
    },
  })
}

/** Before anything is done, and before anybody is told that it will be. Throws `node_state_conflict`. */
function requireHss({ hss }: SimsParts, { unblock }: ReleaseBody): void {
  if (unblock === true && hss.driver()?.name === 'none')
    throw nodeStateConflict(
      'hss.driver is none, so nobody can be let on: release without unblock, or take the core over first',
    )
}

/** How many of the core are of no SIM here; null while nobody can tell. */
async function othersIn(parts: SimsParts, signal: AbortSignal): Promise<number | null> {
  try {
    return (await foreignImsis(parts, chosenSource(parts, {}), signal)).size
  } catch {
    signal.throwIfAborted()
    return null
  }
}

async function* chunks({ context }: SimsParts): AsyncGenerator<readonly ComparedSim[]> {
  let from = ''
  for (;;) {
    const rows = await comparedBetween(context.db, from, END, CHUNK)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    // The next hash in order.
    from = `${last.hash}0`
  }
}

/** Takes away what this service has put into open subscribers for a while. Throws `southbound_unavailable`. */
async function leave(
  parts: SimsParts,
  open: readonly ComparedSim[],
  slow: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<void> {
  const driver = parts.hss.driver()
  if (driver === undefined) throw southboundUnavailable(parts.hss.view().problem ?? 'the HSS is not ready')
  const imsis = open.map((row) => openImsi(parts.vault, row))
  if (imsis.length > 0) await answered(parts, signal, (bound) => driver.setBlocked(imsis, false, bound))
  const rows = await simsOf(
    parts.context.db,
    slow.map(({ hash }) => hash),
  )
  const whole = rows.map((row) => ({ ...row, cap_bps: null }))
  const errors = whole.length === 0 ? [] : await upsertRows(parts, driver, whole, signal)
  const error = errors?.find((one) => one !== undefined)
  if (errors === undefined || error !== undefined)
    throw southboundUnavailable(error?.message ?? 'the HSS does not answer; try again')
}
