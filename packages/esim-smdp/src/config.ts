import type { Settings } from '@steeple/contracts'

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
  /** Files for SIMs of some profiles, by the profile's name. */
  readonly templates?: readonly { readonly profile: string; readonly file: string }[]
  /** Listener for phones, with TLS; empty: none. */
  readonly listen: string
  /** CIDR. */
  readonly behind_proxy: readonly string[]
  readonly code_expiry: string
  readonly session_life: string
  readonly max_downloads: number
  readonly max_confirmation_attempts: number
  readonly provider_name: string
  readonly es2: Es2Config
  /** What providers tell comes in here. */
  readonly notifications: {
    /** Listener with mutual TLS; empty: none. */
    readonly listen: string
    /** File (PEM). */
    readonly client_ca: string
  }
}

/** What the plugin works by: a lab serves programs that come over loopback, unless it is told where phones reach it. */
export function configInForce(written: EsimConfig, { server }: Pick<Settings, 'server'>): EsimConfig {
  if (written.smdp_address !== '' || server.mode !== 'lab') return written
  return { ...written, smdp_address: loopbackOf(server.listen) }
}

/** A port that the system chooses stands in no code. */
function loopbackOf(listen: string): string {
  const port = Number(/:(\d+)$/.exec(listen)?.[1] ?? 0)
  return port === 0 ? '127.0.0.1' : `127.0.0.1:${port}`
}

/** Configuration at `esim.es2`. */
interface Es2Config {
  /** Listener for order systems, with mutual TLS; empty: none. */
  readonly listen: string
  /** File (PEM). */
  readonly client_ca: string
  readonly profile_types: readonly string[]
  readonly max_orders_per_hour: number
  /** Empty: nobody is told. */
  readonly notify_url: string
  /** Files (PEM); empty: the machine's, none. `notify_key` is a secret. */
  readonly notify_ca: string
  readonly notify_cert: string
}
