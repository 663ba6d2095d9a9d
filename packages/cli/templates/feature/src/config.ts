import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** Configuration at `sample_plugin`. */
export interface SamplePluginConfig {
  /** How many notes there may be at once. */
  readonly max_notes: number
}

/** Schema of the configuration; `x-env` is the variable that overrides a key, `x-apply` when a change takes effect. */
export const samplePluginConfig: JsonSchema = objectSchema(
  {
    max_notes: {
      type: 'integer',
      minimum: 1,
      maximum: 100_000,
      default: 1000,
      'x-env': { name: 'SVC_SAMPLE_PLUGIN_MAX_NOTES' },
      'x-apply': 'reload',
    },
  },
  [],
  { default: {} },
)
