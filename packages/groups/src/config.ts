/** Configuration of this plugin. */
export interface GroupsConfig {
  /** Public keys with names, `ed25519:… alice`: builds that they have signed run here. */
  readonly build_keys: readonly string[]
  /** How long a new build has to become well. A duration. */
  readonly trial: string
}
