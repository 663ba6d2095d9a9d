import type { SeenInterface } from './dump.ts'

/** What is to be set of one peer of the interface. */
export interface PeerChange {
  readonly publicKey: string
  /** Base64; null takes it away, undefined leaves it. */
  readonly presharedKey?: string | null
  /** `host:port` with an address; undefined leaves it. */
  readonly endpoint?: string
  /** 0: off. */
  readonly keepaliveS: number
  /** CIDR; all of them. What another peer had of them moves here. */
  readonly allowedIps: readonly string[]
  /** Forget it first: its handshakes begin anew. */
  readonly isAnew?: boolean
}

/** The interface and what this service has put around it. */
export interface SeenLink {
  /** `own`: made by this node; `new`: nobody has set it up yet; `foreign`: somebody else's. */
  readonly owner: 'own' | 'new' | 'foreign'
  readonly isUp: boolean
  /** With prefix: `100.64.0.1/32`. */
  readonly addresses: readonly string[]
  readonly wireguard: SeenInterface
  /** CIDR of the routes into it that have the protocol number of this service. */
  readonly routes: readonly string[]
}

/**
 * One WireGuard interface of this machine, whichever implementation is behind it. Every step is idempotent and throws
 * `southbound_unavailable` with what is in the way.
 */
export interface LinkDriver {
  /** Whether an interface of that name is there; starts no program. */
  exists(): boolean
  /** Undefined when there is no such interface. Changes nothing. */
  observe(signal: AbortSignal): Promise<SeenLink | undefined>
  /** What WireGuard alone says of the interface; undefined when it cannot be read. Changes nothing. */
  peek(signal: AbortSignal): Promise<SeenInterface | undefined>
  /** Makes it where there is none, by the kernel or else in userspace, and marks it as this node's. */
  create(signal: AbortSignal): Promise<void>
  /** The private key is the one in that file. */
  setKey(file: string, listenPort: number, signal: AbortSignal): Promise<void>
  /** Sets peers first and then removes those; one that hands its networks over to another one loses no packet. */
  setPeers(changes: readonly PeerChange[], removed: readonly string[], signal: AbortSignal): Promise<void>
  /** The interface is up with this address alone; without any when undefined. */
  setAddress(address: string | undefined, seen: readonly string[], signal: AbortSignal): Promise<void>
  /** Routes those networks into the interface; this machine's own packets there come `from` that address. */
  addRoutes(networks: readonly string[], from: string | undefined, signal: AbortSignal): Promise<void>
  removeRoutes(networks: readonly string[], signal: AbortSignal): Promise<void>
  /** Takes the interface away; its routes and peers go with it. */
  remove(signal: AbortSignal): Promise<void>
  /** Milliseconds that one echo took through the interface; undefined when none came back within a second. */
  ping(address: string, signal: AbortSignal): Promise<number | undefined>
}
