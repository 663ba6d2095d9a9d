import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** Configuration at `sample_plugin`. */
export interface SamplePluginConfig {
  /** Folder of the core's configuration; `<data_dir>/sample-plugin` when empty. */
  readonly config_dir: string
  /** Program and arguments that make the core read its files again; none when empty. */
  readonly reload_command: readonly string[]
}

/** Schema of the configuration; `x-env` is the variable that overrides a key, `x-apply` when a change takes effect. */
export const samplePluginConfig: JsonSchema = objectSchema(
  {
    config_dir: {
      type: 'string',
      default: '',
      'x-env': { name: 'SVC_SAMPLE_PLUGIN_CONFIG_DIR' },
      'x-apply': 'reload',
    },
    reload_command: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      default: [],
      'x-apply': 'reload',
    },
  },
  [],
  { default: {} },
)
