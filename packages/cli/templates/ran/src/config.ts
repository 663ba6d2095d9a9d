import { type JsonSchema, objectSchema } from '@steeple/contracts'

/** Configuration at `sample_plugin`. */
export interface SamplePluginConfig {
  /** Program and arguments of the radio process; a stand-in that emits nothing when empty. */
  readonly command: readonly string[]
}

/** Schema of the configuration; `x-apply` says when a change takes effect. */
export const samplePluginConfig: JsonSchema = objectSchema(
  {
    command: { type: 'array', items: { type: 'string', minLength: 1 }, default: [], 'x-apply': 'reload' },
  },
  [],
  { default: {} },
)
