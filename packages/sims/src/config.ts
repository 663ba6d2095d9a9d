/** Configuration at `sims`. Durations as written. */
export interface SimsConfig {
  /** How long a SIM lives unless it is said otherwise. */
  readonly default_expiry: string
  /** How often every subscriber in the HSS is compared with what it should be. */
  readonly drift_interval: string
  /** How often the core is asked who is attached. */
  readonly attach_interval: string
  /** SIMs that this node keeps, revoked ones included. */
  readonly max_sims: number
  /** Aggregate maximum bit rate of a SIM unless it is said otherwise, bit/s. */
  readonly default_downlink_bps: number
  readonly default_uplink_bps: number
  /** File with the operator's OP, 32 hex digits; a random OP for each SIM while it is empty. */
  readonly op_file: string
}

/** The largest AMBR that a subscriber can have: TS 29.272 §7.3.41, extended bandwidth, 4 Tbit/s in practice. */
export const MAX_BPS = 4_000_000_000_000
