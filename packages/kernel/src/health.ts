import type { Clock, ComponentHealth, ComponentState, HealthBoard, Log } from '@steeple/contracts'
import { type Timers, within } from './clock/deadline.ts'
import { type HealthCheck, type Owner, WatchedOwner } from './telemetry/watched-owner.ts'

/** Asks everything that can be ill, every few seconds. */
export interface HealthPoller extends HealthBoard {
  /** Asks `check` from now on, in place of what the owner asked before; its names follow the owner's. */
  watch(owner: string, about: Owner, check: HealthCheck): void
  /** What is known without asking: a plugin that failed. In place of the owner's check. */
  report(owner: string, components: readonly ComponentHealth[]): void
  /** Forgets the owner and its components. */
  forget(owner: string): void
  /** The worst status of the owner's components; undefined when it was never asked. */
  worst(owner: string): ComponentHealth['status'] | undefined
  /** Asks everything now; resolves when all have answered or their bound is over. */
  poll(): Promise<void>
  /** Asks the owner's check soon: it says that it may have another answer. */
  look(owner: string): void
  /** Polls now and then every `POLL_MS`. */
  start(): void
  close(): void
}

/** What the board needs. */
export interface HealthOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  /** Whether the first reconcile pass is over. */
  readonly isReady: () => boolean
  /** Told how each component is, after each look that is over. */
  readonly tell?: (states: ReadonlyMap<string, ComponentState['status']>) => void
}

/** How often each check is asked. */
const POLL_MS = 5_000
/** A look that old is not shown to who asks for a fresh one; how long that one waits for the next. */
const FRESH_MS = 1_000
const FRESH_BOUND_MS = 500

/** Makes a board that knows nothing and asks nobody until `start`. */
export function createHealthBoard({ clock, timers, log, isReady, tell }: HealthOptions): HealthPoller {
  const watched = new Map<string, WatchedOwner>()
  let timer: unknown
  let isOpen = false

  const components = (): readonly ComponentState[] => [...watched.values()].flatMap(({ states }) => states)

  /** Tells how all are now, those that were reported too. */
  const show = (): void => {
    if (isOpen) tell?.(new Map(components().map(({ name, status }) => [name, status])))
  }

  const ask = (entry: WatchedOwner): void => {
    if (isOpen) void entry.ask().then(show)
  }

  let lastMs = Number.NEGATIVE_INFINITY
  let looking = Promise.resolve()
  const poll = (): Promise<void> => {
    lastMs = clock.monotonicMs()
    looking = Promise.all([...watched.values()].map((entry) => entry.ask())).then(show)
    return looking
  }

  const next = (): void => {
    timer = timers.setTimeout(() => {
      void poll().finally(() => {
        if (isOpen) next()
      })
    }, POLL_MS)
  }

  const replace = (owner: string, about: Owner, check: HealthCheck | undefined): WatchedOwner => {
    const entry = new WatchedOwner(owner, about, check, { clock, timers, log, again: ask })
    entry.follow(watched.get(owner))
    watched.set(owner, entry)
    return entry
  }

  return {
    components,
    fresh: async () => {
      // Callers within a second share a look, and wait for one that is on its way.
      if (isOpen && clock.monotonicMs() - lastMs >= FRESH_MS) void poll()
      // Who does not answer in time is shown as it was.
      await within(timers, FRESH_BOUND_MS, 'a fresh look', () => looking).catch(() => undefined)
      return components()
    },
    get isReady() {
      return isReady()
    },
    watch: (owner, about, check) => ask(replace(owner, about, check)),
    report: (owner, components) => {
      replace(owner, { kind: 'feature', required: false }, undefined).keep(components)
      show()
    },
    forget: (owner) => {
      watched.get(owner)?.leave()
      watched.delete(owner)
    },
    worst: (owner) => worstOf(watched.get(owner)?.states ?? []),
    poll,
    look: (owner) => {
      const entry = watched.get(owner)
      if (entry !== undefined && isOpen && !entry.isToAskAgain()) ask(entry)
    },
    start: () => {
      isOpen = true
      void poll()
      next()
    },
    close: () => {
      isOpen = false
      timers.clearTimeout(timer)
    },
  }
}

function worstOf(states: readonly ComponentState[]): ComponentHealth['status'] | undefined {
  for (const status of ['down', 'degraded', 'ok'] as const) {
    if (states.some((state) => state.status === status)) return status
  }
  return undefined
}
