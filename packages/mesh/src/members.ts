/** What a member tells the others about its WireGuard interface, as it goes over the wire and into the store. */
export interface PublishedWireguard {
  /** 32 octets, base64. */
  readonly public_key: string
  /** The key that it goes over to once the others are prepared for it. */
  readonly next_public_key: string | null
  /** Next keys of others that it is prepared for. */
  readonly prepared: readonly string[]
  /** `host:port` as configured; null: where the root sees the member come from, with `listen_port`. */
  readonly endpoint: string | null
  /** UDP port that its WireGuard listens on. */
  readonly listen_port: number
  /** CIDR; what the member offers to carry. Nobody routes them without approval. */
  readonly advertised: readonly string[]
  /** What the member routes to others now: `<node id> <CIDR>`; absent from a node of an earlier version. */
  readonly takes?: readonly string[]
}

/** A member of the mesh, as all members see it. */
export interface Member {
  readonly nodeId: string
  readonly name: string
  readonly isRoot: boolean
  readonly isSelf: boolean
  /** IPv4 of the overlay, without a prefix. */
  readonly overlayAddress: string
  /**
   * Undefined until it has published it. Its `endpoint` is here where others reach it (the root fills it in from where the
   * member's heartbeats come); undefined while nobody knows.
   */
  readonly wireguard: PublishedWireguard | undefined
}

/** The members of the mesh that this node is in: at the root from its store, elsewhere what was learnt last. */
export interface Members {
  /** This node's own address and the overlay's network (CIDR). Undefined in a mesh of one that never had a member. */
  overlay(): { readonly address: string; readonly subnet: string } | undefined
  /** All of them, this node too. Revoked ones are not in it. From memory. */
  list(): readonly Member[]
  /** Whether this mesh has put out a node that was a member: not where this node itself has left it since. */
  hasPutOut(nodeId: string): boolean
  /** Whether a certificate of the mesh is revoked, by its serial. */
  isRevoked(serial: string): boolean
  /** Tells the others; the root keeps it, and a member sends it there when it next reaches it. Durable here when it resolves. */
  publish(wireguard: PublishedWireguard): Promise<void>
  /** Calls the listener after each change of `list` or `overlay`, until the returned function is called. */
  onChange(listener: () => void): () => void
}
