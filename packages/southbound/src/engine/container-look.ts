import type { Engine } from './engine.ts'

/** Whether a container runs: `down` also for one that is gone, `unknown` when the engine cannot be asked. */
export async function containerLook(
  engine: Engine,
  container: string,
  signal: AbortSignal,
): Promise<'up' | 'down' | 'unknown'> {
  try {
    const state = await engine.inspect(container, signal)
    return state?.isRunning === true ? 'up' : 'down'
  } catch {
    signal.throwIfAborted()
    return 'unknown'
  }
}
