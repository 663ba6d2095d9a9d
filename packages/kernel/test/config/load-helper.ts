import { type ConfigOptions, type LoadedConfig, loadConfig } from '../../src/config/load-config.ts'

/** A machine whose surroundings are known. */
export const SURROUNDINGS: NonNullable<ConfigOptions['surroundings']> = {
  interfaces: () => ['lo', 'eth0'],
  hasNodeKeys: (dataDir) => dataDir === '/with/keys',
  metrics: ['svc_sessions_active', 'svc_sim_state'],
}

/** Loads a file of this text, named `control.yaml`. */
export function load(text: string, more: Partial<ConfigOptions> = {}): LoadedConfig {
  return loadConfig({
    file: 'control.yaml',
    readFile: () => text,
    env: {},
    surroundings: SURROUNDINGS,
    ...more,
  })
}

/** The lines that refuse this text; empty when it is accepted. Any other error is thrown on. */
export function problems(text: string, more: Partial<ConfigOptions> = {}): readonly string[] {
  try {
    load(text, more)
    return []
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'config_invalid') throw error
    return (error as Error).message.split('\n')
  }
}
