import type { Clock, ComponentHealth, ComponentState, HealthBoard, Log } from '@steeple/contracts'
import { type Timers, within } from './clock/deadline.ts'
import { scrubText } from './telemetry/log-redaction.ts'

/** Asks an owner how its components are. */
type HealthCheck = () => Promise<readonly ComponentHealth[]>

/** What is said of an owner whose check fails before it named any component. */
interface Owner {
  readonly kind: ComponentHealth['kind']
  readonly required: boolean
}

/** Characters; the end of what is longer is lost. */
const LONGEST_NAME = 200
const LONGEST_DETAIL = 2_000
/** How long a check may take. */
const CHECK_BOUND_MS = 2_000
/** Who was seen within so long and cannot be asked now counts as it was seen: a busy machine is no outage. */
const UNSEEN_MS = 15_000

/** What an owner works with. `again`: it is to be asked once more, now that it has answered. */
interface WatchedParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly again: (owner: WatchedOwner) => void
}

/** One owner of components: what it was last seen to say, and the look at it that is on its way. */
class WatchedOwner {
  readonly #name: string
  readonly #about: Owner
  readonly #check: HealthCheck | undefined
  readonly #parts: WatchedParts
  #states: ReadonlyMap<string, ComponentState> = new Map()
  /** When it has last answered, by the monotonic clock. */
  #seenMs = Number.NEGATIVE_INFINITY
  #isAsking = false
  #isAgain = false
  /** It has not answered within its bound. */
  #isLate = false
  /** Another one stands in its place, or none: what it answers now is of no interest. */
  #hasLeft = false

  constructor(name: string, about: Owner, check: HealthCheck | undefined, parts: WatchedParts) {
    this.#name = name
    this.#about = about
    this.#check = check
    this.#parts = parts
  }

  /** How its components are. */
  get states(): readonly ComponentState[] {
    return [...this.#states.values()]
  }

  /** Takes the place of the one before, whose states stay until this one is asked. */
  follow(before: WatchedOwner | undefined): void {
    if (before === undefined) return
    this.#states = before.#states
    this.#seenMs = before.#seenMs
    before.leave()
  }

  /** It is watched no more. */
  leave(): void {
    this.#hasLeft = true
  }

  /** Keeps what is said of its components. */
  keep(components: readonly ComponentHealth[]): void {
    const nowMs = this.#parts.clock.nowMs()
    this.#states = new Map(
      components.map((component) => {
        // A driver tells what a core answers, and people read it: whatever they may not see is no part of it.
        const name = shown(nameOf(this.#name, component.name), LONGEST_NAME)
        const detail = shown(component.detail, LONGEST_DETAIL)
        return [name, stateOf({ ...component, name, detail }, this.#states.get(name), nowMs)]
      }),
    )
  }

  /** Whether it is being asked now; it is asked again then when it has answered. */
  isToAskAgain(): boolean {
    if (this.#isAsking) this.#isAgain = true
    return this.#isAsking
  }

  /** Asks it. One that still hangs is not asked again on top; what it answers late counts. */
  async ask(): Promise<void> {
    const check = this.#check
    if (check === undefined) return
    if (this.#isAsking) {
      if (this.#isLate) this.#unseen()
      return
    }
    this.#isAsking = true
    this.#isLate = false
    this.#isAgain = false
    const asked = (async () => this.#answered(await check()))().finally(() => {
      this.#isAsking = false
      if (this.#isAgain && !this.#hasLeft) this.#parts.again(this)
    })
    try {
      const { timers } = this.#parts
      await within(timers, CHECK_BOUND_MS, `the health check of ${this.#name}`, () => asked)
    } catch (error) {
      asked.catch(() => undefined)
      this.#isLate = true
      if (!this.#hasLeft) this.#parts.log.warn({ owner: this.#name, err: error }, 'health check failed')
      this.#unseen()
    }
  }

  #answered(components: readonly ComponentHealth[]): void {
    if (this.#hasLeft) return
    this.#seenMs = this.#parts.clock.monotonicMs()
    this.keep(components)
  }

  /** It did not say how it is. When that lasts the owner is down, and what it said of its components stays beside it. */
  #unseen(): void {
    const { clock } = this.#parts
    if (this.#hasLeft || clock.monotonicMs() - this.#seenMs < UNSEEN_MS) return
    const { kind, required } = this.#about
    const owner: ComponentHealth = {
      name: this.#name,
      kind,
      required: required || this.states.some((one) => one.required),
      status: 'down',
      detail: 'its health check fails',
      // A core that nobody has looked at may serve phones: only the store is what everything else needs.
      ...(kind !== 'store' && { incident: 'part' as const }),
    }
    const state = stateOf(owner, this.#states.get(this.#name), clock.nowMs())
    this.#states = new Map([...this.#states, [this.#name, state]])
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
    ...(now.incident === undefined ? {} : { incident: now.incident }),
    ...(now.chosen === undefined ? {} : { chosen: now.chosen }),
    sinceMs: before?.status === now.status ? before.sinceMs : nowMs,
    lastOkAtMs: now.status === 'ok' ? nowMs : before?.lastOkAtMs,
  }
}

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

interface HealthOptions {
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
