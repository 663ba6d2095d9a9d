/** Radio access technology of a carrier. */
export type Technology = 'lte' | 'nr'

/** One entry of `spectrum.allow_list`: carriers whose edges lie inside it may be emitted in that country. */
export interface AllowListEntry {
  readonly technology: Technology
  /** `b3`, `n78`. */
  readonly band: string
  /** Edges of the licensed downlink block in MHz; the edge of the band when neither this nor the channel is there. */
  readonly low_mhz?: number
  readonly high_mhz?: number
  /** First and last channel (EARFCN or NR-ARFCN, downlink numbers), for an edge without MHz. */
  readonly earfcn_min?: number
  readonly earfcn_max?: number
  readonly max_eirp_dbm?: number
  /** ISO 3166-1 alpha-2. */
  readonly country: string
}

/** The legal basis as acknowledged by an operator. Times are RFC 3339 UTC. */
export interface SpectrumLicense {
  readonly acknowledged: boolean
  readonly reference: string | null
  readonly holder: string | null
  readonly expires_at: string | null
  readonly acknowledged_by: string | null
  readonly acknowledged_at: string | null
}

/** The policy bundle: the specification's fields and the additive ones of contract section 5. */
export interface PolicyBundle {
  readonly retention_days: { readonly sessions: number; readonly audit: number; readonly metrics: number }
  readonly rate_limits: {
    readonly sim_issue_per_hour: number
    readonly sim_revoke_per_hour: number
    readonly sim_import_rows_per_hour: number
    readonly spectrum_check_per_hour: number
    readonly tx_arm_per_hour: number
  }
  readonly sim_swap_cooldown_hours: number
  readonly mesh: { readonly allow_route_advertise: boolean }
  readonly apns: readonly string[]
  readonly spectrum: { readonly allow_list: readonly AllowListEntry[]; readonly license: SpectrumLicense }
  readonly revision: number
  readonly updated_at: string
}

/** The names of the limits; `policy.rate_limits.<name>_per_hour` holds the number. */
export type RateLimitName = 'sim_issue' | 'sim_revoke' | 'sim_import_rows' | 'spectrum_check' | 'tx_arm'

/** Limits per hour and principal while no policy says otherwise. Specification, Limits. */
export const DEFAULT_RATE_LIMITS: Readonly<Record<RateLimitName, number>> = {
  sim_issue: 500,
  sim_revoke: 200,
  sim_import_rows: 200_000,
  spectrum_check: 300,
  tx_arm: 60,
}

/** A configured radio profile. Power is what the antenna radiates. */
export interface RadioProfile {
  readonly technology: Technology
  /** Downlink EARFCN or NR-ARFCN. */
  readonly channel: number
  readonly band?: string
  readonly bandwidth_mhz: number
  readonly eirp_dbm?: number
  /** Gain handed to the radio, dB. */
  readonly tx_gain_db?: number
  readonly rx_gain_db?: number
}
