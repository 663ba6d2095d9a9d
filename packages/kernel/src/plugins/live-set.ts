import { notReady, type Route } from '@steeple/contracts'
import type { RouteSet } from './edge.ts'
import { asFailure, inStep, reasonOf } from './failure.ts'
import type { PluginHost } from './host.ts'
import type { LeaveReason, LivePlugin } from './live.ts'
import { healthOf } from './plugin-health.ts'

/** The plugins that serve now, and the moves between one set of them and the next. Calls must not overlap. */
export interface LiveSet {
  get(id: string): LivePlugin | undefined
  /** In the order in which they came. */
  all(): readonly LivePlugin[]
  /**
   * Serves and starts `next`, in place of the copy with its id if there is one (handover `overlap`: that one leaves
   * after `next` has started). Throws `plugin_failed`; then the set is as before and `next` has left.
   */
  enter(next: LivePlugin): Promise<void>
  /** Serves several new ones at once, then starts each in turn. Those that fail have left: why, by id. */
  enterAll(next: readonly LivePlugin[]): Promise<ReadonlyMap<string, Error>>
  /** Withdraws a plugin, drains it and lets it leave. */
  leave(id: string, why: LeaveReason): Promise<void>
  /** As `leave`, but its routes answer 503 `not_ready` until `enter` or `remove`. Its waiting reconciles stay. */
  stepAside(id: string): Promise<void>
  /** Drops what `stepAside` left of a plugin. */
  remove(id: string): Promise<void>
  /** Withdraws all at once and lets them leave, the last that came first. */
  leaveAll(): Promise<void>
}

/** Makes the empty set. */
export function createLiveSet(host: PluginHost): LiveSet {
  const live = new Map<string, LivePlugin>()
  /** Routes that answer 503 between the two copies of an `exclusive` plugin. */
  const aside = new Map<string, RouteSet>()

  const setsOf = (plugins: ReadonlyMap<string, LivePlugin>): readonly RouteSet[] => [
    ...[...plugins.values()].map((plugin) => plugin.routes),
    ...[...aside].filter(([id]) => !plugins.has(id)).map(([, routes]) => routes),
  ]

  /** Resolves when the swap has happened; `drained` when the requests of the generation before are over. */
  const serve = async (sets: readonly RouteSet[]): Promise<{ readonly drained: Promise<void> }> => {
    const generation = await host.edge.build(sets)
    const drained = host.edge.swap(generation).catch((error: unknown) => {
      host.log.error({ err: error }, 'old HTTP generation did not close')
    })
    return { drained }
  }

  const publish = (plugin: LivePlugin): void => {
    const { id } = plugin.found.manifest
    host.services.set(id, plugin.services)
    plugin.metrics.publish()
    host.health.watch(
      id,
      { kind: plugin.found.manifest.kind, required: isRequired(plugin) },
      healthOf(plugin),
    )
  }

  const unpublish = (id: string): void => {
    host.services.set(id, new Map())
    host.health.forget(id)
  }

  const begin = async (plugin: LivePlugin): Promise<void> => {
    const { id } = plugin.found.manifest
    await inStep(id, 'start', () => plugin.start())
    await host.reconciler.attach(id, plugin.reconcilers)
  }

  const checkReconcilers = (plugin: LivePlugin): void => {
    const { id } = plugin.found.manifest
    const problem = host.reconciler.problemOf(id, plugin.reconcilers)
    if (problem !== undefined) throw asFailure(id, 'setup', new TypeError(problem))
  }

  /** After `next` failed to serve or to start: what was there before serves again. */
  const undo = async (
    next: LivePlugin,
    before: LivePlugin | undefined,
    isServing: boolean,
  ): Promise<void> => {
    const { id } = next.found.manifest
    if (before === undefined) {
      live.delete(id)
      unpublish(id)
    } else {
      live.set(id, before)
      publish(before)
    }
    next.retire()
    if (isServing) {
      const { drained } = await serve(setsOf(live))
      await drained
    }
    await next.leave('unload')
  }

  const enter = async (next: LivePlugin): Promise<void> => {
    const { id } = next.found.manifest
    const before = live.get(id)
    let isServing = false
    let drained = Promise.resolve()
    try {
      checkReconcilers(next)
      const swapped = await inStep(id, 'routes', () => serve(setsOf(after(live, next))))
      drained = swapped.drained
      isServing = true
      live.set(id, next)
      publish(next)
      await begin(next)
    } catch (error) {
      await undo(next, before, isServing)
      throw asFailure(id, 'start', error)
    }
    aside.delete(id)
    if (before === undefined) return
    before.retire()
    await drained
    await before.leave('upgrade')
  }

  const withdraw = async (id: string): Promise<LivePlugin | undefined> => {
    const plugin = live.get(id)
    if (plugin === undefined) return undefined
    live.delete(id)
    const { drained } = await serve(setsOf(live))
    plugin.retire()
    unpublish(id)
    await Promise.all([drained, host.reconciler.pause(id)])
    return plugin
  }

  return {
    get: (id) => live.get(id),
    all: () => [...live.values()],
    enter,
    enterAll: async (next) => {
      const failures = new Map<string, Error>()
      const accepted = await acceptable(host, setsOf(live), next, failures)
      for (const plugin of next) {
        const { id } = plugin.found.manifest
        if (accepted.includes(plugin)) live.set(id, plugin)
        else {
          unpublish(id)
          await plugin.leave('unload')
        }
      }
      await serve(setsOf(live))
      for (const plugin of accepted) {
        const { id } = plugin.found.manifest
        try {
          refuseTaken(plugin, accepted)
          refuseOrphan(host, plugin)
          checkReconcilers(plugin)
          publish(plugin)
          await begin(plugin)
        } catch (error) {
          failures.set(id, asFailure(id, 'start', error))
          await undo(plugin, undefined, true)
        }
      }
      return failures
    },
    leave: async (id, why) => {
      const plugin = await withdraw(id)
      await host.reconciler.attach(id, [])
      await plugin?.leave(why)
    },
    stepAside: async (id) => {
      const plugin = live.get(id)
      if (plugin !== undefined) aside.set(id, awayRoutes(plugin))
      await (await withdraw(id))?.leave('upgrade')
    },
    remove: async (id) => {
      aside.delete(id)
      await host.reconciler.attach(id, [])
      await serve(setsOf(live))
    },
    leaveAll: async () => {
      const leaving = [...live.values()].reverse()
      live.clear()
      aside.clear()
      for (const plugin of leaving) plugin.retire()
      try {
        await (await serve([])).drained
      } catch (error) {
        host.log.error({ err: error }, `routes could not be withdrawn: ${reasonOf(error)}`)
      }
      for (const plugin of leaving) {
        const { id } = plugin.found.manifest
        await host.reconciler.attach(id, [])
        await plugin.leave('shutdown')
        unpublish(id)
      }
    },
  }
}

