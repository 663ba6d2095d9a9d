import { join } from 'node:path'
import type { Context, CorePlan, PlannedFile, Settings, Technology } from '@steeple/contracts'
import type { FileChange } from '../config-set/changes.ts'
import { type CopyPlace, copiesIn } from '../config-set/copies.ts'
import type { Drops } from '../config-set/daemon.ts'
import { type ConfigSetPlan, heldFiles, planConfigSet, planOfNothing } from '../config-set/plan.ts'
import { runnersKey } from '../core-parts.ts'
import type { Engine } from '../engine/engine.ts'
import { overlayKeys } from '../overlay/overlay-files.ts'
import { redacted } from '../redact.ts'
import { abortable } from '../time-limit.ts'
import type { CoreFilesParts, CoreSet } from './core-set.ts'

/** Folder of the data directory that keeps copies of good configuration sets, for each core in one of its own. */
const BACKUPS = 'core-backups'
/** The same for what others have written: nothing removes those. */
const ORIGINALS = 'core-originals'

/** Where the copies of a core's files lie. */
export function copyPlaceOf({ settings }: Pick<Context, 'settings'>, core: string): CopyPlace {
  const { data_dir: dir } = settings.server
  return { copiesDir: join(dir, BACKUPS, core), originalsDir: join(dir, ORIGINALS, core) }
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
export async function droppedBy(
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
  return from === to ? `${shown}(a secret value changes)\n` : shown
}

interface PlanParts {
  readonly context: Pick<Context, 'settings'>
  readonly parts: CoreFilesParts
  readonly engine: Engine
  /** See `PlanOptions.isUnderWay`. */
  readonly isUnderWay?: boolean
}

interface Looked
  extends Pick<CorePlan, 'state' | 'problems' | 'notes' | 'refused' | 'held' | 'originals' | 'overlays'> {
  readonly plan: ConfigSetPlan
}

/** What an apply would do now, for people. What stands in its way is said in it. */
export async function makePlan(
  set: CoreSet,
  { context, parts, engine, isUnderWay = false }: PlanParts,
  signal: AbortSignal,
): Promise<CorePlan> {
  signal.throwIfAborted()
  const { settings } = context
  const driver = settings.southbound.driver
  const looked = await look(set, context, parts.core, { engine, isUnderWay, signal })
  const { plan, state, problems, notes, refused, held, originals, overlays } = looked
  const isKnown = state === 'in_sync' || state === 'changes'
  const restarting = plan.daemons.filter(({ action }) => action === 'restart')
  const [dropped, standing, refusal] = await Promise.all([
    droppedBy(isKnown ? restarting.map(({ drops }) => drops) : [], parts, signal),
    isKnown && driver !== 'none' ? obstacles(plan, context.settings, parts, engine, signal) : [],
    isKnown ? parts.refusal?.(plan.files, signal) : undefined,
  ])
  return {
    dir: set.dir,
    state,
    refused,
    ...(held === undefined ? {} : { held }),
    ...(originals === undefined ? {} : { originals }),
    ...(overlays === undefined ? {} : { overlays }),
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
    problems: [
      ...problems,
      ...(refusal === undefined ? [] : [refusal]),
      ...standing,
      ...(dropped.problem === undefined ? [] : [dropped.problem]),
    ],
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

async function look(
  set: CoreSet,
  context: Pick<Context, 'settings'>,
  core: string,
  options: Parameters<typeof planConfigSet>[1],
): Promise<Looked> {
  const nothing = { plan: planOfNothing(set), refused: undefined, notes: [] }
  if (set.obstacle !== undefined) return { ...nothing, state: 'unconfigured', problems: [set.obstacle] }
  const comparesOnly = context.settings.southbound.driver === 'none'
  try {
    const plan = await planConfigSet(set, { comparesOnly, ...options })
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
): Promise<Pick<Looked, 'held' | 'originals' | 'overlays' | 'notes' | 'problems'>> {
  const copies = copiesIn(place)
  const held = await heldFiles(plan, files, copies)
  const originals = (await copies.originals()).map((name) => join(place.originalsDir, name))
  const overlays = await overlayKeys(dir, files.keys())
  return {
    problems: held.length === 0 ? [] : [heldWords(dir, held)],
    notes: originals.length === 0 ? [] : [originalsWords(originals)],
    ...(held.length === 0 ? {} : { held }),
    ...(originals.length === 0 ? {} : { originals }),
    ...(overlays.size === 0 ? {} : { overlays: [...overlays].map(([path, own]) => ({ path, keys: own })) }),
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
export function heldWords(dir: string, held: readonly string[]): string {
  return (
    `this service did not write ${held.join(', ')} in ${dir}, so nothing is applied until you agree: ` +
    'svc core adopt keeps their lines, svc core take-over replaces them; both keep a copy for good'
  )
}

/** Where copies of what others had written are, and how they come back. */
function originalsWords(folders: readonly string[]): string {
  return `files that were there before are kept in ${folders.join(', ')}: svc core restore-original puts them back`
}
