import type { Engine } from '@steeple/southbound'

/** A container engine whose containers run unless told otherwise. */
export interface StandInEngine extends Engine {
  /** Containers in the order in which they were restarted. */
  readonly restarted: string[]
  /** When each container has started, ms; 1 where nothing is said. */
  readonly started: Map<string, number>
  /** Containers that do not run: exited, or gone. */
  readonly ended: Map<string, 'exited' | 'gone'>
  /** What the engine says to the next restart of any container. */
  refuseNext(words: string): void
  /** What is read of a container's output from now on; an error: that it cannot be read. */
  say(container: string, output: string | Error): void
}

/** Makes one with those containers; `came` is told of each that was restarted. */
export function standInEngine(
  containers: readonly string[],
  came: (container: string) => void = () => undefined,
): StandInEngine {
  const restarted: string[] = []
  const started = new Map<string, number>()
  const ended: StandInEngine['ended'] = new Map()
  const outputs = new Map<string, string | Error>()
  let refusal: string | undefined
  return {
    restarted,
    started,
    ended,
    refuseNext: (words) => {
      refusal = words
    },
    inspect: async (container) => {
      const end = ended.get(container)
      if (!containers.includes(container) || end === 'gone') return undefined
      const isRunning = end === undefined
      return {
        id: container,
        isRunning,
        startedAtMs: started.get(container) ?? 1,
        exitCode: isRunning ? undefined : 1,
        restartCount: 0,
      }
    },
    restart: async (container) => {
      restarted.push(container)
      came(container)
      const words = refusal
      refusal = undefined
      return words
    },
    say: (container, output) => void outputs.set(container, output),
    logsTail: async (container) => {
      const output = outputs.get(container) ?? 'it says nothing'
      if (output instanceof Error) throw output
      return output
    },
    logsSince: async (container) => {
      const output = outputs.get(container) ?? ''
      if (output instanceof Error) throw output
      return output
    },
  }
}
