import type { Engine } from '@steeple/southbound'

/** A container engine whose containers run unless told otherwise. */
export interface StandInEngine extends Engine {
  /** Containers in the order in which they were restarted. */
  readonly restarted: string[]
  /** What the engine says to the next restart of any container. */
  refuseNext(words: string): void
}

/** Makes one with those containers. */
export function standInEngine(containers: readonly string[]): StandInEngine {
  const restarted: string[] = []
  let refusal: string | undefined
  return {
    restarted,
    refuseNext: (words) => {
      refusal = words
    },
    inspect: async (container) => {
      if (!containers.includes(container)) return undefined
      const restartCount = 0
      return { id: container, isRunning: true, startedAtMs: 1, exitCode: undefined, restartCount }
    },
    restart: async (container) => {
      restarted.push(container)
      const words = refusal
      refusal = undefined
      return words
    },
    logsTail: async () => 'it says nothing',
  }
}
