import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Change, Client } from '@steeple/client'

/** A listener: what it listens to (`sim.issue`, `sim.*`, `*`), and what it does. */
interface Listener {
  readonly types: readonly string[]
  readonly tell: (change: Change | undefined) => void
}

const listeners = new Set<Listener>()
const isOpen = signal(true)
/** How many lately ones are kept of a type: many of one push out none of another. */
const KEPT = 15
const lately = signal<readonly Change[]>([])

/** Whether changes arrive; false while the connection is lost. */
export const connected: ReadonlySignal<boolean> = computed(() => isOpen.value)

/** The last changes since the page was opened, newest first. */
export const recent: ReadonlySignal<readonly Change[]> = computed(() => lately.value)

/**
 * Calls `tell` for each change of these types, `sim.*` for all of a noun, `*` for all; with undefined when changes were missed and
 * everything is to be read afresh. Gives back how to stop.
 */
export function listen(types: readonly string[], tell: Listener['tell']): () => void {
  const listener = { types, tell }
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Follows changes as `events` gives them, until the signal is aborted; tells of them, and of what was missed. */
export async function followChanges(events: Client['events'], signal: AbortSignal): Promise<void> {
  let wasLost = false
  const onState = ({ state }: { readonly state: 'open' | 'waiting' }): void => {
    const isNow = state === 'open'
    // What no event tells of may have changed meanwhile: a restart, other pages.
    if (isNow && wasLost) tellAll(undefined)
    wasLost = !isNow
    isOpen.value = isNow
  }
  try {
    for await (const event of events({ signal, onState })) {
      if (event.kind === 'gap') tellAll(undefined)
      else {
        const same = lately.value.filter(({ type }) => type === event.type)
        const oldest = same.length < KEPT ? undefined : same.at(-1)
        lately.value = [event, ...lately.value.filter((one) => one !== oldest)]
        tellAll(event)
      }
    }
  } catch {
    // Refused for good: the session has ended, and signing in again follows anew.
  } finally {
    isOpen.value = true
  }
}

/** A change was refused for something that is wrong with the box: whoever shows how it is looks again, as no event may tell of it. */
export function lookAgain(): void {
  for (const { types, tell } of [...listeners]) if (types.includes('health.*')) tell(undefined)
}

function tellAll(change: Change | undefined): void {
  for (const { types, tell } of [...listeners]) {
    if (change === undefined || types.some((type) => fits(type, change.type))) tell(change)
  }
}

function fits(pattern: string, type: string): boolean {
  return (
    pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
  )
}
