import { join } from 'node:path'
import {
  type Context,
  type CoreApplied,
  type CorePlan,
  type CoreRestored,
  createTurns,
  nodeIdentityRef,
  type PlannedFile,
  type Rendered,
  type Settings,
  southboundUnavailable,
  systemPrincipal,
  type Technology,
  validationFailed,
} from '@steeple/contracts'
import { applyConfigSet } from '../config-set/apply.ts'
import { type FileChange, isRestartable } from '../config-set/changes.ts'
import { type CopyPlace, copiesIn } from '../config-set/copies.ts'
import { type Daemon, type Drops, restartsOf } from '../config-set/daemon.ts'
import { type ConfigSetPlan, heldFiles, planConfigSet, planOfNothing } from '../config-set/plan.ts'
import { restartAll } from '../config-set/restart-set.ts'
import { type KeptSet, restoreOriginal, takeOver } from '../config-set/take-over.ts'
import { DEFAULT_LIMITS } from '../config-set/verify.ts'
import { coreEngine, runnersKey } from '../core-parts.ts'
import type { Engine } from '../engine/engine.ts'
import { redacted } from '../redact.ts'
import { abortable } from '../time-limit.ts'
import type { CoreFilesParts } from './core-set.ts'
import { type CoreSet, coreSetOf } from './core-set.ts'

/** Folder of the data directory that keeps copies of good configuration sets, for each core in one of its own. */
const BACKUPS = 'core-backups'
/** The same for what others have written: nothing removes those. */
const ORIGINALS = 'core-originals'

/** Where the copies of a core's files lie. */
function copyPlaceOf({ settings }: Context, core: string): CopyPlace {
  const { data_dir: dir } = settings.server
  return { copiesDir: join(dir, BACKUPS, core), originalsDir: join(dir, ORIGINALS, core) }
}

/** What an apply works with. */
interface ApplyParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
  /** Counts the restart of a daemon. */
  restarted(daemon: string): void
}

/**
 * Applies a set. Throws as `applyConfigSet` does, and `southbound_unavailable` when no usable directory is configured or files
 * of others are in the way.
 */
async function applySet(
  set: CoreSet,
  { context, parts, engine, restarted }: ApplyParts,
  signal: AbortSignal,
): Promise<CoreApplied> {
  signal.throwIfAborted()
  if (set.obstacle !== undefined) throw southboundUnavailable(set.obstacle)
  const place = copyPlaceOf(context, parts.core)
  const held = await heldFiles(await planConfigSet(set), set.files, copiesIn(place))
  if (held.length > 0) throw southboundUnavailable(heldWords(set.dir, held))
  return await applyConfigSet(
    {
      ...set,
      ...place,
      engine,
      clock: context.clock,
      probe: parts.probe,
      limits: parts.limits,
      restarted,
      ...(parts.isOutage === undefined ? {} : { isOutage: parts.isOutage }),
    },
    signal,
  )
}

/** How long the core may take to list its phones, ms. */
const UES_MS = 5_000

const TECHNOLOGIES: Readonly<Record<Drops, readonly Technology[]>> = {
  lte: ['lte'],
  nr: ['nr'],
  all: ['lte', 'nr'],
  none: [],
}

/** Phones that a restart cuts off; no count, and why, when the core does not tell. */
interface Dropped {
  count(drops: Drops): number | undefined
  readonly problem: string | undefined
}

/** Counts who is registered now, over all that any of these drops. */
async function droppedBy(
  all: readonly Drops[],
  { ues }: CoreFilesParts,
  signal: AbortSignal,
): Promise<Dropped> {
  const registered = new Map<Technology, ReadonlySet<string>>()
  const asked = new Set(all.flatMap((drops) => TECHNOLOGIES[drops]))
  if (ues === undefined) return { count: (drops) => (drops === 'none' ? 0 : undefined), problem: undefined }
  let problem: string | undefined
  try {
    for (const technology of asked) {
      const known = await abortable(ues(technology, signal), signal, UES_MS)
      registered.set(
        technology,
        new Set(known.filter(({ isRegistered }) => isRegistered).map(({ imsi }) => imsi)),
      )
    }
  } catch {
    signal.throwIfAborted()
    // Its words are left out: they belong to the core's own component of the health.
    problem = 'the core does not tell how many subscribers it serves now'
  }
  return {
    count: (drops) => {
      const sets = TECHNOLOGIES[drops].map((technology) => registered.get(technology))
      if (sets.includes(undefined)) return undefined
      return new Set(sets.flatMap((set) => [...(set ?? [])])).size
    },
    problem,
  }
}

