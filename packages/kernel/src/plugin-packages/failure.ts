import { isServiceError, messageOf, pluginFailed, type ServiceError } from '@steeple/contracts'
import { scrubText } from '../telemetry/log-redaction.ts'

/** The steps of a plugin's life that can fail, in order. */
type LifeStep = 'check' | 'import' | 'config' | 'migrate' | 'setup' | 'routes' | 'start'

/** Does one step of a plugin's life. What it throws becomes `plugin_failed`, which names plugin, step and reason. */
export async function inStep<T>(plugin: string, step: LifeStep, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asFailure(plugin, step, error)
  }
}

/** `error` as `plugin_failed` of that step, without secrets. One that is that already stays as it is. */
export function asFailure(plugin: string, step: LifeStep, error: unknown): ServiceError {
  const isFailure = isServiceError(error) && error.code === pluginFailed.code
  if (isFailure && scrubText(error.message) === error.message) return error
  return pluginFailed(plugin, step, reasonOf(error), { cause: error })
}

/** What somebody has to do to the configuration before a plugin can come; undefined when that is not what it failed for. */
export function configRemedy(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const what: unknown = Reflect.get(error, 'waitsFor')
  return typeof what === 'string' ? `${what} and send SIGHUP` : configRemedy(error.cause)
}

/** Whether a plugin failed because a key of it has no value, or a wrong one, and for nothing else. */
export function isWaitingForConfig(error: unknown): boolean {
  return configRemedy(error) !== undefined
}

/** How much of a foreign message goes into a record. */
const REASON_CHARACTERS = 500

/** One line that says what went wrong, without the secrets that a log line would not have either. */
export function reasonOf(error: unknown): string {
  const text = messageOf(error)
  return scrubText(text).replaceAll(/\s+/g, ' ').trim().slice(0, REASON_CHARACTERS) || 'no reason given'
}
