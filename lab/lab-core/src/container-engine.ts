/** A container as the drivers look at it. */
interface Container {
  readonly id: string
  readonly isRunning: boolean
  readonly startedAtMs: number
  readonly exitCode: number | undefined
  readonly restartCount: number
}

/** A container engine in memory, whose containers run unless told otherwise. */
export interface ContainerEngine {
  /** Containers in the order in which they were restarted. */
  readonly restarted: string[]
  /** When each container has started, ms; 1 where nothing is said. */
  readonly started: Map<string, number>
  /** Containers that do not run: exited, or gone. */
  readonly ended: Map<string, 'exited' | 'gone'>
  /** Containers whose next restart leaves them dead, with these last words. */
  readonly failing: Map<string, string>
  /** Lines of a container's output, one each second since the epoch. */
  readonly written: Map<string, string[]>
  /** What is read of its output from now on, with its times; an error: that it cannot be read. */
  say(container: string, output: string | Error): void
  /** What the engine says to the next restart of any container. */
  refuseNext(words: string): void
  inspect(container: string, signal: AbortSignal): Promise<Container | undefined>
  restart(container: string, options: unknown, signal: AbortSignal): Promise<string | undefined>
  logsTail(container: string): Promise<string>
  logsSince(container: string, lines: number, at: string | undefined): Promise<string>
}

/** Makes one with those containers; `came` is told of each that was restarted. */
export function containerEngine(
  containers: readonly string[],
  came: (container: string) => void = () => undefined,
): ContainerEngine {
  const said = new Map<string, string | Error>()
  const lastWords = new Map<string, string>()
  let refusal: string | undefined
  const saidBy = (container: string): string | undefined => {
    const text = said.get(container)
    if (text instanceof Error) throw text
    return text
  }
  const engine: ContainerEngine = {
    restarted: [],
    started: new Map(),
    ended: new Map(),
    failing: new Map(),
    written: new Map(),
    refuseNext: (words) => {
      refusal = words
    },
    inspect: async (container, signal) => {
      signal.throwIfAborted()
      const end = engine.ended.get(container)
      if (!containers.includes(container) || end === 'gone') return undefined
      const isRunning = end === undefined
      return {
        id: container,
        isRunning,
        startedAtMs: engine.started.get(container) ?? 1,
        exitCode: isRunning ? undefined : 255,
        restartCount: 0,
      }
    },
    restart: async (container, _options, signal) => {
      signal.throwIfAborted()
      engine.restarted.push(container)
      const [refused, words] = [refusal, engine.failing.get(container)]
      refusal = undefined
      engine.started.set(container, (engine.started.get(container) ?? 1) + 1)
      engine.failing.delete(container)
      engine.ended.delete(container)
      lastWords.delete(container)
      if (words !== undefined) {
        engine.ended.set(container, 'exited')
        lastWords.set(container, words)
      }
      came(container)
      return refused
    },
    say: (container, output) => void said.set(container, output),
    logsTail: async (container) =>
      lastWords.get(container) ?? saidBy(container) ?? engine.written.get(container)?.join('\n') ?? '',
    logsSince: async (container, lines, at) =>
      saidBy(container) ??
      (engine.written.get(container) ?? [])
        .map((line, number) => `${new Date(number * 1_000).toISOString()} ${line}`)
        .filter((line) => at === undefined || line >= at.slice(0, 19))
        .slice(-lines)
        .join('\n'),
  }
  return engine
}
