/** Configuration at `sample_plugin`; `config.schema.json` says what is allowed, and the defaults. */
export interface SamplePluginConfig {
  /** File in which the core keeps its counters; nothing is collected while it is empty. */
  readonly usage_file: string
}
