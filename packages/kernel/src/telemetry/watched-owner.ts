import type { Clock, ComponentHealth, ComponentState, Log } from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'
import { scrubText } from './log-redaction.ts'

/** Asks an owner how its components are. */
export type HealthCheck = () => Promise<readonly ComponentHealth[]>

/** What is said of an owner whose check fails before it named any component. */
export interface Owner {
  readonly kind: ComponentHealth['kind']
  readonly required: boolean
}

/** Characters; the end of what is longer is lost. */
const LONGEST_NAME = 200
const LONGEST_DETAIL = 2_000
/** How long a check may take. */
const CHECK_BOUND_MS = 2_000

/** What an owner works with. `again`: it is to be asked once more, now that it has answered. */
export interface WatchedParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly again: (owner: WatchedOwner) => void
}

/** One owner of components: what it was last seen to say, and the look at it that is on its way. */
export class WatchedOwner {
  readonly #name: string
  readonly #about: Owner
  readonly #check: HealthCheck | undefined
  readonly #parts: WatchedParts
  #states: ReadonlyMap<string, ComponentState> = new Map()
  #isAsking = false
  #isAgain = false
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

  /** Asks it. One that still hangs is not asked again on top. */
  async ask(): Promise<void> {
    const check = this.#check
    if (check === undefined || this.#isAsking) return
    this.#isAsking = true
    this.#isAgain = false
    const asked = (async () => await check())().finally(() => {
      this.#isAsking = false
      if (this.#isAgain && !this.#hasLeft) this.#parts.again(this)
    })
    try {
      const { timers } = this.#parts
      const what = `the health check of ${this.#name}`
      const components = await within(timers, CHECK_BOUND_MS, what, () => asked)
      if (!this.#hasLeft) this.keep(components)
    } catch (error) {
      asked.catch(() => undefined)
      if (!this.#hasLeft) this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    this.#parts.log.warn({ owner: this.#name, err: error }, 'health check failed')
    const failed = this.states.map(({ name, kind, required }) => ({ name, kind, required }))
    const down = failed.length > 0 ? failed : [{ name: this.#name, ...this.#about }]
    this.keep(
      down.map((component) => ({
        ...component,
        status: 'down' as const,
        detail: 'its health check fails',
      })),
    )
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
