/** Configuration at `sample_plugin`; `config.schema.json` says what is allowed, and the defaults. */
export interface SamplePluginConfig {
  /** How many notes there may be at once. */
  readonly max_notes: number
}
