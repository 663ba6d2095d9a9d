import type { Engine } from '../engine/engine.ts'
import { isRestartable } from './changes.ts'
import type { Restart } from './daemon.ts'
import { type Limits, type PlacedProbe, probed, settled, wordsOfContainer } from './verify.ts'

/** What restarts are made with. */
export interface RestartParts {
  readonly engine: Engine
  readonly limits: Limits
  readonly probe?: PlacedProbe | undefined
  /** Told of each restart. */
  restarted?(daemon: string): void
}

/** How restarts ended: who was restarted, and who is not well and why. */
export interface RestartResult {
  readonly restarted: readonly Restart[]
  readonly unwell: { readonly restart: Restart; readonly words: string } | undefined
}

/**
 * Restarts daemons one after the other, each once the one before stays up, then waits until all of them do their work.
 * Stops at the first that does not. Daemons without a container are left alone; a container that several share is
 * restarted once. Throws `southbound_unavailable` when the engine does not answer.
 */
export async function restartAll(
  restarts: readonly Restart[],
  parts: RestartParts,
  signal: AbortSignal,
): Promise<RestartResult> {
  const restarted: Restart[] = []
  const containers = new Set<string>()
  for (const restart of restarts.filter(isRestartable)) {
    restarted.push(restart)
    const problem = await restartOne(restart, containers, parts, signal)
    if (problem !== undefined) return { restarted, unwell: await complaint(restart, problem, parts, signal) }
  }
  const deadlineMs = performance.now() + parts.limits.healthMs
  for (const restart of parts.probe === undefined ? [] : restarted) {
    const problem = await probed(
      parts.probe ?? content,
      restart.daemon.name,
      deadlineMs,
      parts.limits,
      signal,
    )
    if (problem !== undefined) return { restarted, unwell: await complaint(restart, problem, parts, signal) }
  }
  return { restarted, unwell: undefined }
}

async function content(): Promise<undefined> {}

async function restartOne(
  { daemon }: Restart,
  containers: Set<string>,
  { engine, limits, restarted }: RestartParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { container = '', name } = daemon
  if (containers.has(container)) return undefined
  containers.add(container)
  const problem = await engine.restart(container, limits, signal)
  restarted?.(name)
  return problem ?? (await settled(engine, container, limits, signal))
}

async function complaint(
  restart: Restart,
  problem: string,
  { engine }: RestartParts,
  signal: AbortSignal,
): Promise<{ readonly restart: Restart; readonly words: string }> {
  const said = await wordsOfContainer(engine, restart.daemon.container ?? '', signal)
  return { restart, words: said === '' ? problem : `${problem}; it said: ${said}` }
}
