/** Configuration at `fairuse`. Durations as written. */
export interface FairUseConfig {
  /** Whether SIMs over their quota are suspended by themselves. */
  readonly enabled: boolean
  /** How often usage is compared with quotas, beside each time that some is counted. */
  readonly usage_interval: string
  /** IANA name; the machine's time zone while it is empty. */
  readonly time_zone: string
  /** Rate that action `throttle` leaves to a SIM whose quota does not say, bit/s. */
  readonly throttle_bps: number
  /** What becomes of a session that runs with other rates. */
  readonly throttle_reach: 'kick' | 'wait'
}
