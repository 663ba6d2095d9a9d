import {
  boxCallsRef,
  type ComponentHealth,
  type Context,
  type Db,
  desiredNewsRef,
  type Instance,
  nodeCredentialsRef,
  nodeIdentityRef,
  type Plugin,
  pageRoutes,
} from '@steeple/contracts'
import { boxReconciler } from './box/box-reconciler.ts'
import { hubOf, keptOf } from './box/kept.ts'
import { steeringRoutes } from './box/steering-routes.ts'
import { ALL, BOX, boxesOf, type GroupsConfig, type Parts, PLAN } from './context.ts'
import { reportIn } from './document.ts'
import { desiredRoutes, standingOf } from './hub/desired-routes.ts'
import { groupRoutes } from './hub/group-routes.ts'
import { invitationRoutes } from './hub/invitation-routes.ts'
import { planReconciler } from './hub/plan.ts'
import { SOFTWARE_BOX, softwareReconciler } from './software/box.ts'
import { buildFolder } from './software/builds.ts'
import { softwareRoutes } from './software/software-routes.ts'
import {
  DESIRED,
  DOCUMENTS,
  endInvited,
  MIGRATIONS,
  ONLY,
  REPORTS,
  ROLLOUTS,
  SOFTWARE,
  TABLES,
  versionFor,
} from './store.ts'

const COUNT_MS = 60_000
/** What changes something that a hub may set: then the box may differ. */
const CHANGES = ['policy.*', 'tx.*', 'plugin.*', 'user.*', 'settings.*', 'software.*'] as const
const STANDINGS = ['in_step', 'differs', 'refused', 'not_permitted', 'waiting'] as const

/** Desired state of groups of boxes: set at a hub, applied by each box as far as it permits. */
export const plugin: Plugin<GroupsConfig> = {
  migrations: MIGRATIONS,
  tables: TABLES,
  restored: async (tx, { present, nowMs }) => {
    await endInvited(tx, nowMs, present?.db)
    // Of the same hub the later one stays: a backup makes nothing old new.
    const before = present && (await DESIRED.sound(present.db, '')).rows[0]
    const now = await DESIRED.find(tx, { id: ONLY })
    const isOfOther = now !== undefined && now.ca_sha256 !== before?.ca_sha256
    if (before === undefined || isOfOther || (now?.version ?? 0) >= before.version) return
    await DESIRED.put(tx, before)
  },
  setup: async (context: Context<GroupsConfig>): Promise<Instance> => {
    const identity = context.use(nodeCredentialsRef)
    const builds = buildFolder(context.settings.server.data_dir)
    const parts: Parts = { context, identity, node: context.use(nodeIdentityRef), builds, news: {} }
    const look = (): void => {
      context.enqueue(PLAN, ALL)
      context.enqueue(BOX, ALL)
      context.enqueue(SOFTWARE_BOX, ALL)
    }
    return {
      services: new Map([
        [
          desiredNewsRef.id,
          {
            versionFor: (nodeId: string) => versionFor(context.db, nodeId),
            heard: async (version: number) => {
              parts.news.version = version
              const hub = hubOf(parts)
              if (hub !== undefined && (await keptOf(parts, hub))?.version !== version)
                context.enqueue(BOX, ALL)
            },
          },
        ],
      ]),
      routes: [
        ...groupRoutes(parts),
        ...invitationRoutes(parts),
        ...desiredRoutes(parts),
        ...steeringRoutes(parts),
        ...softwareRoutes(parts),
        ...pageRoutes(import.meta.url, '/groups-files'),
      ],
      reconcilers: [planReconciler(parts), boxReconciler(parts), softwareReconciler(parts)],
      health: () => softwareHealth(context.db),
      start: async () => {
        context.defer(identity.onChange(look))
        context.onChange(boxCallsRef, look)
        for (const type of CHANGES) context.on(type, async () => context.enqueue(BOX, ALL))
        context.every(COUNT_MS, counting(parts))
      },
    }
  },
}

function counting(parts: Parts): () => Promise<void> {
  const { context } = parts
  const gauge = context.metrics.gauge(
    'svc_groups_boxes',
    'Boxes with desired state, by how they stand to it.',
    ['standing'],
  )
  return async () => {
    const boxes = new Set((await boxesOf(parts)).map(({ nodeId }) => nodeId))
    const reports = new Map(
      (await REPORTS.select(context.db, '')).map(({ node_id, report }) => [node_id, report]),
    )
    const counts = new Map<string, number>()
    for (const row of await DOCUMENTS.select(context.db, '')) {
      if (!boxes.has(row.node_id)) continue
      const standing = standingOf(row, reportIn(reports.get(row.node_id)))
      counts.set(standing, (counts.get(standing) ?? 0) + 1)
    }
    for (const standing of STANDINGS) gauge.set(counts.get(standing) ?? 0, { standing })
  }
}

/** At a hub a roll-out that has stopped, at a box a build that it went back from; nothing while all is well. */
async function softwareHealth(db: Db): Promise<readonly ComponentHealth[]> {
  const stopped = (await ROLLOUTS.select(db, '')).find(({ stage }) => stage === 'stopped')
  const own = await SOFTWARE.find(db, { id: ONLY })
  const detail =
    stopped !== undefined
      ? `build ${stopped.build} goes to no more boxes: ${stopped.stopped_by} refused it or went back; set the group to another build`
      : own?.status === 'went_back'
        ? `this box went back from build ${own.build}: ${own.problem}`
        : undefined
  return detail === undefined ? [] : [{ name: 'groups', kind: 'feature', status: 'degraded', detail }]
}
