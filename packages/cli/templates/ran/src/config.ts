/** Configuration at `sample_plugin`; `config.schema.json` says what is allowed, and the defaults. */
export interface SamplePluginConfig {
  /** Program and arguments of the radio process; a stand-in that emits nothing when empty. */
  readonly command: readonly string[]
}
