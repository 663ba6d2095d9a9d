import {
  boxCallsRef,
  type Context,
  countText,
  hssDriverRef,
  type Instance,
  nodeIdentityRef,
  type Plugin,
  pageRoutes,
  reachKeeperRef,
  type StateEvent,
  type Visitors,
  vaultRef,
  visitorsRef,
} from '@steeple/contracts'
import { ownKey } from './envelope.ts'
import { boxReconciler } from './home/box-reconciler.ts'
import { boxRoutes } from './home/box-routes.ts'
import { callsRoute } from './home/calls-route.ts'
import { planReconciler } from './home/plan.ts'
import { reachKeeper, reachRoutes } from './home/reach-routes.ts'
import { endIdle } from './home/stays.ts'
import { MIGRATIONS } from './migrations.ts'
import {
  ALL,
  BOX_RESOURCE,
  indProblem,
  PLAN_RESOURCE,
  type RoamingConfig,
  type RoamingParts,
  VISITOR_RESOURCE,
} from './parts.ts'
import {
  allBoxes,
  countLeases,
  countVisitors,
  staysBetween,
  TABLES,
  VISITORS,
  visitorsAfter,
} from './store.ts'
import { callers } from './visited/callers.ts'
import { endLapsed } from './visited/lapse.ts'
import { leasesRoute } from './visited/leases-route.ts'
import { pruneStays } from './visited/stays.ts'
import { holdToShares } from './visited/usage.ts'
import { visitorReconciler, visitorsRoute } from './visited/visitors.ts'

/** Leases that were not renewed are looked for so often. */
const LAPSE_MS = 2_000
const COUNT_MS = 15_000
/** Phones that the core does not know are looked for so often. */
const CALL_MS = 3_000
const IDLE_MS = 30_000
const PRUNE_MS = 3_600_000
const MOST_VISITORS = 100_000
/** Of what is only seen of SIMs nothing is told to other boxes. */
const SEEN: ReadonlySet<string> = new Set([
  'sim.synced',
  'sim.pending',
  'sim.refused',
  'sim.attached',
  'sim.detached',
])

/** SIMs that work on other boxes of the mesh, and SIMs of others that work on this one. */
export const plugin: Plugin<RoamingConfig> = {
  migrations: MIGRATIONS,
  tables: TABLES,
  restored: async (tx) => {
    // Their homes may have ended them since; they grant again what still holds.
    for (const row of await VISITORS.select(tx, 'where until_ms > 0'))
      await VISITORS.put(tx, { ...row, until_ms: 0 })
  },
  setup: async (context: Context<RoamingConfig>): Promise<Instance> => {
    const vault = context.use(vaultRef)
    vault.register({ table: 'roaming_visitor', key: 'hash', columns: ['sealed'] })
    vault.register({ table: 'roaming_key', key: 'id', columns: ['private_sealed'] })
    const parts: RoamingParts = { context, vault, node: context.use(nodeIdentityRef) }
    const lookAgain = (): void => context.enqueue(PLAN_RESOURCE, ALL)
    return {
      services: new Map<string, object>([
        [visitorsRef.id, visitors(context)],
        [reachKeeperRef.id, reachKeeper(parts)],
      ]),
      routes: [
        leasesRoute(parts),
        callsRoute(parts),
        ...reachRoutes(parts),
        ...boxRoutes(parts),
        visitorsRoute(parts),
        ...pageRoutes(import.meta.url, '/roaming-files'),
      ],
      reconcilers: [planReconciler(parts), boxReconciler(parts), visitorReconciler(parts)],
      start: async () => {
        await ownKey(parts)
        context.on('sim.*', async (event) => hear(parts, event))
        context.onChange(boxCallsRef, async () => {
          lookAgain()
          for (const { node_id } of await allBoxes(context.db)) context.enqueue(BOX_RESOURCE, node_id)
        })
        // It may be another one, or hold what it held long ago.
        context.onChange(hssDriverRef, async () => {
          for (const { hash } of await visitorsAfter(context.db, { after: '', limit: MOST_VISITORS }))
            context.enqueue(VISITOR_RESOURCE, hash)
        })
        context.every(LAPSE_MS, async () => {
          await endLapsed(parts)
          await holdToShares(parts)
        })
        context.every(CALL_MS, callers(parts), 'machine')
        context.every(IDLE_MS, () => endIdle(parts))
        context.every(PRUNE_MS, (signal) => pruneStays(parts, signal), 'each')
        const count = counting(context)
        context.every(COUNT_MS, count, 'each')
        await count()
      },
      health: async () => [await health(parts)],
    }
  },
}

/** What other plugins see of visitors. */
function visitors({ db }: Context<RoamingConfig>): Visitors {
  return {
    among: async (imsis) => {
      const found = new Set<string>()
      for (const hash of imsis) if ((await VISITORS.find(db, { hash })) !== undefined) found.add(hash)
      return found
    },
    count: async () => [...(await countVisitors(db)).values()].reduce((sum, rows) => sum + rows, 0),
    stays: (span, after, limit) => staysBetween(db, span, after, limit),
  }
}

async function hear({ context }: RoamingParts, { type, subject }: StateEvent): Promise<void> {
  if (SEEN.has(type)) return
  const isHash = /^[0-9a-f]{12}$/.test(subject)
  // Of an order or an import only the first is named.
  if (isHash && type !== 'sim.issue') context.enqueue(PLAN_RESOURCE, subject, true)
  else context.enqueue(PLAN_RESOURCE, ALL)
}

function counting(context: Context<RoamingConfig>): () => Promise<void> {
  const leases = context.metrics.gauge(
    'svc_roaming_leases',
    'Leases of SIMs of this box at others, by state.',
    ['state'],
  )
  const visitors = context.metrics.gauge('svc_roaming_visitors', 'SIMs of other boxes here, by state.', [
    'state',
  ])
  return async () => {
    const [ours, theirs] = [await countLeases(context.db), await countVisitors(context.db)]
    for (const state of ['open', 'blocked', 'ended']) {
      leases.set(ours.get(state) ?? 0, { state })
      visitors.set(theirs.get(state) ?? 0, { state })
    }
  }
}

async function health(parts: RoamingParts) {
  const { context } = parts
  const away = (await allBoxes(context.db)).filter(
    ({ problem, permitted_at_ms: at }) => problem !== null && at !== null,
  )
  const leases = await countLeases(context.db)
  const visitors = await countVisitors(context.db)
  const problem = indProblem(parts)
  const shares = problem === undefined ? '' : `; ${problem}`
  const counts = `${countText(leases.get('open') ?? 0, 'lease', 'leases')} at other boxes, ${countText(visitors.get('open') ?? 0, 'visitor', 'visitors')} here${shares}`
  const about = { name: 'leases', kind: 'feature', required: false } as const
  const [first] = away
  if (first === undefined) return { ...about, status: 'ok', detail: counts } as const
  const detail = `${countText(away.length, 'box does', 'boxes do')} not take its leases: ${first.problem ?? ''}; ${counts}`
  return { ...about, status: 'degraded', detail, chosen: first.problem ?? '' } as const
}
