import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** Configuration at `sample_plugin`. */
export interface SamplePluginConfig {
  /** File in which the core keeps its counters; nothing is collected while it is empty. */
  readonly usage_file: string
}

/** Schema of the configuration; `x-env` is the variable that overrides a key, `x-apply` when a change takes effect. */
export const samplePluginConfig: JsonSchema = objectSchema(
  {
    usage_file: {
      type: 'string',
      default: '',
      'x-env': { name: 'SVC_SAMPLE_PLUGIN_USAGE_FILE' },
      'x-apply': 'reload',
    },
  },
  [],
  { default: {} },
)
