import type { PublishedWireguard } from './members.ts'

/** A node that was heard by mDNS. Everything of it is what a stranger says, in bounds. */
export interface Suggestion {
  /** Stable over announcements: made of node id, fingerprint, address and port. */
  readonly id: string
  readonly nodeId: string
  readonly name: string
  readonly meshName: string
  /** Where its API answers. IPv4 or IPv6 literal, TCP. */
  readonly address: string
  readonly port: number
  /** SHA-256 of its certificate's DER as announced, 64 hexadecimal digits: for people to compare. */
  readonly fingerprint: string
  readonly heardAtMs: number
}

/** What a suggested node turned out to be when it was asked over TLS. */
export interface ConfirmedNode {
  readonly nodeId: string
  readonly name: string
  readonly wireguard: PublishedWireguard
}

/** Nodes heard by mDNS that are no peers yet. Kept in memory, bounded; the list of peers shows them as `suggested`. */
export interface Suggestions {
  list(): readonly Suggestion[]
  get(id: string): Suggestion | undefined
  /**
   * Asks the node itself, after an operator has accepted it: its certificate must be the announced one, below the CA of the
   * mesh that this node is in, and of that node id. Throws `peer_untrusted` (409) with the reason.
   */
  confirm(id: string, signal: AbortSignal): Promise<ConfirmedNode>
}
