import { type Clock, countText } from '@steeple/contracts'
import type { ContainerState, Engine } from './engine.ts'

/** An engine that remembers which containers are started by others than this service: by itself after a crash, mostly. */
export interface CountingEngine extends Engine {
  /** For `CoreObserved.restarted`: of these containers by daemon the ones that are started over and over. */
  restarted(containers: Readonly<Record<string, string>>): ReadonlyMap<string, string>
}

/** Starts so long ago do not count, ms. */
const WINDOW_MS = 600_000
/** One that has run so long since is no longer told of, ms. */
const CALM_MS = 120_000
/** Fewer are an upgrade, or somebody's own restart. */
const FEWEST = 3

interface Seen {
  readonly state: ContainerState
  readonly starts: readonly { readonly atMs: number; readonly count: number }[]
}

/** Counts what `inspect` shows: the engine's own count, and starts that it does not count. */
export function countingEngine(engine: Engine, clock: Pick<Clock, 'monotonicMs'>): CountingEngine {
  const seen = new Map<string, Seen>()
  const note = (container: string, state: ContainerState): void => {
    const nowMs = clock.monotonicMs()
    const { state: before, starts } = seen.get(container) ?? { state, starts: [] }
    const isOther = state.startedAtMs !== before.startedAtMs
    const count = Math.max(state.restartCount - before.restartCount, isOther ? 1 : 0)
    const recent = starts.filter(({ atMs }) => nowMs - atMs < WINDOW_MS)
    seen.set(container, { state, starts: count > 0 ? [...recent, { atMs: nowMs, count }] : recent })
  }
  return {
    inspect: async (container, signal) => {
      const state = await engine.inspect(container, signal)
      if (state === undefined) seen.delete(container)
      else note(container, state)
      return state
    },
    restart: async (container, options, signal) => {
      try {
        return await engine.restart(container, options, signal)
      } finally {
        seen.delete(container)
      }
    },
    logsTail: (...args) => engine.logsTail(...args),
    logsSince: (...args) => engine.logsSince(...args),
    restarted: (containers) => {
      const all = Object.entries(containers).map(
        ([daemon, container]) =>
          [daemon, words(seen.get(container)?.starts ?? [], clock.monotonicMs())] as const,
      )
      return new Map(all.flatMap(([daemon, told]) => (told === undefined ? [] : [[daemon, told] as const])))
    },
  }
}

function words(all: Seen['starts'], nowMs: number): string | undefined {
  const starts = all.filter(({ atMs }) => nowMs - atMs < WINDOW_MS)
  const [first, last] = [starts[0], starts.at(-1)]
  const count = starts.reduce((sum, one) => sum + one.count, 0)
  if (first === undefined || last === undefined || count < FEWEST) return undefined
  if (nowMs - last.atMs > CALM_MS) return undefined
  const minutes = Math.max(1, Math.ceil((nowMs - first.atMs) / 60_000))
  return `it was restarted ${countText(count, 'time')} in ${countText(minutes, 'minute')}`
}
