import { readFile } from 'node:fs/promises'
import { type Clock, southboundUnavailable } from '@steeple/contracts'
import type { SeenPeer } from '../../src/wireguard/dump.ts'
import { pskDigest, publicKeyOf } from '../../src/wireguard/keys.ts'
import type { LinkDriver, PeerChange, SeenLink } from '../../src/wireguard/link-driver.ts'

/** A WireGuard interface in memory, and what a test does to it. */
export interface FakeLink extends LinkDriver {
  /** Undefined while there is no interface. */
  link: SeenLink | undefined
  /** What stands in the way of everything. */
  problem: string | undefined
  peer(publicKey: string): SeenPeer | undefined
  /** Changes what the interface says of a peer. */
  touch(publicKey: string, facts: Partial<SeenPeer>): void
  /** Somebody takes a peer away. */
  lose(publicKey: string): void
  /** Monotonic ms of each look at it. */
  readonly looksMs: number[]
  /** Monotonic ms at which a route was taken away last. */
  withdrawnAtMs: number | undefined
  /** Addresses from which no echo comes back. */
  readonly silent: Set<string>
  /** Addresses that were asked for an echo. */
  readonly echoes: string[]
  /** Somebody else adds a peer. */
  intrude(peer: SeenPeer): void
}

const EMPTY: SeenLink = {
  owner: 'new',
  isUp: false,
  addresses: [],
  wireguard: { publicKey: undefined, listenPort: 0, peers: [] },
  routes: [],
}

/** A peer of an interface that has not been heard of, with no networks. */
export function unheardPeer(publicKey: string): SeenPeer {
  return {
    publicKey,
    pskSha256: undefined,
    endpoint: undefined,
    allowedIps: [],
    handshakeAtS: undefined,
    rxBytes: 0,
    txBytes: 0,
    keepaliveS: undefined,
  }
}

/** None at first. */
export function fakeLink(clock: Clock): FakeLink {
  let link: SeenLink | undefined
  const usable = (): void => {
    if (fake.problem !== undefined) throw southboundUnavailable(fake.problem)
  }
  const handshakeState = (): SeenLink => {
    usable()
    if (link === undefined) throw southboundUnavailable('there is no interface')
    return link
  }
  const setWireguard = (facts: Partial<SeenLink['wireguard']>): void => {
    const now = handshakeState()
    link = { ...now, wireguard: { ...now.wireguard, ...facts } }
  }
  const peersNow = (): readonly SeenPeer[] => handshakeState().wireguard.peers
  const fake: FakeLink = {
    problem: undefined,
    looksMs: [],
    withdrawnAtMs: undefined,
    silent: new Set(),
    echoes: [],
    get link() {
      return link
    },
    set link(next) {
      link = next
    },
    peer: (publicKey) => link?.wireguard.peers.find((one) => one.publicKey === publicKey),
    touch: (publicKey, facts) =>
      setWireguard({
        peers: peersNow().map((one) => (one.publicKey === publicKey ? { ...one, ...facts } : one)),
      }),
    lose: (publicKey) => setWireguard({ peers: peersNow().filter((one) => one.publicKey !== publicKey) }),
    intrude: (peer) => setWireguard({ peers: [...peersNow(), peer] }),
    exists: () => link !== undefined,
    observe: async () => {
      fake.looksMs.push(clock.monotonicMs())
      usable()
      return link
    },
    peek: async () => link?.wireguard,
    create: async () => {
      usable()
      link = { ...(link ?? EMPTY), owner: 'own' }
    },
    setKey: async (file, listenPort) =>
      setWireguard({ publicKey: publicKeyOf((await readFile(file, 'utf8')).trim()), listenPort }),
    setPeers: async (changes, removed) => {
      const peers = changes.reduce(withChange, peersNow())
      setWireguard({ peers: peers.filter(({ publicKey }) => !removed.includes(publicKey)) })
    },
    setAddress: async (address) => {
      link = { ...handshakeState(), addresses: address === undefined ? [] : [`${address}/32`], isUp: true }
    },
    addRoutes: async (networks) => {
      link = { ...handshakeState(), routes: [...new Set([...handshakeState().routes, ...networks])] }
    },
    removeRoutes: async (networks) => {
      fake.withdrawnAtMs = clock.monotonicMs()
      link = {
        ...handshakeState(),
        routes: handshakeState().routes.filter((cidr) => !networks.includes(cidr)),
      }
    },
    remove: async () => {
      link = undefined
    },
    ping: async (address) => {
      fake.echoes.push(address)
      return fake.silent.has(address) ? undefined : 12.5
    },
  }
  return fake
}

/** As WireGuard does: a network belongs to the peer that it was given to last. */
function withChange(peers: readonly SeenPeer[], change: PeerChange): readonly SeenPeer[] {
  const others = peers
    .filter(({ publicKey }) => publicKey !== change.publicKey)
    .map((one) => ({
      ...one,
      allowedIps: one.allowedIps.filter((cidr) => !change.allowedIps.includes(cidr)),
    }))
  const present = peers.find(({ publicKey }) => publicKey === change.publicKey)
  const before = change.isAnew === true ? undefined : present
  const psk = change.presharedKey
  const keptSha256 = psk === undefined ? before?.pskSha256 : undefined
  return [
    ...others,
    {
      publicKey: change.publicKey,
      pskSha256: typeof psk === 'string' ? pskDigest(psk) : keptSha256,
      endpoint: change.endpoint ?? before?.endpoint,
      allowedIps: change.allowedIps,
      handshakeAtS: before?.handshakeAtS,
      rxBytes: before?.rxBytes ?? 0,
      txBytes: before?.txBytes ?? 0,
      keepaliveS: change.keepaliveS === 0 ? undefined : change.keepaliveS,
    },
  ]
}
