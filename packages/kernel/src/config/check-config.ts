import { isServiceError } from '@steeple/contracts'
import { type ConfigOptions, loadConfig } from './load-config.ts'

/** What `svc config check` prints. */
export interface ConfigReport {
  readonly isValid: boolean
  /** One line per problem, else `ok`; then one per warning. */
  readonly lines: readonly string[]
}

/** Loads a configuration and reports instead of throwing. */
export function checkConfig(options: ConfigOptions): ConfigReport {
  try {
    const { warnings } = loadConfig(options)
    return { isValid: true, lines: ['ok', ...warnings.map((warning) => `warning: ${warning}`)] }
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'config_invalid') throw error
    return { isValid: false, lines: error.message.split('\n') }
  }
}
