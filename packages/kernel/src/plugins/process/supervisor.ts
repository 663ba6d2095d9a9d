import type { ComponentHealth, Context, Instance } from '@steeple/contracts'
import { isServiceError, notReady } from '@steeple/contracts'
import { type Backoff, backoffMs } from '../../reconcile/backoff.ts'
import { reasonOf } from '../failure.ts'
import type { FoundPlugin } from '../manifest.ts'
import type { PluginProcess } from './child-process.ts'
import { type ParentHandlers, visibleServices } from './parent-handlers.ts'
import type { LoadedProcess, ProcessCodeOptions } from './process-code.ts'
import { awayHealth, instanceFrom, type Presence } from './process-instance.ts'
import type { WireInstance, WireSetup } from './wire.ts'

/** What a supervised copy is made of. `first` is a process that was loaded already. */
export interface Supervised {
  readonly found: FoundPlugin
  readonly options: ProcessCodeOptions
  readonly context: Context
  readonly handlers: ParentHandlers
  readonly launch: () => Promise<LoadedProcess>
  readonly first: LoadedProcess | undefined
}

/** Restarts of a process that ended: 1 s · 2ⁿ, at most 60 s. */
const RESTART_BACKOFF: Backoff = { firstMs: 1_000, longestMs: 60_000 }
/** A process that has lived so long has recovered: the next restart comes after the first delay again. */
const RECOVERED_MS = 60_000
/** Bound on setup and start in the process. */
const STEP_BOUND_MS = 10_000
/** Bound on a health check; below the board's own. */
const HEALTH_BOUND_MS = 1_500
/** Health checks in a row without an answer after which a process counts as hung. */
const MISSES_OF_A_HANG = 3
/** Bound on stop in the process. */
const STOP_BOUND_MS = 3_000

/** Sets a plugin up in its process and keeps that process running until the copy leaves. */
export async function supervise(parts: Supervised): Promise<Instance> {
  const { context, handlers, options, found } = parts
  const { id, kind, essential = false } = found.manifest
  handlers.bind(context)
  const keeper = createKeeper(parts)
  context.defer(() => keeper.close())
  const description = await keeper.begin()
  context.onSettings(() => keeper.tell('settings', [structuredClone(context.settings)]))
  context.retiring.addEventListener('abort', () => keeper.tell('retire', []), { once: true })
  context.defer(options.services.onChange(() => keeper.tell('services', [visibleServices(options.services)])))

  return {
    ...instanceFrom(description, id, keeper.presence),
    start: async () => {
      await keeper.start()
    },
    health: async () => {
      const now = keeper.presence()
      if ('away' in now) return awayHealth(id, kind, now.away, essential)
      if (!description.hasHealth) await keeper.ask('health', [])
      // The child answers what the plugin's own check gave.
      else return (await keeper.ask('health', [])) as readonly ComponentHealth[]
      return [{ name: id, kind, status: 'ok', detail: 'running', required: essential }]
    },
    stop: (why) => keeper.stop(why),
  }
}

interface Keeper {
  /** Sets the first process up and says what it contributes. */
  begin(): Promise<WireInstance>
  /** Starts it; from now on a process that ends is replaced. */
  start(): Promise<void>
  presence(): Presence
  tell(method: string, args: readonly unknown[]): void
  /** A health check; three without an answer and the process is killed. */
  ask(method: string, args: readonly unknown[]): Promise<unknown>
  stop(why: 'unload' | 'upgrade' | 'shutdown'): Promise<void>
  close(): Promise<void>
}

function createKeeper({ found, options, context, launch, first }: Supervised): Keeper {
  const { timers, services, random } = options
  const { log } = context
  let current: PluginProcess | undefined
  /** The next one, while it is set up and started. */
  let coming: PluginProcess | undefined
  let away = 'it is being started'
  let shape = ''
  let isStarted = false
  let isLeaving = false
  let failures = 0
  let misses = 0
  let timer: unknown
  let restarting: Promise<void> = Promise.resolve()

  const setUp = async (loaded: LoadedProcess): Promise<WireInstance> => {
    const setup: WireSetup = {
      id: found.manifest.id,
      version: found.version,
      config: context.config,
      settings: structuredClone(context.settings),
      services: visibleServices(services),
    }
    // The child describes the instance that its plugin gave.
    return (await loaded.process.peer.call('setup', [setup], STEP_BOUND_MS)) as WireInstance
  }

  const watch = (child: PluginProcess): void => {
    const startedMs = context.clock.monotonicMs()
    void child.ended.then((how) => {
      if (current === child) current = undefined
      if (isLeaving) return
      if (context.clock.monotonicMs() - startedMs >= RECOVERED_MS) failures = 0
      restartLater(how)
    })
  }

  const restartLater = (how: string): void => {
    failures += 1
    away = how
    const delayMs = backoffMs(RESTART_BACKOFF, failures, random)
    log.error({ reason: how, failures, delayMs }, 'plugin process ended; it is started again')
    timer = timers.setTimeout(() => {
      restarting = restart()
    }, delayMs)
  }

  const restart = async (): Promise<void> => {
    let loaded: LoadedProcess | undefined
    try {
      loaded = await launch()
      coming = loaded.process
      if (isLeaving) throw notReady('the plugin leaves')
      const description = await setUp(loaded)
      if (JSON.stringify(description) !== shape)
        throw notReady('it contributes something else than before; reload it')
      await loaded.process.peer.call('start', [], STEP_BOUND_MS)
      if (isLeaving) throw notReady('the plugin leaves')
      misses = 0
      current = loaded.process
      watch(current)
      log.info({ pid: loaded.process.pid, failures }, 'plugin process runs again')
    } catch (error) {
      loaded?.process.kill()
      await loaded?.process.ended
      if (!isLeaving) restartLater(reasonOf(error))
    }
    coming = undefined
  }

  return {
    begin: async () => {
      const loaded = first ?? (await launch())
      current = loaded.process
      const description = await setUp(loaded)
      shape = JSON.stringify(description)
      return description
    },
    start: async () => {
      if (current === undefined) throw notReady('its process has ended')
      await current.peer.call('start', [], STEP_BOUND_MS)
      isStarted = true
      watch(current)
    },
    presence: () => (current === undefined ? { away } : { peer: current.peer }),
    tell: (method, args) => current?.peer.tell(method, args),
    ask: async (method, args) => {
      const child = current
      try {
        const answer = await child?.peer.call(method, args, HEALTH_BOUND_MS)
        misses = 0
        return answer
      } catch (error) {
        misses += isServiceError(error) && error.code === notReady.code ? 1 : 0
        if (misses >= MISSES_OF_A_HANG && isStarted && child === current) {
          misses = 0
          log.error({ pid: child?.pid }, 'plugin process hangs; it is killed')
          child?.kill()
        }
        throw error
      }
    },
    stop: async (why) => {
      isLeaving = true
      timers.clearTimeout(timer)
      await current?.peer.call('stop', [why], STOP_BOUND_MS)
    },
    close: async () => {
      isLeaving = true
      timers.clearTimeout(timer)
      const child = current
      current = undefined
      away = 'it has left'
      coming?.kill()
      await child?.end()
      await restarting
    },
  }
}
