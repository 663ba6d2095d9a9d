import type { Context, Vault } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import type { Suggestions } from '../suggestions.ts'
import type { LinkDriver } from '../wireguard/link-driver.ts'
import type { Board } from './board.ts'
import type { Resolver } from './endpoint.ts'
import type { OwnKey } from './own-key.ts'

/** The reconciler of the interface, and its one key. */
export const LINK_RESOURCE = 'peer_link'
export const LINK_KEY = 'link'
/** The reconciler that watches for peers that go over to another key; its keys are peers' ids. */
export const KEY_RESOURCE = 'peer_key'
/** Seconds between two packets of a link that has nothing else to send: NAT keeps its mapping, and handshakes go on. */
export const KEEPALIVE_S = 25

/** What the parts of peers share. */
export interface PeersParts {
  readonly context: Context<PeeringConfig>
  readonly members: Members
  readonly suggestions: Suggestions
  readonly vault: Vault
  readonly driver: LinkDriver
  readonly key: OwnKey
  readonly resolver: Resolver
  readonly board: Board
}

/** Asks for a look at the interface now. */
export function lookSoon({ context }: PeersParts): void {
  context.enqueue(LINK_RESOURCE, LINK_KEY, true)
}
