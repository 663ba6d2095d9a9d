import { fileURLToPath } from 'node:url'
import type { Instance, Plugin } from '@steeple/contracts'
import {
  bodyOf,
  type FakeClock,
  fakeClock,
  letTimePass,
  loadTestbed,
  pluginFrom,
  type Testbed,
} from '@steeple/testkit'
import type { PeeringConfig } from '../../src/config.ts'
import type { Links } from '../../src/links.ts'
import type { Member, Members, PublishedWireguard } from '../../src/members.ts'
import { PEER_MIGRATIONS, PEERS, type PeerRow } from '../../src/peers/peer-store.ts'
import { peers } from '../../src/peers/peers.ts'
import type { Suggestion, Suggestions } from '../../src/suggestions.ts'
import { newKeyPair } from '../../src/wireguard/keys.ts'
import { type FakeLink, fakeLink } from './fake-link.ts'

/** A peer record as a test reads it. */
export interface PeerBody {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly source: string
  readonly endpoint: string | null
  readonly public_key: string
  readonly next_public_key: string | null
  readonly handshake_age_s: number | null
  readonly routes: readonly string[]
  readonly advertised: readonly string[]
  readonly approved: readonly string[]
  readonly serving: readonly string[]
  readonly reason: string | null
  readonly last_endpoint: string | null
  readonly rtt_ms: number | null
  readonly disabled: boolean
  readonly has_preshared_key: boolean
  readonly address: string | null
  readonly rx_bytes: number
}

/** The members of a mesh as a test sets them. */
export interface FakeMembers extends Members {
  set(members: readonly Member[], overlay?: ReturnType<Members['overlay']>): void
  readonly published: readonly PublishedWireguard[]
}

/** The kernel, peers on an interface in memory, and a mesh that a test makes. */
export interface PeersWorld {
  readonly bed: Testbed
  readonly clock: FakeClock
  readonly link: FakeLink
  readonly members: FakeMembers
  readonly suggested: Suggestion[]
  links(): Links
  add(body?: object): Promise<PeerBody>
  get(id: string): Promise<PeerBody>
  list(query?: string): Promise<readonly PeerBody[]>
  allow(isAllowed: boolean): Promise<void>
  /** What the component `wireguard` says. */
  health(): Promise<string>
  /** The peer's handshake is now. */
  shake(publicKey: string): void
  close(): Promise<void>
}

const MS = 1_000

/** A key that nobody has the other half of. */
export function someKey(): string {
  return newKeyPair().publicKey
}

/** A world that begins on 15 June 2026 at noon. `peering` is configuration. */
export async function peersWorld(peering: object = {}): Promise<PeersWorld> {
  const { startTestbed } = await loadTestbed()
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const stopClock = letTimePass(clock)
  const link = fakeLink(clock)
  const members = fakeMembers()
  const suggested: Suggestion[] = []
  const made: Links[] = []
  const parts: Instance[] = []
  const plugin: Plugin<PeeringConfig> = {
    migrations: PEER_MIGRATIONS,
    tables: [PEERS],
    setup: async (context) => {
      const { part, links } = await peers(context, members, suggestionsOf(suggested), {
        driver: link,
        resolver: { addressOf: async (host) => (host.endsWith('.invalid') ? undefined : host) },
      })
      made.push(links)
      parts.push(part)
      return part
    },
  }
  const inline = await pluginFrom(new URL('../peers.ts', import.meta.url).href, plugin)
  const bed = await startTestbed({
    plugins: [
      { dir: fileURLToPath(new URL('../../../policy', import.meta.url)) },
      { ...inline, manifest: { ...inline.manifest, requires: [], provides: [] } },
    ],
    clock,
    config: { peering },
  })
  return {
    bed,
    clock,
    link,
    members,
    suggested,
    links: () => {
      const [links] = made
      if (links === undefined) throw new Error('the plugin is not loaded')
      return links
    },
    add: async (body = {}) =>
      bodyOf(await bed.request('POST', '/v1/peers', { body: { ...peerBody(), ...body } }), 201),
    get: async (id) => bodyOf(await bed.request('GET', `/v1/peers/${id}`)),
    list: async (query = '') =>
      bodyOf<{ readonly peers: readonly PeerBody[] }>(await bed.request('GET', `/v1/peers${query}`)).peers,
    allow: async (isAllowed) => {
      const body = { mesh: { allow_route_advertise: isAllowed } }
      bodyOf(await bed.request('PUT', '/v1/policy', { body }))
    },
    health: async () => (await parts[0]?.health?.())?.[0]?.detail ?? '',
    shake: (publicKey) =>
      link.touch(publicKey, { handshakeAtS: Math.floor(clock.nowMs() / MS), rxBytes: 92 }),
    close: async () => {
      await bed.stop()
      await stopClock()
    },
  }
}

/** A body of `POST /v1/peers` that is in order. */
export function peerBody(): {
  name: string
  endpoint: string
  public_key: string
  routes: readonly string[]
} {
  return {
    name: 'north',
    endpoint: 'wg://192.0.2.1:51820',
    public_key: someKey(),
    routes: ['10.20.0.0/16'],
  }
}

/** A row of a peer that an operator has added. */
export function peerRow(wish: { readonly public_key: string; readonly routes: readonly string[] }): PeerRow {
  const routes = JSON.stringify(wish.routes)
  const nothing = { next_key: null, former_key: null, psk_sealed: null, address: null, node_id: null }
  return {
    ...nothing,
    ...{ id: 'p-0000000000000001', name: 'north', source: 'static', public_key: wish.public_key },
    ...{ endpoint: 'wg://192.0.2.1:51820', keepalive_s: 25, advertised: routes, approved: routes },
    ...{ fingerprint: null, removed_at_ms: null, removed_by: null, created_at_ms: 0, changed_at_ms: 0 },
  }
}

/** A member of the mesh that has published a key. */
export function member(name: string, wireguard: Partial<PublishedWireguard> = {}, octet = 2): Member {
  return {
    nodeId: `00000000-0000-4000-8000-0000000000${String(octet).padStart(2, '0')}`,
    name,
    isRoot: false,
    isSelf: false,
    overlayAddress: `100.64.0.${octet}`,
    wireguard: {
      public_key: someKey(),
      next_public_key: null,
      prepared: [],
      endpoint: `192.0.2.${octet}:51820`,
      listen_port: 51820,
      advertised: [],
      takes: [],
      ...wireguard,
    },
  }
}

function fakeMembers(): FakeMembers {
  let list: readonly Member[] = []
  let overlay: ReturnType<Members['overlay']>
  const listeners = new Set<() => void>()
  const published: PublishedWireguard[] = []
  return {
    published,
    set: (next, at) => {
      list = next
      overlay = at ?? overlay
      for (const listener of listeners) listener()
    },
    overlay: () => overlay,
    list: () => list,
    hasPutOut: () => true,
    isRevoked: () => false,
    publish: async (wireguard) => void published.push(wireguard),
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function suggestionsOf(list: readonly Suggestion[]): Suggestions {
  return {
    list: () => list,
    get: (id) => list.find((one) => one.id === id),
    confirm: async (id) => {
      const heard = list.find((one) => one.id === id)
      if (heard === undefined) throw new Error('nobody was heard')
      const wireguard = { public_key: someKey(), next_public_key: null, prepared: [], endpoint: null }
      return {
        nodeId: heard.nodeId,
        name: heard.name,
        wireguard: { ...wireguard, listen_port: 51821, advertised: ['10.77.0.0/16'], takes: [] },
      }
    },
  }
}
