import { isServiceError, type Settings } from '@steeple/contracts'
import { lineOf } from './config-error.ts'
import { type ConfigOptions, loadConfig } from './load-config.ts'

/** What `svc config check` prints. */
export interface ConfigReport {
  readonly isValid: boolean
  /** One line per problem, else `ok`; then one per warning. */
  readonly lines: readonly string[]
  /** Of a configuration that could be read: the network that it makes. */
  readonly network?: Pick<Settings, 'plmn' | 'tac'>
}

/** Loads a configuration and reports instead of throwing; what is wrong with keys of installed plugins too. */
export function checkConfig(options: ConfigOptions): ConfigReport {
  try {
    const { settings, warnings, sections, problemsOf } = loadConfig(options)
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) => problemsOf(plugin)).map(lineOf)
    const odd = warnings.map((warning) => `warning: ${warning}`)
    const lines = [...(wrong.length === 0 ? ['ok'] : wrong), ...odd]
    return { isValid: wrong.length === 0, lines, network: { plmn: settings.plmn, tac: settings.tac } }
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'config_invalid') throw error
    return { isValid: false, lines: error.message.split('\n') }
  }
}
