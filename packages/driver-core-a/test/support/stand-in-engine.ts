import type { ContainerState, Engine } from '@steeple/southbound'

/** Containers that run, restart and fail as told. */
export interface StandInEngine extends Engine {
  readonly restarts: string[]
  /** Containers whose next restart leaves them dead, with these last words. */
  readonly failing: Map<string, string>
  /** What containers have written, each line with its colours and its end. */
  readonly written: Map<string, string[]>
  /** Containers that were taken away. */
  readonly gone: Set<string>
}

/** An engine with these containers, all of them up. */
export function standInEngine(containers: readonly string[]): StandInEngine {
  const started = new Map(containers.map((name) => [name, 1]))
  const dead = new Map<string, string>()
  const restarts: string[] = []
  const failing = new Map<string, string>()
  const gone = new Set<string>()
  const written = new Map<string, string[]>()
  return {
    written,
    restarts,
    failing,
    gone,
    inspect: async (container, signal): Promise<ContainerState | undefined> => {
      signal.throwIfAborted()
      const startedAtMs = started.get(container)
      if (startedAtMs === undefined || gone.has(container)) return undefined
      const isRunning = !dead.has(container)
      return { id: container, isRunning, startedAtMs, exitCode: isRunning ? undefined : 255, restartCount: 0 }
    },
    restart: async (container, _options, signal) => {
      signal.throwIfAborted()
      restarts.push(container)
      started.set(container, (started.get(container) ?? 0) + 1)
      const words = failing.get(container)
      failing.delete(container)
      if (words === undefined) dead.delete(container)
      else dead.set(container, words)
      return undefined
    },
    logsTail: async (container) => dead.get(container) ?? written.get(container)?.join('\n') ?? '',
    logsSince: async (container, lines, at) =>
      (written.get(container) ?? [])
        .map((line, number) => `${new Date(number * 1_000).toISOString()} ${line}`)
        .filter((line) => at === undefined || line >= at.slice(0, 19))
        .slice(-lines)
        .join('\n'),
  }
}
