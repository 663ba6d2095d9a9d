import { isServiceError, notReady, type Plugin, type ServiceError, storeInvalid } from '@steeple/contracts'
import { claimedTwice } from '@steeple/settings'
import { within } from '../clock/deadline.ts'
import { asFailure, inStep, isWaitingForConfig, reasonOf } from '../plugin-packages/failure.ts'
import { ENDED, type KeptStates, RAN } from '../plugin-packages/kept-states.ts'
import type { Loader } from '../plugin-packages/loader.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { EdgeGeneration, PluginHost } from './host.ts'
import {
  awayRoutes,
  healthOf,
  isExclusive,
  type LeaveReason,
  type LivePlugin,
  retire,
  STEP_BOUND_MS,
  setUp,
} from './live.ts'
import { dependentsOf, problemOf, refuseOrphan } from './moves.ts'
import type { PluginEntries, PluginEntry } from './plugin-entries.ts'

/** What is to become of one plugin. */
export interface Change {
  readonly id: string
  /** What is to run; absent: nothing. */
  readonly next?: Wanted
  /** What is to run when `next` fails and nothing of that id runs. */
  readonly fallback?: Wanted
}

/** A version that is to run. */
export interface Wanted {
  readonly found: FoundPlugin
  /**
   * What happens to its tables before its setup. `keep`: they are those of a later version (steps are additive); its own learn
   * what that one's rows look like. `try`: they may be.
   */
  readonly tables: 'migrate' | 'keep' | 'try'
}

interface PluginSetParts {
  readonly host: PluginHost
  readonly entries: PluginEntries
  readonly kept: KeptStates
  readonly loader: Pick<Loader, 'load'>
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
}

/** A copy that was set up and comes in. */
interface Coming {
  readonly change: Change
  readonly entry: PluginEntry
  readonly next: LivePlugin
  /** The copy that serves until then. */
  readonly before: LivePlugin | undefined
  /** The copy that had to leave for it. */
  readonly left: LivePlugin | undefined
}

/** The plugins that serve, and the one way from one set of them to the next. Calls of `apply` must not overlap. */
export class PluginSet {
  readonly #host: PluginHost
  readonly #entries: PluginEntries
  readonly #kept: KeptStates
  readonly #loader: PluginSetParts['loader']
  readonly #contractsVersion: string
  #isQuiet = false
  #hasServed = false

  constructor({ host, entries, kept, loader, contractsVersion }: PluginSetParts) {
    this.#host = host
    this.#entries = entries
    this.#kept = kept
    this.#loader = loader
    this.#contractsVersion = contractsVersion
  }

