import type { RadioProfile, Technology } from './policy.ts'

/** The whole configuration, validated, defaults filled in, durations still as written. Holds no secret. */
export interface Settings {
  readonly server: {
    readonly listen: string
    /** Empty: nowhere. */
    readonly plain_listen: string
    /** Addresses and networks (CIDR) of reverse proxies; empty: nobody is believed. */
    readonly trusted_proxies: readonly string[]
    readonly data_dir: string
    readonly mode: 'lab' | 'rf'
    readonly country: string
    readonly log_level: 'debug' | 'info' | 'warn' | 'error'
    readonly log_format: 'json' | 'console'
    readonly max_restore_bytes: number
  }
  readonly plmn: { readonly mcc: string; readonly mnc: string }
  readonly tac: number
  readonly apns: readonly string[]
  /** `resolvers`, or an address with a port; empty: nobody is asked. */
  readonly internet: { readonly probe: readonly string[] }
  readonly auth: {
    readonly bootstrap_token_ttl: string
    readonly admin_token_env: string
    readonly metrics_allow: readonly string[]
  }
  readonly southbound: { readonly driver: 'container' | 'systemd' | 'none' }
  readonly hss: {
    /** One of those that installed plugins name in `selected_by`. */
    readonly driver: string
    readonly mongo_url: string
    readonly engine_socket: string
  }
  readonly policy: {
    readonly local_breakout: boolean
    readonly max_ues: number
    readonly apns: readonly string[]
    /** Public keys with names, `ed25519:… alice`: licences for this box that they have signed count here. */
    readonly license_keys: readonly string[]
  }
  readonly telemetry: { readonly metrics: boolean }
  /** One of those that installed plugins name in `selected_by`. */
  readonly core: string
  readonly core_a: {
    readonly config_dir: string
    /** Where the core's daemons see `config_dir`: inside their containers another path than outside. */
    readonly config_mount: string
    /** Where the core's daemons write their logs (`mme.log`, …), as this service sees it; empty: their containers' output. */
    readonly log_dir: string
    readonly containers: Readonly<Record<string, string>>
    readonly units: Readonly<Record<string, string>>
    readonly addresses: Readonly<Record<string, string>>
    /** What phones show. */
    readonly network_name: string
    /** Empty: those of `addresses`. */
    readonly dns: readonly string[]
    readonly subnet: string
    readonly slices: readonly { readonly sst: number; readonly sd?: string }[]
    /** Home network keys of the UDM: `<data_dir>/keys/hnet-<id>.key`; scheme 1 is profile A, 2 profile B. */
    readonly hnet: readonly { readonly id: number; readonly scheme: 1 | 2 }[]
    /** Whether the service recalls phones that have lost their session, and restarts daemons that keep them so. */
    readonly mend: boolean
    /** Info APIs of the daemons; empty: those of `collector`, else by `addresses`. */
    readonly mme_url: string
    readonly smf_url: string
    readonly amf_url: string
  }
  readonly core_b: {
    readonly amf_oam_url: string
    readonly cdr_dir: string
    readonly nrf_url: string
    readonly smf_oam_url: string
    readonly config_dir: string
    readonly containers: Readonly<Record<string, string>>
    readonly units: Readonly<Record<string, string>>
    readonly addresses: Readonly<Record<string, string>>
    readonly subnet: string
    readonly slices: readonly { readonly sst: number; readonly sd?: string }[]
    /** Which release the files are for: some entries stop older ones, and newer ones need them. */
    readonly release: string
    /** Whether the rendered NRF asks every consumer for a token. */
    readonly oauth: boolean
    /** Whether a CHF is rendered. */
    readonly charging: boolean
    /** Whether the service restarts functions that the NRF has forgotten, and ends sessions that the CHF does not know. */
    readonly mend: boolean
  }
  readonly collector: {
    readonly enabled: boolean
    readonly interval: string
    readonly mme_url: string
    readonly smf_url: string
    readonly amf_url: string
    readonly upf: { readonly enabled: boolean; readonly iface: string }
  }
  readonly fairuse: {
    readonly enabled: boolean
    /** IANA name; the machine's time zone while it is empty. The ledger's hours go by it, too. */
    readonly time_zone: string
  }
  readonly ran: {
    /** One of those that installed plugins name in `selected_by`. */
    readonly driver: string
    readonly binary: string
    /** Container in which `binary` runs, created beforehand; empty: a process of this machine. */
    readonly container: string
    readonly args: readonly string[]
    readonly template_dir: string
    /** What `binary` is: srsRAN 4G's `srsenb` for LTE, or srsRAN Project's / OCUDU's `gnb` for NR. `external`: no process, a cell that runs by itself. */
    readonly program: 'srsenb' | 'gnb' | 'external'
    /** Of an external cell. */
    readonly external: {
      readonly technology: Technology
      /** IPv4 address of its S1 or NG; empty: the core cannot be closed to it. */
      readonly address: string
      /** How it is switched: the driver checks and types it. */
      readonly switch: Readonly<Record<string, unknown>>
      /** The switch turns it off by itself unless it is told so often that it be on; `0s`: it has no such timer. */
      readonly refresh: string
      /** Somebody has accepted that it stays on when this machine fails. */
      readonly stays_on: boolean
      /** How often the switch is read. */
      readonly poll: string
    }
    /** `auto`, `uhd`, `bladerf`, `soapy`, or the virtual radio `zmq`. */
    readonly device_name: string
    readonly device_args: string
    /** IPv4 literals; empty: the address of that role in `core_a.addresses`. */
    readonly mme_addr: string
    readonly amf_addr: string
    /** Own IPv4 address toward MME or AMF. */
    readonly bind_addr: string
    /** Own IPv4 address for user data; empty: `bind_addr`. */
    readonly gtp_bind_addr: string
    /** What the core is told instead of `gtp_bind_addr`, behind a NAT. */
    readonly gtp_advertise_addr: string
    readonly enb_id: number
    readonly gnb_id: number
    readonly cell_id: number
    readonly pci: number
    /** Sub-carrier spacing of an NR cell. */
    readonly scs_khz: 15 | 30
    /** Loopback port of the gnb's own metrics server. */
    readonly remote_control_port: number
    /** A radio goes off when the service has not shown for so long that it is alive. */
    readonly lease: string
    /** The profile that a virtual radio runs without an armed TX gate, in mode `lab` only. */
    readonly virtual_profile: string
    readonly profiles: Readonly<Record<string, RadioProfile>>
  }
  readonly store: { readonly url: string }
  readonly cluster: {
    /** The name of this instance; empty for one that has the store to itself. */
    readonly instance: string
    /** The instance that has the radio and the core. */
    readonly machine: string
  }
  readonly plugins: {
    readonly dir: string
    readonly disabled: readonly string[]
    /** Whose signed plugins are loaded: `ed25519:…` and a name. */
    readonly trust: readonly string[]
    readonly allow_unsigned: boolean
  }
  readonly tls: {
    readonly enabled: boolean
    readonly min_version: 'TLSv1.3' | 'TLSv1.2'
    /** Both or neither; empty: the node's own. */
    readonly cert_file: string
    readonly key_file: string
  }
}

/** The keys of the configuration that hold further keys. */
type SectionKey = {
  [Key in keyof Settings]: Settings[Key] extends readonly unknown[] | string | number ? never : Key
}[keyof Settings]

/**
 * A section of the configuration that belongs to another plugin, as far as it is there: a build that lacks the plugin has none of
 * its keys, and where two plugins share a section it has those of one.
 */
export function sectionOf<Key extends SectionKey>(settings: Settings, key: Key): Partial<Settings[Key]> {
  // The type has all sections, as a build with every plugin does.
  return (settings[key] as Settings[Key] | undefined) ?? {}
}

/** One threshold rule: `metric op threshold` holding for `for` raises an alert. */
export interface AlertRule {
  readonly name: string
  readonly metric: string
  readonly op: '>' | '>=' | '<' | '<=' | '==' | '!='
  readonly threshold: number
  readonly for: string
  readonly severity: 'info' | 'warning' | 'critical'
}
