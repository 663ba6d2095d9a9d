import { stat, statfs } from 'node:fs/promises'
import { uptime } from 'node:os'
import { join } from 'node:path'
import {
  boxCallsRef,
  countText,
  healthBoardRef,
  introspectionRef,
  isServiceError,
  type Launcher,
  launcherRef,
  msFromDuration,
  msFromTimestamp,
  nodeStateRef,
  type Outcome,
  type Reconciler,
  serviceInfoRef,
  systemPrincipal,
  txGateRef,
} from '@steeple/contracts'
import { hubOf } from '../box/kept.ts'
import { ALL, type Parts } from '../context.ts'
import { ONLY, SOFTWARE, type SoftwareRow } from '../store.ts'
import { distrustOf, type HeldBuild, wrongIn } from './builds.ts'
import { Fetcher } from './fetch.ts'
import { isWithin, type Terms } from './terms.ts'
import {
  endTrial,
  readTrial,
  type Standing,
  standingBefore,
  type Trial,
  worseThan,
  writeTrial,
} from './trial.ts'

/** Reconciler of the build that this box runs; its key is `ALL`. */
export const SOFTWARE_BOX = 'groups_software'
const RESYNC_MS = 600_000
const LOOK_MS = 2_000
const AGAIN_MS = 60_000
/** To read a build and copy the state on a slow card. */
const TIMEOUT_MS = 600_000
const HUB_MS = 15_000

/** Brings this box to the build that it is to run, and says whether it is well there. */
export function softwareReconciler(parts: Parts): Reconciler {
  const { context, builds } = parts
  const fetcher = new Fetcher(context, builds)
  return {
    resource: SOFTWARE_BOX,
    resyncMs: RESYNC_MS,
    timeoutMs: TIMEOUT_MS,
    backoff: { firstMs: 2_000, longestMs: AGAIN_MS },
    runs: 'each',
    keys: async () => [ALL],
    reconcile: async (_, signal): Promise<Outcome> => {
      const launcher = context.maybe(launcherRef)
      if (launcher === undefined) return { state: 'converged' }
      const trial = readTrial(builds.dir)
      if (trial !== undefined) return await settle(parts, launcher, trial, signal)
      const row = await SOFTWARE.find(context.db, { id: ONLY })
      if (row === undefined || isOver(row)) return { state: 'converged' }
      const build = await builds.find(row.build)
      if (build?.folder === launcher.running) return await note(parts, row, 'runs', null)
      return build === undefined
        ? await bring(parts, launcher, row, fetcher, signal)
        : await change(parts, launcher, row, build, signal)
    },
  }
}

function isOver({ status }: SoftwareRow): boolean {
  return status === 'runs' || status === 'went_back' || status === 'refused'
}

function termsOf({ terms }: SoftwareRow): Terms {
  // Written by the route, from its schema.
  return JSON.parse(terms) as Terms
}

async function bring(
  parts: Parts,
  { root }: Launcher,
  row: SoftwareRow,
  fetcher: Fetcher,
  signal: AbortSignal,
): Promise<Outcome> {
  const { context, builds } = parts
  const { hours, octets_per_second: octetsPerS } = termsOf(row)
  const hub = hubOf(parts)
  if (hub === undefined)
    return await note(parts, row, 'refused', `there is no build ${row.build} on this box`)
  if (!isWithin(hours, context.clock.nowMs()))
    return await note(parts, row, 'waiting', `it is fetched from ${hours?.from}:00 to ${hours?.to}:00 UTC`)
  const roots = [root, ...(await builds.list()).map(({ folder }) => join(builds.dir, folder))]
  const fetched = await fetcher.step({ hub: hub.id, build: row.build, octetsPerS }, roots, signal)
  if (fetched.state === 'refused') return await note(parts, row, 'refused', fetched.problem)
  const how = fetched.state === 'whole' ? null : `${fetched.files} of ${countText(fetched.of, 'file')} here`
  await note(parts, row, 'fetching', how)
  return { state: 'pending', afterMs: 0, reason: 'a build is fetched' }
}

/** Has the launcher try a build that is here, unless something keeps it from that. */
async function change(
  parts: Parts,
  launcher: Launcher,
  row: SoftwareRow,
  build: HeldBuild,
  signal: AbortSignal,
): Promise<Outcome> {
  const { context, builds } = parts
  if (!context.use(healthBoardRef).isReady)
    return { state: 'pending', afterMs: LOOK_MS, reason: 'the service has just started' }
  const never = await refusal(parts, build, signal)
  if (never !== undefined) return await note(parts, row, 'refused', never)
  const hindrance = await hindranceOf(parts, termsOf(row))
  if (hindrance !== undefined) return await note(parts, row, 'waiting', hindrance)
  // Held until the end of the service, so that no restore begins meanwhile.
  try {
    await context.use(nodeStateRef).stage()
  } catch (error) {
    if (!isServiceError(error)) throw error
    return await note(parts, row, 'waiting', error.message)
  }
  await note(parts, row, 'trying', null)
  const limitS = Math.ceil((msFromDuration(context.config.trial) ?? 0) / 1_000)
  const from = launcher.running
  await writeTrial(builds.dir, { to: build.folder, from, limitS }, await standingOf(parts, signal))
  context.log.info({ build: build.id, version: build.version }, 'the service ends for another build')
  launcher.relaunch()
  return { state: 'converged' }
}