  /**
   * Changes the set. What leaves for good goes first; then every new copy is set up beside the one before it (in its place
   * when one of them is `exclusive`), all are served by one exchange of the routes and started, and what they replace
   * leaves. Where a copy fails, what was there before serves on, or again. Of two that want the same, the first has it. Gives
   * why changes failed, by id.
   */
  async apply(changes: readonly Change[]): Promise<ReadonlyMap<string, ServiceError>> {
    const failures: Failures = new Map()
    const gone = changes.filter(({ next }) => next === undefined)
    await this.#withdraw(
      gone.flatMap(({ id }) => this.#entries.of(id).live ?? []),
      'unload',
    )
    const coming: Coming[] = []
    for (const change of changes) {
      const one = await this.#prepare(change, failures)
      if (one !== undefined) coming.push(one)
    }
    if (coming.length > 0 || !this.#hasServed) await this.#enter(coming, failures)
    for (const { found, error } of failures.values()) {
      // One that waits for its configuration, or comes too late, has not failed.
      const isOpen = this.#isQuiet || isWaitingForConfig(error)
      if (!this.#kept.hasRun(found)) this.#kept.noteLoad(found, isOpen ? undefined : reasonOf(error))
      this.#entries.failed(found, error)
    }
    this.#entries.know()
    return new Map([...failures].map(([id, { error }]) => [id, error]))
  }

  /**
   * Has all end what they do in the world, at once; from then on nothing enters. Call it before anything that an end of the
   * service waits for.
   */
  async quiesce(): Promise<void> {
    this.#isQuiet = true
    // The last that came first: who uses another's service ends what it does while that one can still be asked.
    const leaving = this.#entries.live().toReversed()
    await Promise.all(leaving.map((plugin) => plugin.quiesce('shutdown')))
  }

  /** Withdraws all, the last that came first. `quiesce` comes before it. */
  async stop(): Promise<void> {
    await this.#withdraw(this.#entries.live().toReversed(), 'shutdown')
  }

  /** Sets a copy up, from the checks on. One that is `exclusive` comes when the one before it has left. */
  async #prepare(change: Change, failures: Failures): Promise<Coming | undefined> {
    const { id, next: wanted } = change
    if (wanted === undefined) return undefined
    const entry = this.#entries.of(id)
    this.#entries.loading(wanted.found)
    if (!this.#kept.hasRun(wanted.found)) this.#kept.noteLoad(wanted.found, ENDED)
    if (wanted.found.origin === 'installed') this.#host.watchLoop?.()
    let left: LivePlugin | undefined
    try {
      const setUp = await this.#provision(wanted)
      if (entry.live !== undefined && isExclusive(entry.live.found, wanted.found)) {
        this.#refuseWhenQuiet()
        left = entry.live
        entry.away = awayRoutes(left)
        await this.#withdraw([left], 'upgrade')
      }
      const next = await setUp()
      // Who comes with it may ask for its services in a setup of its own.
      if (entry.live === undefined) this.#host.services.set(id, next.services)
      return { change, entry, next, before: entry.live, left }
    } catch (error) {
      return await this.#recover(change, left, error, failures)
    }
  }

  /**
   * The steps from the check to the setup, which is what it gives: everything else is ready then. Each throws `plugin_failed`; then
   * nothing is left of the copy.
   */
  async #provision(wanted: Wanted): Promise<() => Promise<LivePlugin>> {
    const { found } = wanted
    const { id } = found.manifest
    const host = this.#host
    this.#check(found)
    const plugin = await inStep(id, 'import', () =>
      within(host.timers, STEP_BOUND_MS, 'its import', () => this.#loader.load(found)),
    )
    this.#entries.know(found)
    const config = await inStep(id, 'config', async () => host.settings.configFor(found.section))
    await inStep(id, 'migrate', () => this.#migrate(wanted, plugin))
    return () => inStep(id, 'setup', () => setUp(host, found, plugin, config))
  }

  #check(found: FoundPlugin): void {
    const { id } = found.manifest
    const live = this.#entries.live()
    const problem =
      claimedTwice(
        found.section,
        live.map((plugin) => plugin.found.section),
      ) ??
      problemOf(found, {
        contractsVersion: this.#contractsVersion,
        providerOf: (service) => {
          const owner = this.#host.services.ownerOf(service)
          return owner === id ? undefined : owner
        },
        running: this.#entries.of(id).live?.found,
        dependents: dependentsOf(id, live),
      })
    if (problem !== undefined) throw asFailure(id, 'check', new TypeError(problem))
  }

  async #migrate({ found, tables }: Wanted, plugin: Plugin): Promise<void> {
    const { db, log } = this.#host
    const { id } = found.manifest
    const entry = this.#entries.of(id)
    if (tables === 'keep') {
      entry.behind = found.version
      await db.fallBack(id, plugin.tables ?? [])
      return
    }
    entry.migrated = found.version
    try {
      await db.migrate(id, plugin.migrations ?? [], plugin.tables)
    } catch (error) {
      if (tables === 'migrate' || !isServiceError(error) || error.code !== storeInvalid.code) throw error
      entry.behind = found.version
      const facts = { plugin: id, version: found.version, err: error }
      log.warn(facts, 'plugin runs on the tables as they are')
    }
  }

  /** What comes in the place of a copy that failed: the one that had to leave for it, or what the change falls back on. */
  async #recover(
    { id, next, fallback }: Change,
    left: LivePlugin | undefined,
    error: unknown,
    failures: Failures,
  ): Promise<Coming | undefined> {
    const entry = this.#entries.of(id)
    if (next !== undefined) noteFailure(failures, next.found, error)
    if (left !== undefined) {
      const change: Change = { id, next: { found: left.found, tables: 'keep' } }
      try {
        const again = await inStep(id, 'setup', () => setUp(this.#host, left.found, left.plugin, left.config))
        this.#host.services.set(id, again.services)
        return { change, entry, next: again, before: undefined, left: undefined }
      } catch (second) {
        return await this.#recover(change, undefined, second, failures)
      }
    }
    if (fallback !== undefined && entry.live === undefined)
      return await this.#prepare({ id, next: fallback }, failures)
    if (entry.away !== undefined) {
      entry.away = undefined
      await this.#host.reconciler.attach(id, [])
      await this.#serve()
    }
    return undefined
  }

  /** Serves and starts what was set up. */
  async #enter(prepared: readonly Coming[], failures: Failures): Promise<void> {
    const { generation, coming } = await this.#fitting(prepared, failures)
    const { drained } = await this.#serve(generation)
    for (const { next } of coming) this.#entries.entered(next)
    for (const one of coming) {
      const { change, next, before, left } = one
      try {
        await this.#start(one)
      } catch (error) {
        await this.#undo(one)
        const instead = await this.#recover(change, left, error, failures)
        if (instead !== undefined) await this.#enter([instead], failures)
        continue
      }
      this.#kept.noteLoad(next.found, RAN)
      if (before !== undefined) await retire(before, drained)
      this.#entries.running(next)
    }
  }

  /** Those that can serve together, with what comes in place of the others, and the generation that serves them. */
  async #fitting(
    prepared: readonly Coming[],
    failures: Failures,
  ): Promise<{ readonly generation: EdgeGeneration | undefined; readonly coming: readonly Coming[] }> {
    const all = await this.#build(prepared).catch(() => undefined)
    if (all !== undefined && !this.#isQuiet) return { generation: all, coming: prepared }
    // One of them at least is to blame: find out by adding one after the other, the build's own before the installed.
    const rest = prepared.toSorted((a, b) => Number(isInstalled(a)) - Number(isInstalled(b)))
    const coming: Coming[] = []
    let generation: EdgeGeneration | undefined
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
      const { change, entry, next, left } = one
      try {
        this.#refuseWhenQuiet()
        const candidates = [...coming, one]
        generation = await inStep(change.id, 'routes', () => this.#build(candidates))
        coming.push(one)
      } catch (error) {
        if (entry.live === undefined) this.#unpublish(change.id)
        await next.leave('unload')
        const instead = await this.#recover(change, left, error, failures)
        if (instead !== undefined) rest.push(instead)
      }
    }
    return { generation, coming }
  }

  async #start({ change: { id }, next }: Coming): Promise<void> {
    refuseOrphan(this.#host.services, next)
    const problem = this.#host.reconciler.problemOf(id, next.reconcilers)
    if (problem !== undefined) throw asFailure(id, 'setup', new TypeError(problem))
    this.#publish(next)
    await inStep(id, 'start', () => next.start())
    await this.#host.reconciler.attach(id, next.reconcilers)
    this.#refuseWhenQuiet()
  }

  /** After `next` failed to start: what was there before serves again. */
  async #undo({ change: { id }, entry, next, before }: Coming): Promise<void> {
    const quiet = next.quiesce('unload')
    entry.live = before
    if (before === undefined) this.#unpublish(id)
    else this.#publish(before)
    next.retire()
    await (await this.#serve()).drained
    await quiet
    await next.leave('unload')
  }

  async #withdraw(leaving: readonly LivePlugin[], why: LeaveReason): Promise<void> {
    if (leaving.length === 0) return
    const ids = leaving.map(({ found }) => found.manifest.id)
    const quiet = leaving.map((plugin) => plugin.quiesce(why))
    for (const id of ids) this.#entries.left(id)
    const { drained } = await this.#serve()
    for (const plugin of leaving) plugin.retire()
    // At the end of the service the others may still be asked by who leaves before them.
    if (why !== 'shutdown') for (const id of ids) this.#unpublish(id)
    await Promise.all([...quiet, drained, ...ids.map((id) => this.#host.reconciler.pause(id))])
    for (const plugin of leaving) {
      const { id } = plugin.found.manifest
      // What waits to be reconciled waits for the next copy.
      if (why !== 'upgrade') await this.#host.reconciler.attach(id, [])
      await plugin.leave(why)
      if (why === 'shutdown') this.#unpublish(id)
    }
  }

  /** The generation with these in place of the copies with their ids: of two routes alike, the last to come is too many. */
  async #build(coming: readonly Coming[]): Promise<EdgeGeneration> {
    const ids = new Set(coming.map(({ entry }) => entry.id))
    const staying = this.#entries.all().filter(({ id }) => !ids.has(id))
    return await this.#host.edge.build([
      ...staying.flatMap(({ live, away }) => live?.routes ?? away ?? []),
      ...coming.map(({ next }) => next.routes),
    ])
  }

