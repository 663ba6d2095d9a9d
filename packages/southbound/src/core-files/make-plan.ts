import { join } from 'node:path'
import type { Context, CorePlan, PlannedFile } from '@steeple/contracts'
import { type BackupPlace, backupsIn } from '../config-set/backups.ts'
import { heldFiles } from '../config-set/others.ts'
import { type ConfigSetPlan, planConfigSet, planOfNothing } from '../config-set/plan.ts'
import type { Engine } from '../engine/engine.ts'
import { backupPlaceOf } from './apply-set.ts'
import type { CoreSet } from './core-set.ts'
import { type Dropped, droppedBy } from './dropped.ts'
import { fileDiff } from './file-diff.ts'
import type { CoreFilesParts } from './parts.ts'
import { errorWords, heldWords, originalsWords, unmanagedWords } from './words.ts'

/** What a plan is made with. */
export interface PlanParts {
  readonly context: Context
  readonly parts: CoreFilesParts
  readonly engine: Engine
}

interface Looked extends Pick<CorePlan, 'state' | 'problems' | 'notes' | 'refused' | 'held' | 'originals'> {
  readonly plan: ConfigSetPlan
}

/** What an apply would do now, for people. What stands in its way is said in it. */
export async function makePlan(
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
    isKnown && driver === 'container' ? obstacles(plan, parts, engine, signal) : [],
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
    const others = await lookAtOthers(set, plan, backupPlaceOf(context, core))
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
  place: BackupPlace,
): Promise<Pick<Looked, 'held' | 'originals' | 'notes' | 'problems'>> {
  const backups = backupsIn(place)
  const held = await heldFiles(plan, files, backups)
  const originals = (await backups.originals()).map((name) => join(place.originalsDir, name))
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
  { core }: CoreFilesParts,
  engine: Engine,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const unnamed = plan.daemons.filter(({ container }) => container === undefined).map(({ name }) => name)
  const problems = unnamed.length === 0 ? [] : [unmanagedWords(core, unnamed)]
  try {
    for (const { name, container, action } of plan.daemons) {
      if (action === 'none' || container === undefined) continue
      if ((await engine.inspect(container, signal)) === undefined)
        problems.push(`the engine has no container ${container}; see ${core}.containers.${name}`)
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
