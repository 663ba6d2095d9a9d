/** Configuration at `sample_plugin`; `config.schema.json` says what is allowed, and the defaults. */
export interface SamplePluginConfig {
  /** Folder of the core's configuration; `<data_dir>/sample-plugin` when empty. */
  readonly config_dir: string
  /** Program and arguments that make the core read its files again; none when empty. */
  readonly reload_command: readonly string[]
}