const MOST_CHARACTERS = 32_768

/** What changes in a file, as a unified diff without secrets; undefined when nothing does. */
async function fileDiff({ path, before, after }: FileChange): Promise<string | undefined> {
  if (before === after) return undefined
  const { createTwoFilesPatch } = await import('diff')
  const [from, to] = [redacted(before ?? ''), redacted(after ?? '')]
  const names = [
    before === undefined ? '/dev/null' : `a/${path}`,
    after === undefined ? '/dev/null' : `b/${path}`,
  ] as const
  const patch = createTwoFilesPatch(names[0], names[1], from, to, undefined, undefined, {
    context: 3,
    timeout: 500,
  })
  if (patch === undefined) return '(too different to be shown)'
  const shown = patch.replace(/^=+\n/, '')
  if (from === to) return `${shown}(a secret value changes)\n`
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}\n(cut off)\n` : shown
}

/** What a plan is made with. */
interface PlanParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
}

interface Looked extends Pick<CorePlan, 'state' | 'problems' | 'notes' | 'refused' | 'held' | 'originals'> {
  readonly plan: ConfigSetPlan
}

/** What an apply would do now, for people. What stands in its way is said in it. */
async function makePlan(
  set: CoreSet,
  { context, parts, engine }: PlanParts,
  signal: AbortSignal,
): Promise<CorePlan> {
  signal.throwIfAborted()
  const { settings } = context
  const driver = settings.southbound.driver
  const looked = await look(set, context, parts.core)
  const { plan, state, problems, notes, refused, held, originals } = looked
  const isKnown = state === 'in_sync' || state === 'changes'
  const restarting = plan.daemons.filter(({ action }) => action === 'restart')
  const [dropped, standing] = await Promise.all([
    droppedBy(isKnown ? restarting.map(({ drops }) => drops) : [], parts, signal),
    isKnown && driver !== 'none' ? obstacles(plan, context.settings, parts, engine, signal) : [],
  ])
  return {
    dir: set.dir,
    state,
    refused,
    ...(held === undefined ? {} : { held }),
    ...(originals === undefined ? {} : { originals }),
    // Nothing is compared where there is no place: what every file would hold tells nobody anything.
    files: await Promise.all(plan.files.map((file) => plannedFile(file, isKnown))),
    daemons: plan.daemons.map((daemon) => ({
      ...daemon,
      container: daemon.container,
      dropped: daemon.action === 'none' ? 0 : dropped.count(daemon.drops),
      expectedS: daemon.action === 'none' ? 0 : RESTART_S,
    })),
    ...(isKnown ? costOf(plan, restarting, dropped) : { dropped: undefined, expectedS: undefined }),
    notes: isKnown ? [...notes, ...((await parts.notes?.(settings, plan.files, signal)) ?? [])] : [],
    problems: [...problems, ...standing, ...(dropped.problem === undefined ? [] : [dropped.problem])],
  }
}

/** From the signal to end until the daemon is taken for one that stays up: measured, with its own end of a second. */
const RESTART_S = 3
/** From the last restart until the phones that it dropped have been told to come back. */
const RETURN_S = 15

function costOf(
  { drops }: ConfigSetPlan,
  restarting: readonly unknown[],
  dropped: Dropped,
): Pick<CorePlan, 'dropped' | 'expectedS'> {
  const count = dropped.count(drops)
  const returning = drops === 'none' || count === 0 ? 0 : RETURN_S
  return { dropped: count, expectedS: restarting.length * RESTART_S + returning }
}

async function look(set: CoreSet, context: Context, core: string): Promise<Looked> {
  const nothing = { plan: planOfNothing(set), refused: undefined, notes: [] }
  if (set.obstacle !== undefined) return { ...nothing, state: 'unconfigured', problems: [set.obstacle] }
  const comparesOnly = context.settings.southbound.driver === 'none'
  try {
    const plan = await planConfigSet(set, { comparesOnly })
    const { refused } = plan.state.manifest
    const isRefused = !comparesOnly && !plan.isInSync && refused?.key === set.key
    const others = await lookAtOthers(set, plan, copyPlaceOf(context, core))
    const problems = [
      ...(plan.state.isManifestBroken
        ? ['what was applied last is not known: .steeple.json is damaged']
        : []),
      ...(isRefused ? [`the core has refused this configuration at ${refused.at}: ${refused.words}`] : []),
      ...others.problems,
    ]
    const state = plan.isInSync ? 'in_sync' : 'changes'
    return { plan, state, ...others, problems, refused: isRefused ? refused.words : undefined }
  } catch (error) {
    return { ...nothing, state: 'unknown', problems: [errorWords(error)] }
  }
}

/** What others have written in the places of ours, and where earlier such files are kept. */
async function lookAtOthers(
  { dir, files }: CoreSet,
  plan: ConfigSetPlan,
  place: CopyPlace,
): Promise<Pick<Looked, 'held' | 'originals' | 'notes' | 'problems'>> {
  const copies = copiesIn(place)
  const held = await heldFiles(plan, files, copies)
  const originals = (await copies.originals()).map((name) => join(place.originalsDir, name))
  return {
    problems: held.length === 0 ? [] : [heldWords(dir, held)],
    notes: originals.length === 0 ? [] : [originalsWords(originals)],
    ...(held.length === 0 ? {} : { held }),
    ...(originals.length === 0 ? {} : { originals }),
  }
}

/** What keeps the daemons from being restarted. */
async function obstacles(
  plan: ConfigSetPlan,
  settings: Settings,
  { core }: CoreFilesParts,
  engine: Engine,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const kind = runnersKey(settings.southbound, settings[core])
  const unnamed = plan.daemons.filter(({ container }) => container === undefined).map(({ name }) => name)
  const problems = unnamed.length === 0 ? [] : [unmanagedWords(`${core}.${kind}`, unnamed)]
  try {
    for (const { name, container, action } of plan.daemons) {
      if (action === 'none' || container === undefined) continue
      if ((await engine.inspect(container, signal)) === undefined)
        problems.push(`there is no ${kind.slice(0, -1)} ${container}; see ${core}.${kind}.${name}`)
    }
  } catch (error) {
    signal.throwIfAborted()
    problems.push(errorWords(error))
  }
  return problems
}

async function plannedFile(file: ConfigSetPlan['files'][number], isCompared: boolean): Promise<PlannedFile> {
  const { path, change, daemon } = file
  return { path, change, daemon, diff: isCompared ? await fileDiff(file) : undefined }
}

/** A core whose configuration is a directory of files and whose daemons are containers: what its driver stands on. */
export interface CoreFiles {
  /** For `CoreDriver.apply`. Refused with `southbound_unavailable` while `southbound.driver` is `none`. */
  apply(config: Rendered, signal: AbortSignal): Promise<CoreApplied>
  /** For `CoreDriver.plan`. */
  plan(config: Rendered, signal: AbortSignal): Promise<CorePlan>
  /** For `CoreDriver.takeOver`. Refused with `validation_failed` while `southbound.driver` is `none`. */
  takeOver(config: Rendered, named: readonly string[], signal: AbortSignal): Promise<string>
  /** For `CoreDriver.restoreOriginal`. Restarts nobody while `southbound.driver` is `none`. */
  restoreOriginal(config: Rendered, copy: string | undefined, signal: AbortSignal): Promise<CoreRestored>
  /** For `CoreObserved.configSha256`: hash of the set that the core was last seen well with; undefined when its files differ. */
  appliedSha256(): Promise<string | undefined>
  /**
   * Where the daemons listen: by the set that is in force as of the last `appliedSha256`, since after a refused change they
   * are not where the settings say; by the settings while that is not known, or a change is under way.
   */
  addresses(): Readonly<Record<string, string>>
  /**
   * Restarts daemons and those that follow them with the files that they have, in turn with applies. False when nobody restarts
   * one of them: nothing was applied, no container is named, or `southbound.driver` is `none`. Throws `southbound_unavailable`.
   */
  restart(daemons: readonly string[], why: string, signal: AbortSignal): Promise<boolean>
}

/** Call it in `setup`; it opens nothing. `Rendered` sets must be made by `renderedOf`, so that hashes are those of `appliedSha256`. */
export function createCoreFiles(context: Context, parts: CoreFilesParts): CoreFiles {
  const engine = parts.engine ?? coreEngine(() => context.settings)
  const work: ApplyParts = { context, parts, engine, restarted: restartCounter(context) }
  /** One apply at a time: two would restart each other's daemons. */
  const inTurn = createTurns()
  let inForce: Readonly<Record<string, string>> | undefined
  const applied = async () => await planConfigSet({ ...coreSetOf(context, parts, NOTHING), daemons: [] })
  return {
    plan: (config, signal) => makePlan(coreSetOf(context, parts, config), { context, parts, engine }, signal),
    takeOver: async (config, named, signal) => {
      signal.throwIfAborted()
      return await inTurn(() => takeOverSet(coreSetOf(context, parts, config), named, work))
    },
    restoreOriginal: async (config, copy, signal) =>
      await inTurn(() => restoreSet(coreSetOf(context, parts, config), copy, work, signal)),
    apply: async (config, signal) => {
      signal.throwIfAborted()
      if (context.settings.southbound.driver === 'none')
        throw southboundUnavailable('southbound.driver is none: nothing is written and nobody is restarted')
      return await inTurn(() => applySet(coreSetOf(context, parts, config), work, signal))
    },
    appliedSha256: async () => {
      if (coreSetOf(context, parts, NOTHING).obstacle !== undefined) return undefined
      const { appliedSha256, state } = await applied()
      inForce = appliedSha256 === undefined ? undefined : state.manifest.applied?.addresses
      return appliedSha256
    },
    addresses: () => inForce ?? parts.place(context.settings).addresses,
    restart: async (names, why, signal) => {
      if (coreSetOf(context, parts, NOTHING).obstacle !== undefined) return false
      const { applied: before, files } = (await applied()).state.manifest
      if (before === undefined) return false
      const paths = new Map(Object.keys(files).map((path) => [path, '']))
      const { daemons } = coreSetOf(context, parts, { ...NOTHING, files: paths })
      return await inTurn(() => restartDaemons(daemons, names, why, work, signal))
    },
  }
}

/** No set: what is in a directory is looked at for its own sake. */
const NOTHING: Rendered = { files: new Map(), sha256: '' }

/** Registers the counter under the plugin's own prefix, `svc_driver_core_a_restarts_total{daemon}`; gives what counts. */
function restartCounter({ metrics, plugin }: Context): (daemon: string) => void {
  const restarts = metrics.counter(
    `svc_${plugin.id.replaceAll('-', '_')}_restarts_total`,
    'Restarts of core daemons by this service, including those of a roll-back.',
    ['daemon'],
  )
  return (daemon) => restarts.inc({ daemon })
}

/**
 * Restarts daemons with the files that they have, and those that follow them. False when nobody restarts one of them. Throws
 * `southbound_unavailable` when the engine does not answer, or one of them does not stay up.
 */
async function restartDaemons(
  daemons: readonly Daemon[],
  names: readonly string[],
  why: string,
  { context, parts, engine, restarted: count }: ApplyParts,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted()
  const restarts = restartsOf(daemons, new Map(names.map((name) => [name, why]))).filter(isRestartable)
  const isOurs = context.settings.southbound.driver !== 'none'
  if (!isOurs || !names.every((name) => restarts.some(({ daemon }) => daemon.name === name))) return false
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
  const facts = { core: parts.core, daemons: restarted.map(({ daemon }) => daemon.name), reason: why }
  await audit(context, facts)
  if (unwell !== undefined)
    throw southboundUnavailable(`${unwell.restart.daemon.name} does not get well: ${unwell.words}`)
  return true
}

/** What cannot be written into the trail now is in the log. */
async function audit(context: Context, detail: Readonly<Record<string, unknown>>): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  try {
    await context.mutate(systemPrincipal('core_config'), 'core.restart', target, async (tx) => {
      tx.audit({ detail })
    })
  } catch (error) {
    context.log.error({ err: error, ...detail }, 'audit entry could not be written')
  }
}

/** Agrees to what an apply replaces; gives the folder of the copy. Throws as `takeOver` does. */
async function takeOverSet(set: CoreSet, named: readonly string[], parts: ApplyParts): Promise<string> {
  if (parts.context.settings.southbound.driver === 'none')
    throw validationFailed(
      'southbound.driver is none, so nothing is written; set it to container or systemd first',
    )
  const kept = keptSetOf(set, parts)
  return join(kept.originalsDir, await takeOver(kept, named))
}

/** Puts files of others back and restarts who reads them. Throws as `restoreOriginal` does. */
async function restoreSet(
  set: CoreSet,
  named: string | undefined,
  work: ApplyParts,
  signal: AbortSignal,
): Promise<CoreRestored> {
  signal.throwIfAborted()
  const { copy, changed } = await restoreOriginal(keptSetOf(set, work), named)
  const { context, parts, engine, restarted: count } = work
  if (context.settings.southbound.driver === 'none')
    return {
      copy,
      changed,
      restarted: [],
      problem: 'southbound.driver is none: restart the daemons yourself',
    }
  const reasons = new Map(
    set.daemons
      .filter(({ files }) => files.some((path) => changed.includes(path)))
      .map(({ name }) => [name, 'its own files are back']),
  )
  const restarts = restartsOf(set.daemons, reasons).filter(isRestartable)
  const limits = { ...DEFAULT_LIMITS, ...parts.limits }
  try {
    const { restarted, unwell } = await restartAll(restarts, { engine, limits, restarted: count }, signal)
    const names = restarted.map(({ daemon }) => daemon.name)
    const problem =
      unwell === undefined
        ? undefined
        : `${unwell.restart.daemon.name} does not get well with them: ${errorWords(unwell.words)}`
    return { copy, changed, restarted: names, problem }
  } catch (error) {
    signal.throwIfAborted()
    return {
      copy,
      changed,
      restarted: [],
      problem: `not all daemons were restarted, restart those that read these files: ${errorWords(error)}`,
    }
  }
}

function keptSetOf(set: CoreSet, { context, parts }: ApplyParts): KeptSet {
  if (set.obstacle !== undefined) throw validationFailed(set.obstacle)
  return { ...set, ...copyPlaceOf(context, parts.core), clock: context.clock }
}

/** What an error says, fit to be shown. */
export function errorWords(error: unknown): string {
  return redacted(error instanceof Error ? error.message : String(error))
}

/** That nobody restarts daemons, and which keys change that. */
function unmanagedWords(key: string, daemons: readonly string[]): string {
  const keys = daemons.map((name) => `${key}.${name}`).join(', ')
  return `nobody restarts ${daemons.join(', ')} when its files change: say in ${keys} what runs it`
}

/** That files of others are in the way, and what lets an apply replace them. */
function heldWords(dir: string, held: readonly string[]): string {
  return (
    `this service did not write ${held.join(', ')} in ${dir}, so nothing is applied until you agree: ` +
    'svc core take-over keeps a copy for good and replaces them'
  )
}

/** Where copies of what others had written are, and how they come back. */
function originalsWords(folders: readonly string[]): string {
  return `files that were there before are kept in ${folders.join(', ')}: svc core restore-original puts them back`
}
