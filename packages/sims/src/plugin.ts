import {
  type ComponentHealth,
  type Context,
  countText,
  createTurns,
  hssDriverRef,
  msFromDuration,
  type Plugin,
  simIssuerRef,
  simProvisioningRef,
  simRegisterRef,
  subscribersRef,
  type TableSpec,
  vaultRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { adoptRoute } from './adopt/adopt-route.ts'
import { foreignRoute } from './adopt/foreign.ts'
import { releaseRoute } from './adopt/release-route.ts'
import { attachedSet } from './attach/attach-state.ts'
import { attachWatch } from './attach/attach-watch.ts'
import { BATCHES, removeOldFiles } from './batches.ts'
import type { SimsConfig } from './config.ts'
import { importRoute } from './import/import-route.ts'
import { OPEN_IMPORTS, sweepImports } from './import/open-imports.ts'
import { issueRoute, simIssuer } from './issue/issue.ts'
import { MIGRATIONS } from './migrations.ts'
import { DRIFT_RESOURCE, SIM_RESOURCE, type SimsParts } from './parts.ts'
import { coreBreaker, EndBoard, OpenCuts } from './provision/cut.ts'
import { driftReconciler, slices } from './provision/drift.ts'
import {
  hssBreaker,
  type OthersInHss,
  othersInHss,
  SURVEY_MS,
  UnfixableSubscribers,
} from './provision/hss-breaker.ts'
import { ratesReconciler, simReconciler } from './provision/sim-reconciler.ts'
import { bulkRoute, labelRoute, subscriptionRoute } from './routes/change-routes.ts'
import { handoutRoute } from './routes/handout-route.ts'
import { diagnosisRoute, exportRoute, findRoute, readRoutes } from './routes/read-routes.ts'
import { stateRoutes } from './routes/state-routes.ts'
import { registerSealed } from './secrets/card.ts'
import { ICCID_INDEX, iccidBackfill, iccidIndex } from './secrets/iccid-index.ts'
import { expireDue, MoveFeed, simCounters, wantedInHss } from './states/change.ts'
import { revokeLater } from './states/revoke-later.ts'
import { countUnsynced, SIMS, unsyncedSims } from './store/sim-store.ts'
import { areWordsBuilt, buildWords } from './store/word-store.ts'
import { networkHealth, simProvisioning, simRegister, subscribers } from './subscribers.ts'

const EXPIRY_MS = 2_000
const RECOUNT_MS = 30_000
const SWEEP_MS = 3_600_000
const BACKFILL_MS = 1_000
const DEFAULT_ATTACH_MS = 5_000
const TABLES: readonly TableSpec[] = [SIMS, BATCHES, ICCID_INDEX, OPEN_IMPORTS]

/** Subscribers: issuing, import, states, and their way into the HSS. */
export const plugin: Plugin<SimsConfig> = {
  migrations: MIGRATIONS,
  tables: TABLES,
  restored: (tx, { present }) => revokeLater(tx, present),
  setup: async (context) => {
    const vault = context.use(vaultRef)
    registerSealed(vault)
    const parts: SimsParts = {
      context,
      vault,
      counters: simCounters(context.metrics, formatPlmn(context.settings.plmn)),
      hss: hssBreaker(context, () => void pushAll(parts)),
      core: coreBreaker(context, vault),
      detaches: new EndBoard(),
      pushes: new EndBoard(),
      cuts: new OpenCuts(),
      unfixable: new UnfixableSubscribers(),
      moves: new MoveFeed(),
      seen: { last: undefined },
      attachedSet: attachedSet(context),
      iccids: iccidIndex(context.db, vault),
      imports: createTurns(),
    }
    await parts.counters.recount(context.db)
    const others = othersInHss(parts)
    noticeHss(parts, others)
    return {
      services: new Map<string, object>([
        [subscribersRef.id, { ...subscribers(parts), foreign: others.count }],
        [simIssuerRef.id, simIssuer(parts)],
        [simRegisterRef.id, simRegister(parts)],
        [simProvisioningRef.id, simProvisioning(parts)],
      ]),
      routes: [
        ...readRoutes(parts),
        findRoute(parts),
        diagnosisRoute(parts),
        labelRoute(parts),
        subscriptionRoute(parts),
        exportRoute(parts),
        handoutRoute(parts),
        issueRoute(parts),
        importRoute(parts),
        foreignRoute(parts),
        adoptRoute(parts, others.look),
        releaseRoute(parts),
        bulkRoute(parts),
        ...stateRoutes(parts),
      ],
      reconcilers: [simReconciler(parts), ratesReconciler(parts), driftReconciler(parts)],
      start: async () => {
        const attaches = attachWatch(parts)
        context.every(EXPIRY_MS, (signal) => expireDue(parts, signal))
        context.every(SURVEY_MS, others.look, 'each')
        void others.look(context.retiring).catch(() => undefined)
        context.every(RECOUNT_MS, () => parts.counters.recount(context.db), 'each')
        context.every(msFromDuration(context.config.attach_interval) ?? DEFAULT_ATTACH_MS, attaches)
        context.every(BACKFILL_MS, iccidBackfill(context, vault, parts.iccids))
        context.every(SWEEP_MS, () => sweep(context, false), 'each')
        await sweep(context, context.db.dialect === 'sqlite')
        void wordsOfEarlier(context)
        void removeOldFiles(context, vault)
      },
      health: async () => [
        await hssHealth(parts, others.view()),
        await networkHealth(context),
        parts.cuts.health(parts.core, context.clock.monotonicMs()),
      ],
    }
  },
}

/** Notices another driver, and the choice of none: then no driver comes or goes. */
function noticeHss(parts: SimsParts, others: OthersInHss): void {
  const { context } = parts
  context.onChange(hssDriverRef, async () => {
    await lookAnew(parts)
    await others.look(context.retiring)
  })
  let chosen = context.settings.hss.driver
  context.onSettings(() => {
    if (chosen !== context.settings.hss.driver) void lookAnew(parts)
    chosen = context.settings.hss.driver
  })
}

/**
 * Has everything looked at again once another driver is there, or the HSS behind it answers again: it may be another one,
 * or hold what it held long ago.
 */
async function lookAnew(parts: SimsParts): Promise<void> {
  if (parts.hss.driver() === undefined) return
  parts.hss.worked()
  parts.unfixable.forget()
  for (const key of slices(parts.counters.total)) parts.context.enqueue(DRIFT_RESOURCE, key)
  await pushAll(parts)
}

/** Has all looked at again that waits for the HSS. */
async function pushAll({ context, hss }: SimsParts): Promise<void> {
  const name = hss.driver()?.name
  if (name === undefined) return
  try {
    for (const { hash, state } of await unsyncedSims(context.db, name))
      context.enqueue(SIM_RESOURCE, hash, wantedInHss(state) !== 'open')
  } catch (error) {
    // The next listing has them, too.
    context.log.warn({ err: error }, 'what waits for the HSS could not be listed')
  }
}

/** A store of an earlier version has no words to search by. Searches look through all SIMs until they are there. */
async function wordsOfEarlier(context: Context<SimsConfig>): Promise<void> {
  try {
    if (!(await areWordsBuilt(context.db))) await buildWords(context.db, context.retiring)
  } catch (error) {
    if (!context.retiring.aborted) context.log.warn({ err: error }, 'words of SIMs could not be built')
  }
}

/** What cannot be swept now is swept later: it keeps nobody from starting. */
async function sweep(context: Context<SimsConfig>, isAlone: boolean): Promise<void> {
  // What is under way is known by its age.
  if (context.clock.doubt?.() !== undefined) return
  try {
    await sweepImports(context, isAlone)
  } catch (error) {
    context.log.warn({ err: error }, 'imports could not be swept')
  }
}

async function hssHealth(parts: SimsParts, others: string): Promise<ComponentHealth> {
  const { driver, problem } = parts.hss.view()
  const { pending, failed } = await countUnsynced(parts.context.db)
  const unfixable = parts.unfixable.view()
  const left =
    unfixable.sims === 0
      ? ''
      : `; ${countText(unfixable.sims, 'differs', 'differ')} in the HSS whatever is pushed: ${unfixable.reason}`
  const counts = `${countText(pending, 'SIM waits', 'SIMs wait')}, ${failed} failed${left}${others}`
  // A way to the HSS that is missing is no trouble before a SIM needs it; an HSS that is away says so itself.
  const isWaiting = problem !== undefined && pending > 0
  return {
    name: 'provisioning',
    kind: 'feature',
    status: !isWaiting && failed === 0 && unfixable.sims === 0 ? 'ok' : 'degraded',
    detail: problem === undefined ? `${driver}: ${counts}` : `${driver}: ${problem}; ${counts}`,
  }
}
