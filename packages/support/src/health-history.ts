import { hash } from 'node:crypto'
import { type ComponentState, type Context, healthBoardRef } from '@steeple/contracts'
import { cleanText, LEFT_OUT, type Scrub } from './bundle/clean-text.ts'

/** Changes that are kept. */
const MOST_CHANGES = 1_000

/** A component as a bundle shows it. */
interface ShownComponent {
  readonly name: string
  readonly kind: ComponentState['kind']
  readonly status: ComponentState['status']
  readonly detail: string
  readonly required: boolean
  readonly since: string
}

/** What became better or worse since the start. */
export interface HealthHistory {
  /** Looks once. */
  look(): void
  /** The oldest first. */
  changes(): readonly (ShownComponent & { readonly seen_at: string })[]
  now(): readonly ShownComponent[]
}

/** A history that is empty. */
export function createHealthHistory(context: Context, scrub: Scrub): HealthHistory {
  const last = new Map<string, ComponentState['status']>()
  const changes: (ShownComponent & { readonly seen_at: string })[] = []
  return {
    look: () => {
      const seen_at = new Date(context.clock.nowMs()).toISOString()
      for (const component of context.use(healthBoardRef).components()) {
        if (last.get(component.name) === component.status) continue
        last.set(component.name, component.status)
        changes.push({ seen_at, ...shownComponent(component, scrub) })
        if (changes.length > MOST_CHANGES) changes.shift()
      }
    },
    changes: () => changes,
    now: () =>
      context
        .use(healthBoardRef)
        .components()
        .map((component) => shownComponent(component, scrub)),
  }
}

function shownComponent(component: ComponentState, scrub: Scrub): ShownComponent {
  const { name, kind, status, detail, required, sinceMs } = component
  const isNamed = kind !== 'peer'
  return {
    // A peer is called as its people call it.
    name: isNamed ? cleanText(name, scrub) : `peer-${hash('sha256', name).slice(0, 8)}`,
    kind,
    status,
    detail: isNamed ? cleanText(detail, scrub) : LEFT_OUT,
    required,
    since: new Date(sinceMs).toISOString(),
  }
}
