import type { Clock, Context, Vault } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import { type Changes, createChanges } from '../enroll/changes.ts'
import type { Members } from '../members.ts'
import type { Suggestions } from '../suggestions.ts'
import type { LinkDriver } from '../wireguard/link-driver.ts'
import type { Resolver } from './endpoint.ts'
import type { RefusedMember } from './follow-members.ts'
import { type HandshakeStates, handshakeStates } from './handshake-state.ts'
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

/** What was last seen of the interface and its peers. In memory: a start sees it again. */
export interface Board {
  readonly handshakeStates: HandshakeStates
  /** Why links cannot be made; undefined while they can. */
  problem: string | undefined
  /** The interface is up. */
  isUp: boolean
  /** Peers' ids and the networks that are routed to them. */
  serving: ReadonlyMap<string, readonly string[]>
  /** Names of peers by id. */
  names: ReadonlyMap<string, string>
  /** Ids of members by those of their peers. */
  nodes: ReadonlyMap<string, string>
  /** Ids of active peers. */
  active: ReadonlySet<string>
  /** Members that are no peers because something of them does not fit. */
  refused: readonly RefusedMember[]
  /** Public keys of peers on the interface that this service did not make. */
  foreign: readonly string[]
  /** Hosts of endpoints that have no address now. */
  unresolved: ReadonlySet<string>
  /** Next keys of peers that the interface is prepared for. */
  prepared: readonly string[]
  /** Public key and next key of this node. */
  ownKeys: { readonly present: string; readonly next: string | undefined } | undefined
  /** What the members were told last, as JSON. */
  published: string | undefined
  /** Milliseconds of the last echo, by peer's id. */
  readonly rtt: Map<string, number>
  readonly changes: Changes
}

export function createBoard(clock: Clock): Board {
  return {
    handshakeStates: handshakeStates(clock),
    problem: undefined,
    isUp: false,
    serving: new Map(),
    names: new Map(),
    nodes: new Map(),
    active: new Set(),
    refused: [],
    foreign: [],
    unresolved: new Set(),
    prepared: [],
    ownKeys: undefined,
    published: undefined,
    rtt: new Map(),
    changes: createChanges(),
  }
}
