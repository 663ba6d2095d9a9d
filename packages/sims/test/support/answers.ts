/** A SIM record as a test reads it. */
export interface SimBody {
  readonly imsi_sha256_12: string
  readonly state: string
  readonly profile: string
  readonly apns: readonly string[]
  readonly ambr: { readonly uplink_bps: number; readonly downlink_bps: number }
  readonly expires_at: string
  readonly suspend_reason: string | null
  readonly batch_id: string
  readonly label: string | null
  readonly replaces: string | null
  readonly attached: boolean | null
  readonly detached?: string
  readonly provisioning: {
    readonly status: string
    readonly driver: string
    readonly last_error: string | null
    readonly waits_for: string | null
    readonly synced_at: string | null
  }
}

export interface IssueAnswer {
  readonly issued: number
  readonly output_dir: string
  readonly batch_id: string
  readonly first: { readonly imsi_sha256_12: string; readonly expires_at: string }
  readonly sims: readonly SimBody[]
}