/** Why a build that is here is never run. */
async function refusal(
  { context, builds }: Parts,
  build: HeldBuild,
  signal: AbortSignal,
): Promise<string | undefined> {
  const distrust = distrustOf(build, context.config.build_keys)
  if (distrust !== undefined) return distrust
  if (build.arch !== process.arch) return `it is for ${build.arch}, and this box is ${process.arch}`
  if (context.settings.store.url !== '')
    return 'the store of this box is not in its data directory, so it cannot be copied; upgrade by hand'
  const { buildDate } = context.use(serviceInfoRef)
  if (buildDate !== undefined && (msFromTimestamp(buildDate) ?? 0) > build.madeAtMs)
    return 'it was made before the build that runs; go back by hand'
  const wrong = await wrongIn(join(builds.dir, build.folder), build, signal)
  return wrong === undefined
    ? undefined
    : `${wrong} in ${build.folder} is not what was signed; remove that folder`
}

/** What keeps a box from another build now. A migration is over when it listens, and a restore holds what `stage` gives. */
async function hindranceOf({ context }: Parts, terms: Terms): Promise<string | undefined> {
  const gate = await context.maybe(txGateRef)?.state()
  if (gate?.transmitter === 'unconfirmed') return 'the transmitter is being taken off the air'
  if (gate !== undefined && (gate.armed || gate.transmitter === 'on') && terms.while_armed !== true)
    return 'the transmitter is armed'
  const dataDir = context.settings.server.data_dir
  const { bavail, bsize } = await statfs(dataDir)
  const { size } = await stat(join(dataDir, 'svc.db')).catch(() => ({ size: 0 }))
  return bavail * bsize < size * 3 ? 'the disk has no room for a copy of the state' : undefined
}

/** Says what became of a trial; what is not well in time ends, and the launcher goes back. */
async function settle(parts: Parts, launcher: Launcher, trial: Trial, signal: AbortSignal): Promise<Outcome> {
  const { context, builds } = parts
  const { phase, to, from } = trial
  if (phase === 'uncopied')
    return await over(parts, trial, 'refused', 'the state could not be copied: is the disk full?')
  if (phase === 'returned') {
    const what =
      'it was not well, and the build before could not use what it had written: the state is that of before'
    return await over(parts, trial, 'went_back', what)
  }
  const before = standingBefore(builds.dir)
  const isThere = launcher.running === (phase === 'new' ? to : from)
  const worse =
    !context.use(healthBoardRef).isReady || !isThere
      ? 'the service has just started'
      : before && worseThan(before, await standingOf(parts, signal))
  if (worse === undefined)
    return phase === 'new'
      ? await over(parts, trial, 'runs', null)
      : await over(parts, trial, 'went_back', 'it was not well in time; the log of the box says more')
  // By the time since the boot, as the launcher counts.
  if (uptime() >= trial.begunS + trial.limitS) {
    context.log.error({ build: launcher.running, worse }, 'the build is not well in time')
    launcher.relaunch()
    return { state: 'converged' }
  }
  context.log.info({ build: launcher.running, worse }, 'the build is not well yet')
  return { state: 'pending', afterMs: LOOK_MS, reason: worse }
}

async function over(
  parts: Parts,
  { to }: Trial,
  status: 'runs' | 'went_back' | 'refused',
  problem: string | null,
): Promise<Outcome> {
  const { context, builds } = parts
  const build = (await builds.list()).find(({ folder }) => folder === to)
  const row = await SOFTWARE.find(context.db, { id: ONLY })
  const id = build?.id ?? row?.build ?? to
  await context.mutate(systemPrincipal('groups'), `software.${status}`, id, async (tx) => {
    tx.audit({ detail: { version: build?.version ?? null, problem } })
    const before = row === undefined ? [] : wentBack(row)
    await SOFTWARE.put(tx, {
      ...{ id: ONLY, build: id, terms: row?.terms ?? '{}', status, problem, at_ms: context.clock.nowMs() },
      went_back: JSON.stringify(status === 'went_back' ? [...new Set([...before, id])] : before),
    })
  })
  await endTrial(builds.dir, status === 'runs' ? to : undefined)
  return { state: 'converged' }
}

/** Ids of builds that this box went back from. */
export function wentBack({ went_back }: Pick<SoftwareRow, 'went_back'>): readonly string[] {
  // Written by `over`.
  return JSON.parse(went_back) as readonly string[]
}

/** Writes down how far it is, when that is something else. */
async function note(
  { context }: Parts,
  row: SoftwareRow,
  status: string,
  problem: string | null,
): Promise<Outcome> {
  if (row.status !== status || row.problem !== problem) {
    const at_ms = row.status === status ? row.at_ms : context.clock.nowMs()
    await context.db.write((tx) => SOFTWARE.put(tx, { ...row, status, problem, at_ms }))
  }
  return isOver({ ...row, status })
    ? { state: 'converged' }
    : { state: 'pending', afterMs: AGAIN_MS, reason: problem ?? status }
}

async function standingOf(parts: Parts, signal: AbortSignal): Promise<Standing> {
  const { context } = parts
  const components = await context.use(healthBoardRef).fresh()
  const plugins = context.use(introspectionRef).plugins()
  return {
    plugins: plugins.filter(({ loadedAtMs }) => loadedAtMs !== undefined).map(({ name }) => name),
    ailing: Object.fromEntries(
      components
        .filter(({ required, status }) => required && status !== 'ok')
        .map(({ name, status }) => [name, status]),
    ),
    hub: await hubAnswers(parts, signal),
  }
}

async function hubAnswers(parts: Parts, signal: AbortSignal): Promise<boolean> {
  const [hub, calls] = [hubOf(parts), parts.context.maybe(boxCallsRef)]
  if (hub === undefined || calls === undefined) return false
  const path = `/v1/desired-state/${parts.node.nodeId}` as const
  const bound = AbortSignal.any([signal, AbortSignal.timeout(HUB_MS)])
  return await calls.call(hub.id, { method: 'GET', path }, bound).then(
    ({ status }) => status < 500,
    () => false,
  )
}
