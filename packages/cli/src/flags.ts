/** The command-line flags of the service. Absent ones are left to environment, file and defaults, in that order. */
export interface ServiceFlags {
  /** Path of the YAML configuration; `/etc/svc/control.yaml` when absent. */
  readonly config?: string
  /** Data and keys directory. */
  readonly dataDir?: string
  /** `host:port` or `:port`. */
  readonly listen?: string
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error'
  /** Makes the node and a credential when there is none yet, and says how to use them. */
  readonly firstStart?: boolean
  /** Leaves installed plugins alone. */
  readonly safeMode?: boolean
}

/** What `serve` gets: the parsed flags and the raw arguments they came from. */
export interface ServeOptions {
  readonly flags: ServiceFlags
  readonly argv: readonly string[]
}
