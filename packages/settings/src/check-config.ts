import { isServiceError } from '@steeple/contracts'
import { lineOf } from './config-error.ts'
import { type ConfigOptions, loadConfig } from './load-config.ts'

/** What `svc config check` prints. */
export interface ConfigReport {
  readonly isValid: boolean
  /** One line per problem, else `ok`; then one per warning. */
  readonly lines: readonly string[]
}

/** Loads a configuration and reports instead of throwing; what is wrong with keys of installed plugins too. */
export function checkConfig(options: ConfigOptions): ConfigReport {
  try {
    const { warnings, sections, problemsOf } = loadConfig(options)
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) => problemsOf(plugin)).map(lineOf)
    const odd = warnings.map((warning) => `warning: ${warning}`)
    return { isValid: wrong.length === 0, lines: [...(wrong.length === 0 ? ['ok'] : wrong), ...odd] }
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'config_invalid') throw error
    return { isValid: false, lines: error.message.split('\n') }
  }
}
