/** Routes of members that are approved by themselves. */
export interface ApproveRule {
  /** Name of a box, or how names begin: `village-*`. */
  readonly boxes: string
  /** CIDR that the routes lie in. */
  readonly within: string
}

/** Configuration at `peering`; see config.schema.json. Durations as written. */
export interface PeeringConfig {
  readonly enabled: boolean
  readonly mdns: boolean
  /** IPv4 CIDR of the overlay: at the root what it gives addresses of, at a member what it takes them of. */
  readonly subnet: string
  /** Name of the WireGuard interface. */
  readonly interface: string
  /** UDP. */
  readonly listen_port: number
  /** `host:port` where others reach WireGuard; empty: what the root sees. */
  readonly endpoint: string
  /** CIDR that this node offers to carry. */
  readonly advertise: readonly string[]
  readonly approve: readonly ApproveRule[]
  /** Name of the mesh whose root this node is; empty: the node's own name. */
  readonly name: string
  /** `https://host:port` without a path; empty: guessed. */
  readonly url: string
  readonly heartbeat: string
  /** Whether the root may search the SIMs of this box. */
  readonly answer_searches: boolean
  /** Octets that the way out may carry in a month; 0: nothing is said. */
  readonly backhaul_cap_bytes: number
}
