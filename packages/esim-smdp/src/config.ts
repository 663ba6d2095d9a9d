/** Configuration at `esim`; see config.schema.json. Durations as written. */
export interface EsimConfig {
  readonly enabled: boolean
  /** Host name (and port) in activation codes; empty: nothing can be issued. */
  readonly smdp_address: string
  readonly single_use: boolean
  /** Folder that certificates are imported from; empty: none. */
  readonly certs_dir: string
  /** File of the profile template; empty: the bundled one. */
  readonly template: string
  /** Listener for phones, with TLS; empty: none. */
  readonly listen: string
  /** CIDR. */
  readonly behind_proxy: readonly string[]
  readonly code_expiry: string
  readonly session_life: string
  readonly max_downloads: number
  readonly max_confirmation_attempts: number
  readonly provider_name: string
  readonly es2: { readonly listen: string; readonly client_ca: string }
}
