import type { Context } from '@steeple/contracts'
import { type ConfigSetPlan, planConfigSet, planOfNothing } from '../config-set/plan.ts'
import type { Engine } from '../engine/engine.ts'
import { type CoreSet, wantedSet } from './core-set.ts'
import type { Wishes } from './desired.ts'
import { droppedBy } from './dropped.ts'
import { fileDiff } from './file-diff.ts'
import type { CoreConfigParts } from './parts.ts'
import type { CorePlan, PlannedFile } from './plan-record.ts'
import { errorWords, unmanagedWords } from './words.ts'

/** What a plan is made with. */
export interface PlanParts {
  readonly context: Context
  readonly parts: CoreConfigParts
  readonly engine: Engine
  readonly wishes: Wishes
}

interface Looked {
  readonly plan: ConfigSetPlan
  readonly state: CorePlan['state']
  readonly problems: readonly string[]
}

/** What an apply would do now, for people. What stands in its way is said in it. */
export async function makePlan(
  { context, parts, engine, wishes }: PlanParts,
  signal: AbortSignal,
): Promise<CorePlan> {
  const { settings } = context
  const driver = settings.southbound.driver
  const head = { core: parts.core, driver, config_dir: parts.place(settings).configDir }
  let set: CoreSet
  try {
    set = await wantedSet(context, parts, wishes)
  } catch (error) {
    const problems = [errorWords(error)]
    return { ...head, state: 'unknown', files: [], daemons: [], subscribers_dropped: null, problems }
  }
  const { plan, state, problems } = await look(set, driver === 'none')
  const isKnown = state !== 'unknown'
  const [dropped, standing] = await Promise.all([
    isKnown ? droppedBy(plan.drops, parts, signal) : { count: undefined, problem: undefined },
    isKnown && driver === 'container' ? obstacles(plan, parts, engine, signal) : [],
  ])
  return {
    ...head,
    state,
    files: await Promise.all(plan.files.map(plannedFile)),
    daemons: plan.daemons.map((daemon) => ({ ...daemon, container: daemon.container ?? null })),
    subscribers_dropped: dropped.count ?? null,
    problems: [...problems, ...standing, ...(dropped.problem === undefined ? [] : [dropped.problem])],
  }
}

async function look(set: CoreSet, comparesOnly: boolean): Promise<Looked> {
  const unknown = { plan: planOfNothing(set), state: 'unknown' } as const
  if (set.obstacle !== undefined) return { ...unknown, problems: [set.obstacle] }
  try {
    const plan = await planConfigSet(set, { comparesOnly })
    const { refused } = plan.state.manifest
    const isRefused = !comparesOnly && !plan.isInSync && refused?.key === set.key
    const problems = [
      ...(plan.state.isManifestBroken
        ? ['what was applied last is not known: .steeple.json is damaged']
        : []),
      ...(isRefused ? [`the core has refused this configuration at ${refused.at}: ${refused.words}`] : []),
    ]
    return { plan, state: plan.isInSync ? 'in_sync' : 'changes', problems }
  } catch (error) {
    return { ...unknown, problems: [errorWords(error)] }
  }
}

/** What keeps the daemons from being restarted. */
async function obstacles(
  plan: ConfigSetPlan,
  { core }: CoreConfigParts,
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

async function plannedFile(file: ConfigSetPlan['files'][number]): Promise<PlannedFile> {
  const diff = await fileDiff(file)
  return {
    path: file.path,
    change: file.change,
    daemon: file.daemon ?? null,
    ...(diff === undefined ? {} : { diff }),
  }
}
