import type { BringUp } from './bring-up.ts'
import type { Catalogue } from './catalogue.ts'
import { asFailure, reasonOf } from './failure.ts'
import type { PluginHost } from './host.ts'
import type { KeptMap } from './kept-map.ts'
import { leftOutBecause } from './left-out.ts'
import type { LivePlugin } from './live.ts'
import type { LiveSet } from './live-set.ts'
import type { FoundPlugin } from './manifest.ts'
import type { Records } from './records.ts'
import { type Entry, ownVersion, planStart, type StartPlan } from './start-plan.ts'
import type { Trials } from './trials.ts'

/** What a start works with. */
export interface StartUpParts {
  readonly host: PluginHost
  readonly catalogue: Catalogue
  readonly live: LiveSet
  readonly records: Records
  readonly pins: KeptMap
  readonly trials: Trials
  readonly bringUp: BringUp
}

/** The two halves of a start. */
export interface StartUp {
  /**
   * Loads the plugins of the build, all in one generation. Throws the `plugin_failed` of an essential one, after all
   * others were tried.
   */
  bundled(): Promise<void>
  /** What is left to do after `bundled`: one piece of work for each installed plugin. None throws. */
  rest(): readonly (() => Promise<void>)[]
}

/** An entry of the second half. */
interface Waiting extends Entry {
  /** The version that ran when it was put off. */
  readonly running: FoundPlugin | undefined
  /** The version in whose place it comes. */
  readonly refused: StartPlan['refused'][number] | undefined
}

/** Makes the start of a registry. */
export function createStartUp(parts: StartUpParts): StartUp {
  const { host, catalogue, live, records, pins, trials, bringUp } = parts
  let waiting: readonly Waiting[] = []
  const isWanted = (found: FoundPlugin): boolean => leftOutBecause(host, found) === undefined

  /** Sets all up, serves them together and starts them. Why some failed, by id. */
  const round = async (entries: readonly Entry[]): Promise<ReadonlyMap<string, unknown>> => {
    const failures = new Map<string, unknown>()
    const ready: LivePlugin[] = []
    for (const { found, tables } of entries) {
      const { id } = found.manifest
      records.loading(found)
      try {
        refuseTaken(found, entries)
        const next = await bringUp.setUp(found, tables)
        host.services.set(id, next.services)
        ready.push(next)
      } catch (error) {
        failures.set(id, error)
      }
    }
    for (const [id, error] of await live.enterAll(ready)) failures.set(id, error)
    return failures
  }

  /** When installed versions failed, those of the build in their place, and whatever failed with them once more. */
  const again = (entries: readonly Entry[], failures: ReadonlyMap<string, unknown>): readonly Entry[] => {
    const failed = entries.filter(({ found }) => failures.has(found.manifest.id))
    if (failed.every(({ found }) => found.origin === 'bundled')) return []
    return failed.flatMap((entry) => {
      if (entry.found.origin === 'bundled') return [entry]
      const found = ownVersion(catalogue, entry.found.manifest.id)
      return found === undefined ? [] : [{ found, tables: 'try' as const }]
    })
  }

  const refuse = ({ found, reason }: StartPlan['refused'][number]): void =>
    records.failed(found, reason, adviceOn(found))

  const load = async ({ found, tables, running, refused }: Waiting): Promise<void> => {
    const { id } = found.manifest
    const now = live.get(id)?.found
    // Somebody has loaded or unloaded it meanwhile.
    if (now?.version !== running?.version || (now === undefined && !records.isLoading(id))) return
    if (!isWanted(found)) {
      records.leftOut(found)
      return
    }
    const isNew = !(await trials.read()).hasRun(found)
    if (isNew) await trials.begun(found)
    try {
      await bringUp.change(found, tables, adviceOn(found))
      await trials.ran(found)
      if (refused !== undefined) refuse(refused)
    } catch (error) {
      // One that has run before may miss something that is there at the next start.
      if (isNew) await trials.failed(found, reasonOf(error))
    }
  }

  const isRunning = ({ found }: Entry): boolean => live.get(found.manifest.id)?.found === found

  /** What became of each version is noted: of one that failed also when another runs in its place. */
  const note = (
    { first, later, refused }: StartPlan,
    retried: readonly Entry[],
    failures: ReadonlyMap<string, unknown>,
  ): void => {
    for (const { found } of [...first, ...retried].filter(isRunning)) records.running(found)
    for (const { found } of first.filter((entry) => !isRunning(entry)))
      records.failed(found, failures.get(found.manifest.id), adviceOn(found))
    waiting = later.map((entry) => {
      const { id } = entry.found.manifest
      const running = live.get(id)?.found
      return { ...entry, running, refused: refused.find(({ found }) => found.manifest.id === id) }
    })
    for (const { found, running } of waiting) if (running === undefined) records.loading(found)
    for (const one of refused) if (!waiting.some((entry) => entry.refused === one)) refuse(one)
  }

  return {
    bundled: async () => {
      await catalogue.scan()
      const [pinned, past] = [await pins.read(), await trials.read()]
      const isNext = (found: FoundPlugin): boolean =>
        live.get(found.manifest.id) === undefined && isWanted(found)
      const plan = planStart({ catalogue, pinned, past, isWanted: isNext })
      const failures = await round(plan.first)
      const retried = again(plan.first, failures)
      const last = retried.length === 0 ? failures : await round(retried)
      host.reconciler.begin()
      note(plan, retried, failures)
      const missing = plan.first.filter(({ found }) => live.get(found.manifest.id) === undefined)
      const loaded = plan.first.length - missing.length
      host.log.info({ loaded, failed: missing.length, waiting: waiting.length }, 'plugins loaded')
      const fatal = missing.find(({ found }) => found.manifest.essential === true)?.found.manifest.id
      if (fatal !== undefined) throw asFailure(fatal, 'start', last.get(fatal) ?? failures.get(fatal))
    },
    rest: () => {
      const work = waiting.map((entry) => () => load(entry))
      waiting = []
      return work
    },
  }
}

/** Of two that provide a service, the one of the build has it, whatever their names. */
function refuseTaken({ manifest, origin }: FoundPlugin, entries: readonly Entry[]): void {
  if (origin === 'bundled') return
  for (const { found } of entries) {
    if (found.origin !== 'bundled' || found.manifest.id === manifest.id) continue
    const taken = found.manifest.provides?.find((service) => manifest.provides?.includes(service))
    if (taken === undefined) continue
    const problem = `it provides ${taken}, which ${found.manifest.id} provides already`
    throw asFailure(manifest.id, 'check', new TypeError(problem))
  }
}

/** What can be done about an installed plugin that failed at a start. */
function adviceOn({ origin, dir, manifest: { id } }: FoundPlugin): string | undefined {
  if (origin === 'bundled') return undefined
  return `its folder is ${dir}; svc plugin unload ${id} takes it out, svc plugin load ${id} tries it again`
}
