import {
  type ComponentHealth,
  type Context,
  createTurns,
  msFromDuration,
  type Plugin,
  subscribersRef,
  type TableSpec,
  vaultRef,
} from '@steeple/contracts'
import { attachWatch } from './attach/attach-watch.ts'
import { nobodySeen } from './attach/seen.ts'
import { sweepBatches } from './batch/batch-sweep.ts'
import { batchTrouble } from './batch/batch-trouble.ts'
import { filesReconciler } from './batch/files-reconciler.ts'
import { SIMS_CONFIG, type SimsConfig } from './config.ts'
import { simCounters } from './counters.ts'
import { expireDue } from './expiry.ts'
import { MIGRATIONS } from './migrations.ts'
import { FILES_RESOURCE, SIM_RESOURCE, type SimsParts } from './parts.ts'
import { coreLink } from './provision/core-link.ts'
import { cutReconciler } from './provision/cut-reconciler.ts'
import { detachBoard } from './provision/detach-board.ts'
import { driftReconciler } from './provision/drift-reconciler.ts'
import { createFlights } from './provision/flights.ts'
import { hssLink } from './provision/hss-link.ts'
import { simReconciler } from './provision/sim-reconciler.ts'
import { bulkRoute } from './routes/bulk-route.ts'
import { exportRoute } from './routes/export-route.ts'
import { importRoute } from './routes/import-route.ts'
import { issueRoute } from './routes/issue-route.ts'
import { readRoutes } from './routes/read-routes.ts'
import { stateRoutes } from './routes/state-routes.ts'
import { registerSealed } from './secrets/sealing.ts'
import { moveFeed } from './states/move-feed.ts'
import { BATCHES } from './store/batch-store.ts'
import { SIMS } from './store/sim-row.ts'
import { countUnsynced, unsyncedSims } from './store/sim-store.ts'
import { subscribers } from './subscribers.ts'

const EXPIRY_MS = 2_000
const RECOUNT_MS = 30_000
const SWEEP_MS = 3_600_000
const DRIVER_MS = 1_000
const DEFAULT_ATTACH_MS = 5_000
const TABLES: readonly TableSpec[] = [SIMS, BATCHES]

/** Subscribers: issuing, import, states, and their way into the HSS. */
export const plugin: Plugin<SimsConfig> = {
  config: SIMS_CONFIG,
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const vault = context.use(vaultRef)
    registerSealed(vault)
    const parts: SimsParts = {
      context,
      vault,
      counters: simCounters(context.metrics),
      hss: hssLink(context),
      core: coreLink(context, vault),
      detaches: detachBoard(),
      batchTrouble: batchTrouble(),
      moves: moveFeed(),
      seen: nobodySeen(),
      imports: createTurns(),
    }
    await parts.counters.recount(context.db)
    const flights = createFlights()
    return {
      services: new Map([[subscribersRef.id, subscribers(parts)]]),
      routes: [
        ...readRoutes(parts),
        exportRoute(parts),
        issueRoute(parts),
        importRoute(parts),
        bulkRoute(parts),
        ...stateRoutes(parts),
      ],
      reconcilers: [
        simReconciler(parts, flights),
        cutReconciler(parts, flights),
        driftReconciler(parts),
        filesReconciler(parts),
      ],
      start: async () => {
        const attaches = attachWatch(parts)
        context.every(EXPIRY_MS, (signal) => expireDue(parts, signal))
        context.every(RECOUNT_MS, () => parts.counters.recount(context.db))
        context.every(msFromDuration(context.config.attach_interval) ?? DEFAULT_ATTACH_MS, (signal) =>
          attaches.look(signal),
        )
        context.every(DRIVER_MS, noticeDriver(parts))
        context.every(SWEEP_MS, () => sweep(context))
        await sweep(context)
      },
      health: async () => [await hssHealth(parts), coreHealth(parts), batchHealth(parts)],
    }
  },
}

/** Has everything looked at again once another driver is there. */
function noticeDriver(parts: SimsParts): () => Promise<void> {
  let known = parts.hss.driver()?.name
  return async () => {
    const name = parts.hss.driver()?.name
    if (name === known) return
    known = name
    if (name === undefined) return
    parts.hss.worked()
    for (const { hash } of await unsyncedSims(parts.context.db, name))
      parts.context.enqueue(SIM_RESOURCE, hash)
  }
}

/** What cannot be swept now is swept later: it keeps nobody from starting. */
async function sweep(context: Context<SimsConfig>): Promise<void> {
  try {
    const found = await sweepBatches(context.settings.server.data_dir, context.db, context.clock)
    const { removed, missing } = found
    if (removed.length > 0) context.log.warn({ batches: removed }, 'batches without SIMs removed')
    for (const id of missing) context.enqueue(FILES_RESOURCE, id)
  } catch (error) {
    context.log.warn({ err: error }, 'batches could not be swept')
  }
}

async function hssHealth(parts: SimsParts): Promise<ComponentHealth> {
  const { driver, problem } = parts.hss.view()
  const { pending, failed } = await countUnsynced(parts.context.db)
  const counts = `${pending} SIMs wait, ${failed} failed`
  return {
    name: 'provisioning',
    kind: 'feature',
    status: problem === undefined && failed === 0 ? 'ok' : 'degraded',
    detail: problem === undefined ? `${driver}: ${counts}` : `${driver}: ${problem}; ${counts}`,
  }
}

function coreHealth({ core }: SimsParts): ComponentHealth {
  const problem = core.problem()
  return {
    name: 'kicks',
    kind: 'feature',
    status: problem === undefined ? 'ok' : 'degraded',
    detail: problem === undefined ? 'the core lets go who is cut off' : `the core takes no kicks: ${problem}`,
  }
}

function batchHealth({ batchTrouble: trouble }: SimsParts): ComponentHealth {
  const problem = trouble.view()
  return {
    name: 'batch_files',
    kind: 'feature',
    status: problem === undefined ? 'ok' : 'degraded',
    detail: problem ?? 'every batch has its files',
  }
}
