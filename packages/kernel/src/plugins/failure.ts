import { isServiceError, pluginFailed, type ServiceError } from '@steeple/contracts'

/** The steps of a plugin's life that can fail, in order. */
export type LifeStep = 'check' | 'import' | 'config' | 'migrate' | 'setup' | 'routes' | 'start'

/** Does one step of a plugin's life. What it throws becomes `plugin_failed`, which names plugin, step and reason. */
export async function inStep<T>(plugin: string, step: LifeStep, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asFailure(plugin, step, error)
  }
}

/** `error` as `plugin_failed` of that step. One that is `plugin_failed` already stays as it is. */
export function asFailure(plugin: string, step: LifeStep, error: unknown): ServiceError {
  if (isServiceError(error) && error.code === pluginFailed.code) return error
  return pluginFailed(plugin, step, reasonOf(error), { cause: error })
}

/** How much of a foreign message goes into a record. */
const REASON_CHARACTERS = 500

/** One line that says what went wrong. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARACTERS) || 'no reason given'
}