  /** Exchanges the routes; `drained` resolves when the requests of the generation before are over. */
  async #serve(generation?: EdgeGeneration): Promise<{ readonly drained: Promise<void> }> {
    const next = generation ?? (await this.#build([]))
    this.#hasServed = true
    const drained = this.#host.edge.swap(next).catch((error: unknown) => {
      this.#host.log.error({ err: error }, 'old HTTP generation did not close')
    })
    return { drained }
  }

  #publish(plugin: LivePlugin): void {
    const { id, kind, essential = false } = plugin.found.manifest
    this.#host.services.set(id, plugin.services)
    plugin.metrics.publish()
    this.#host.health.watch(id, { kind, required: essential }, healthOf(plugin))
  }

  #unpublish(id: string): void {
    this.#host.services.set(id, new Map())
    this.#host.health.forget(id)
  }

  #refuseWhenQuiet(): void {
    if (this.#isQuiet) throw notReady('the service is stopping')
  }
}

function isInstalled({ next }: Coming): boolean {
  return next.found.origin === 'installed'
}

/** Why changes of plugins failed, by id. */
type Failures = Map<string, { readonly found: FoundPlugin; readonly error: ServiceError }>

/** A second failure of one change is that of what was to come in place of the first. */
function noteFailure(failures: Failures, found: FoundPlugin, error: unknown): void {
  const { id } = found.manifest
  const known = failures.get(id)
  const failure = asFailure(id, 'start', error)
  if (known === undefined) {
    failures.set(id, { found, error: failure })
    return
  }
  const both = new AggregateError([known.error, error], `${known.error.message}; then ${failure.message}`)
  failures.set(id, { found: known.found, error: asFailure(id, 'start', both) })
}
