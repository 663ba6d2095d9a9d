/** Configuration at `sessions`. Durations as written. */
export interface SessionsConfig {
  /** Sources from the one whose octets count first; those that are not named come behind, submissions last. */
  readonly source_order: readonly string[]
  /** How long octets of an address that nobody is known to hold wait for its holder. */
  readonly unattributed_after: string
}
