import { join } from 'node:path'
import type { Context, CorePlan, PlannedFile, Technology } from '@steeple/contracts'
import { type BackupPlace, backupsIn } from '../config-set/backups.ts'
import type { FileChange } from '../config-set/changes.ts'
import type { Drops } from '../config-set/daemon.ts'
import { heldFiles } from '../config-set/others.ts'
import { type ConfigSetPlan, planConfigSet, planOfNothing } from '../config-set/plan.ts'
import type { Engine } from '../engine/engine.ts'
import { redacted } from '../redact.ts'
import { abortable } from '../time-limit.ts'
import { backupPlaceOf } from './apply-set.ts'
import type { CoreSet } from './core-set.ts'
import type { CoreFilesParts } from './parts.ts'
import { errorWords, heldWords, originalsWords, unmanagedWords } from './words.ts'

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