/** Those of `next` that can serve together with `sets`; why the others cannot is put into `failures`. */
async function acceptable(
  host: PluginHost,
  sets: readonly RouteSet[],
  next: readonly LivePlugin[],
  failures: Map<string, Error>,
): Promise<readonly LivePlugin[]> {
  const accepts = async (plugins: readonly LivePlugin[]): Promise<unknown> => {
    try {
      await host.edge.build([...sets, ...plugins.map((plugin) => plugin.routes)])
      return undefined
    } catch (error) {
      return error
    }
  }
  if ((await accepts(next)) === undefined) return next
  // One of them at least is to blame: find out by adding one after the other, the build's own before the installed.
  const accepted: LivePlugin[] = []
  for (const plugin of ownFirst(next)) {
    const { id } = plugin.found.manifest
    const error = await accepts([...accepted, plugin])
    if (error === undefined) accepted.push(plugin)
    else failures.set(id, asFailure(id, 'routes', error))
  }
  return next.filter((plugin) => accepted.includes(plugin))
}

function ownFirst(plugins: readonly LivePlugin[]): readonly LivePlugin[] {
  const isOwn = ({ found }: LivePlugin): boolean => found.origin === 'bundled'
  return [...plugins.filter(isOwn), ...plugins.filter((plugin) => !isOwn(plugin))]
}

/** An installed plugin takes no resource that one of the build reconciles, even if it comes before that. */
function refuseTaken(plugin: LivePlugin, all: readonly LivePlugin[]): void {
  const { id } = plugin.found.manifest
  if (plugin.found.origin === 'bundled') return
  for (const other of all) {
    if (other.found.origin !== 'bundled' || other === plugin) continue
    const theirs = new Set(other.reconcilers.map(({ resource }) => resource))
    const taken = plugin.reconcilers.find(({ resource }) => theirs.has(resource))?.resource
    if (taken === undefined) continue
    const problem = `the resource ${taken} is reconciled by ${other.found.manifest.id}`
    throw asFailure(id, 'setup', new TypeError(problem))
  }
}

/** A provider of something that it requires has failed after it was set up. */
function refuseOrphan(host: PluginHost, plugin: LivePlugin): void {
  const missing = plugin.found.manifest.requires?.find(
    (service) => host.services.ownerOf(service) === undefined,
  )
  if (missing !== undefined) throw new TypeError(`nobody provides ${missing} any more`)
}

/** The set with `next` in its place at the end: of two routes alike, the last to come is the duplicate. */
function after(live: ReadonlyMap<string, LivePlugin>, next: LivePlugin): ReadonlyMap<string, LivePlugin> {
  const { id } = next.found.manifest
  return new Map([...[...live].filter(([other]) => other !== id), [id, next]])
}

function isRequired(plugin: LivePlugin): boolean {
  return plugin.found.manifest.essential === true
}

function awayRoutes(plugin: LivePlugin): RouteSet {
  const { id } = plugin.found.manifest
  const refuse = async (): Promise<never> => {
    throw notReady(`the plugin ${id} is being exchanged; try again in a few seconds`, { retryAfterS: 1 })
  }
  const routes = plugin.routes.routes.map((route): Route => ({ ...route, handle: refuse }))
  return { ...plugin.routes, plugin: id, routes, retiring: new AbortController().signal }
}
