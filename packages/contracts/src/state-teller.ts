import type { Clock, Context } from './plugin.ts'
import type { ObservedTx } from './store.ts'

/** One state that is another one than was told last. */
export interface StateChange {
  readonly key: string
  readonly state: string
  /** What was told last of it. */
  readonly was: string
}

/**
 * Tells of states that have changed; given all of them as they are now, at each change and every few seconds besides: what was not told
 * yet is told then. Never rejects.
 */
export type StateTeller = (now: ReadonlyMap<string, string>) => Promise<void>

/** What flaps is told of so often within `WINDOW_MS`, and then no more until that is over: as it is then. */
const MOST_TOLD = 60
const WINDOW_MS = 60_000

interface Told {
  readonly state: string
  /** Ms of the monotonic clock, newest last. */
  readonly atMs: readonly number[]
}

/**
 * A teller to which each state was `first`. `write` is given what is to be told at once, never twice at a time; when it rejects, the same
 * is told with the next states.
 */
export function stateTeller(
  clock: Pick<Clock, 'monotonicMs'>,
  first: string,
  write: (changes: readonly StateChange[]) => Promise<void>,
): StateTeller {
  const told = new Map<string, Told>()
  let latest: ReadonlyMap<string, string> | undefined
  let isTelling = false
  let telling = Promise.resolve()

  const due = (now: ReadonlyMap<string, string>): readonly StateChange[] => {
    // What has gone begins anew when it comes back.
    for (const key of told.keys()) if (!now.has(key)) told.delete(key)
    const sinceMs = clock.monotonicMs() - WINDOW_MS
    return [...now].flatMap(([key, state]) => {
      const { state: was = first, atMs = [] } = told.get(key) ?? {}
      const isFlapping = atMs.length === MOST_TOLD && (atMs[0] ?? 0) > sinceMs
      return state === was || isFlapping ? [] : [{ key, state, was }]
    })
  }
  const run = async (): Promise<void> => {
    isTelling = true
    try {
      for (let now = latest; now !== undefined; now = latest) {
        latest = undefined
        await tell(due(now))
      }
    } catch {
      // It stands as it was told last, and so is due again.
    } finally {
      isTelling = false
    }
  }
  const tell = async (changes: readonly StateChange[]): Promise<void> => {
    if (changes.length === 0) return
    await write(changes)
    const atMs = clock.monotonicMs()
    for (const { key, state } of changes)
      told.set(key, { state, atMs: [...(told.get(key)?.atMs ?? []), atMs].slice(-MOST_TOLD) })
  }
  return (now) => {
    latest = now
    if (!isTelling) telling = run()
    return telling
  }
}

/**
 * Tells of one thing that was `first`, in the stream of events, by what `eventOf` makes of a change; and has the health of the plugin asked
 * anew. To be given its state at each change, and every few seconds.
 */
export function stateNews<State extends string>(
  context: Pick<Context, 'clock' | 'healthChanged' | 'observe'>,
  first: State,
  eventOf: (change: { readonly state: State; readonly was: State }) => Parameters<ObservedTx['event']>[0],
): (state: State) => void {
  let last = first
  const tell = stateTeller(context.clock, first, (changes) =>
    context.observe(async (tx) => {
      // Nothing but states goes in.
      for (const { state, was } of changes) tx.event(eventOf({ state: state as State, was: was as State }))
    }),
  )
  return (state) => {
    if (state !== last) context.healthChanged()
    last = state
    void tell(new Map([['', state]]))
  }
}
