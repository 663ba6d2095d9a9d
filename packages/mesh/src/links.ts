/** What the links to other boxes carry now, as breakout and the lifecycle need it. From memory, as last observed. */
export interface Links {
  /** As `Peering.carries`. */
  carries(nodeId: string, address: string): Promise<boolean>
  /** The WireGuard interface while it is up. */
  device(): string | undefined
  /** Peers whose last handshake is young enough: those in state `active`. */
  active(): number
  /** Whether a route of an active peer is serving. */
  hasRoutes(): boolean
  /**
   * The active peer whose default route was approved: its allowed-ips hold 0.0.0.0/0. The links put no default route into
   * any table of the kernel; breakout sends the phones, and nothing else, that way.
   */
  wayOut(): { readonly peerId: string; readonly name: string } | undefined
  /** CIDR; what this node itself offers to carry for the others. */
  offered(): readonly string[]
  /**
   * CIDR; networks of active members whose boxes take packets from all of these pools (CIDR) of this one as they are: no address
   * needs to be translated on the way there.
   */
  direct(pools: readonly string[]): readonly string[]
  /** Calls the listener after each change of the above, until the returned function is called. */
  onChange(listener: () => void): () => void
}
