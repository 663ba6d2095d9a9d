import { type Timers, within } from '@steeple/clock'
import type { Clock, ComponentHealth, ComponentState, HealthBoard, Log } from '@steeple/contracts'
import { scrubText } from '@steeple/telemetry'

/** Asks everything that can be ill, every few seconds. */
export interface HealthPoller extends HealthBoard {
  /** Asks `check` from now on, in place of what the owner asked before; its names follow the owner's. */
  watch(owner: string, about: Owner, check: () => Promise<readonly ComponentHealth[]>): void
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

/** What is said of an owner whose check fails before it named any component. */
export interface Owner {
  readonly kind: ComponentHealth['kind']
  readonly required: boolean
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
/** Characters; the end of what is longer is lost. */
const LONGEST_NAME = 200
const LONGEST_DETAIL = 2_000
/** How long a check may take. */
const CHECK_BOUND_MS = 2_000

interface Watched {
  readonly about: Owner
  readonly check: (() => Promise<readonly ComponentHealth[]>) | undefined
  states: ReadonlyMap<string, ComponentState>
  isAsking: boolean
  /** It is to be asked again when it has answered. */
  isAgain: boolean
}

/** Makes a board that knows nothing and asks nobody until `start`. */
export function createHealthBoard({ clock, timers, log, isReady, tell }: HealthOptions): HealthPoller {
  const watched = new Map<string, Watched>()
  let timer: unknown
  let isOpen = false

  const keep = (owner: string, entry: Watched, components: readonly ComponentHealth[]): void => {
    const nowMs = clock.nowMs()
    entry.states = new Map(
      components.map((component) => {
        // A driver tells what a core answers, and people read it: whatever they may not see is no part of it.
        const name = shown(nameOf(owner, component.name), LONGEST_NAME)
        const detail = shown(component.detail, LONGEST_DETAIL)
        return [name, stateOf({ ...component, name, detail }, entry.states.get(name), nowMs)]
      }),
    )
  }

  const ask = async (owner: string, entry: Watched): Promise<void> => {
    const { check } = entry
    // One that still hangs is not asked again on top.
    if (check === undefined || entry.isAsking) return
    entry.isAsking = true
    entry.isAgain = false
    const asked = (async () => await check())().finally(() => {
      entry.isAsking = false
      if (entry.isAgain) look(owner)
    })
    try {
      const components = await within(timers, CHECK_BOUND_MS, `the health check of ${owner}`, () => asked)
      if (watched.get(owner) === entry) keep(owner, entry, components)
    } catch (error) {
      asked.catch(() => undefined)
      if (watched.get(owner) !== entry) return
      log.warn({ owner, err: error }, 'health check failed')
      const failed = [...entry.states.values()].map(({ name, kind, required }) => ({ name, kind, required }))
      const down = failed.length > 0 ? failed : [{ name: owner, ...entry.about }]
      keep(
        owner,
        entry,
        down.map((component) => ({
          ...component,
          status: 'down' as const,
          detail: 'its health check fails',
        })),
      )
    }
  }

  const look = (owner: string): void => {
    const entry = watched.get(owner)
    if (!isOpen || entry === undefined) return
    if (entry.isAsking) entry.isAgain = true
    else void ask(owner, entry).then(show)
  }

  /** Tells how all are now, those that were reported too. */
  const show = (): void => {
    if (isOpen) tell?.(new Map(components().map(({ name, status }) => [name, status])))
  }

  let lastMs = Number.NEGATIVE_INFINITY
  let looking = Promise.resolve()
  const poll = (): Promise<void> => {
    lastMs = clock.monotonicMs()
    looking = Promise.all([...watched].map(([owner, entry]) => ask(owner, entry))).then(show)
    return looking
  }
  const components = (): readonly ComponentState[] =>
    [...watched.values()].flatMap((entry) => [...entry.states.values()])

  const next = (): void => {
    timer = timers.setTimeout(() => {
      void poll().finally(() => {
        if (isOpen) next()
      })
    }, POLL_MS)
  }

  const replace = (owner: string, about: Owner, check: Watched['check']): Watched => {
    const entry: Watched = {
      about,
      check,
      states: watched.get(owner)?.states ?? new Map(),
      isAsking: false,
      isAgain: false,
    }
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
    watch: (owner, about, check) => {
      const entry = replace(owner, about, check)
      if (isOpen) void ask(owner, entry).then(show)
    },
    report: (owner, components) => {
      keep(owner, replace(owner, { kind: 'feature', required: false }, undefined), components)
      show()
    },
    forget: (owner) => {
      watched.delete(owner)
    },
    worst: (owner) => worstOf([...(watched.get(owner)?.states.values() ?? [])]),
    poll,
    look,
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

function shown(text: string, longest: number): string {
  return scrubText(text.length > longest ? `${text.slice(0, longest)}…` : text)
}

/** Names are unique over all owners: those that do not begin with the owner's name get it in front. */
function nameOf(owner: string, name: string): string {
  return name === owner || name.startsWith(`${owner}.`) ? name : `${owner}.${name}`
}

function stateOf(now: ComponentHealth, before: ComponentState | undefined, nowMs: number): ComponentState {
  return {
    name: now.name,
    kind: now.kind,
    status: now.status,
    detail: now.detail,
    required: now.required ?? false,
    sinceMs: before?.status === now.status ? before.sinceMs : nowMs,
    lastOkAtMs: now.status === 'ok' ? nowMs : before?.lastOkAtMs,
  }
}

function worstOf(states: readonly ComponentState[]): ComponentHealth['status'] | undefined {
  for (const status of ['down', 'degraded', 'ok'] as const) {
    if (states.some((state) => state.status === status)) return status
  }
  return undefined
}
