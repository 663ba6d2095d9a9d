import type { Engine } from '../engine/engine.ts'
import { isRestartable } from './changes.ts'
import type { Restart } from './daemon.ts'
import { endOf, type Limits, type PlacedProbe, probed, settled, wordsOfContainer } from './verify.ts'

export interface RestartParts {
  readonly engine: Engine
  readonly limits: Limits
  readonly probe?: PlacedProbe | undefined
  /** Told of each restart. */
  restarted?(daemon: string): void
  /** Those that are not restarted and must do their work afterwards all the same: they did before. */
  readonly bystanders?: readonly Restart[]
  /** Whether the words of a daemon say that it waits for something that is away, whatever its files say. */
  isOutage?(words: string): boolean
}

/** How restarts ended: who was restarted, and who is not well and why. */
interface RestartResult {
  readonly restarted: readonly Restart[]
  readonly unwell: { readonly restart: Restart; readonly words: string } | undefined
}

/**
 * Restarts daemons one after the other, each once the one before stays up, then waits until all of them and the bystanders do
 * their work.
 * Stops at the first that does not. Daemons without a container are left alone; a container that several share is
 * restarted once. Throws `southbound_unavailable` when the engine does not answer.
 */
export async function restartAll(
  restarts: readonly Restart[],
  parts: RestartParts,
  signal: AbortSignal,
): Promise<RestartResult> {
  const restarted: Restart[] = []
  /** Containers that were restarted, and when each was first seen to start. */
  const starts: Starts = new Map()
  /** Those that wait for what is away; the engine starts them again until it is there. */
  const waiting = new Set<string>()
  /** Undefined for one that waits: its files are not to blame, and the others can do without it. */
  const unwellWith = async (restart: Restart, problem: string): Promise<RestartResult | undefined> => {
    const unwell = await complaint(restart, problem, starts, parts, signal)
    if (parts.isOutage?.(unwell.words) !== true) return { restarted, unwell }
    waiting.add(restart.daemon.name)
    return undefined
  }
  for (const restart of restarts.filter(isRestartable)) {
    restarted.push(restart)
    const problem = await restartOne(restart, starts, parts, signal)
    const unwell = problem === undefined ? undefined : await unwellWith(restart, problem)
    if (unwell !== undefined) return unwell
  }
  const settledOnes = restarted.filter(({ daemon }) => !waiting.has(daemon.name))
  return (
    (await probeAll([...settledOnes, ...(parts.bystanders ?? [])], parts, unwellWith, signal)) ?? {
      restarted,
      unwell: undefined,
    }
  )
}

/** Waits until all of these do their work; the result of the first that does not. */
async function probeAll(
  asked: readonly Restart[],
  { probe, limits, engine }: RestartParts,
  unwellWith: (restart: Restart, problem: string) => Promise<RestartResult | undefined>,
  signal: AbortSignal,
): Promise<RestartResult | undefined> {
  if (probe === undefined) return undefined
  let deadlineMs = performance.now() + limits.healthMs
  for (const restart of asked) {
    const problem = await probed(probe, restart.daemon.name, deadlineMs, limits, signal)
    if (problem === undefined) continue
    const ended = await endOf(engine, restart.daemon.container ?? '', signal)
    const unwell = await unwellWith(restart, ended === undefined ? problem : `${ended}; ${problem}`)
    if (unwell !== undefined) return unwell
    // One that waits has used up the time of those behind it.
    deadlineMs = performance.now() + limits.healthMs
  }
  return undefined
}

type Starts = Map<string, number | undefined>

async function restartOne(
  { daemon }: Restart,
  starts: Starts,
  { engine, limits, restarted }: RestartParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { container = '', name } = daemon
  if (starts.has(container)) return undefined
  starts.set(container, undefined)
  const refusal = await engine.restart(container, limits, signal)
  restarted?.(name)
  if (refusal !== undefined) return refusal
  const { problem, startedAtMs } = await settled(engine, container, limits, signal)
  starts.set(container, startedAtMs)
  return problem
}

async function complaint(
  restart: Restart,
  problem: string,
  starts: Starts,
  { engine }: RestartParts,
  signal: AbortSignal,
): Promise<{ readonly restart: Restart; readonly words: string }> {
  const { container = '' } = restart.daemon
  const said = await wordsOfContainer(engine, container, signal, starts.get(container))
  return { restart, words: said === '' ? problem : `${problem}; it said: ${said}` }
}
