import type { KernelRoute } from '@steeple/contracts'
import { cidrText, contains, isDefault, overlaps, parseCidr } from '../peers/cidr.ts'

/** What decides how phones get out. */
export interface Surroundings {
  /** Whether this box drives the core: `southbound.driver` is not `none`. */
  readonly isDriven: boolean
  /** `policy.local_breakout`. */
  readonly isLocal: boolean
  /** CIDR; as the core driver has them. */
  readonly pools: readonly string[]
  readonly routes: readonly KernelRoute[]
  /** The WireGuard interface while it is up. */
  readonly device: string | undefined
  /** CIDR of the overlay; undefined without a mesh. */
  readonly overlay: string | undefined
  /** Whether the default route of an active peer was approved. */
  readonly hasWayOut: boolean
  /** CIDR; what this node carries for others. */
  readonly offered: readonly string[]
  /** As of `Links.direct`. */
  readonly direct: (pools: readonly string[]) => readonly string[]
  /** Whether the kernel passes packets on now, for whomever. */
  readonly isForwarding: boolean
}

/** What the kernel is to do. */
export interface Wanted {
  readonly mode: 'local' | 'peer' | 'off'
  /** Why it is not what was asked for; undefined when it is. */
  readonly reason: string | undefined
  /** The table of nftables; undefined when there is to be none. */
  readonly table: TableWanted | undefined
  /** Whether it is to pass packets on. */
  readonly isForwarding: boolean
  /** IPv4 pools whose default route is the mesh. */
  readonly viaPeer: readonly string[]
}

/** The rules of the table `inet svc_breakout`. */
export interface TableWanted {
  /** Pools whose addresses are translated where they leave this box: all that are here, of both versions. */
  readonly pools4: readonly string[]
  readonly pools6: readonly string[]
  /** Whether they are so where they leave by another interface than the mesh's. */
  readonly isLocal: boolean
  readonly mesh:
    | {
        readonly device: string
        readonly overlay: string
        /** What members may reach through this box. Empty: nothing. */
        readonly offered: readonly string[]
        /** Networks of members that phones of this box reach under their own addresses. */
        readonly direct: readonly string[]
      }
    | undefined
}

/**
 * What is to be so. Only pools that the kernel has a route to count: the core's user plane is on this machine then. A way
 * out of this box is preferred to a peer's; `policy.local_breakout` says whether it may be used.
 * The way out of a core that this box does not drive is for its operator to keep; `policy.local_breakout: false` asks for a peer's.
 */
export function wantedOf(around: Surroundings): Wanted {
  const { isLocal, routes, device } = around
  const isOurs = around.isDriven || !isLocal
  const pools = isOurs ? outermost(here(around.pools, routes, device)) : []
  const pools4 = pools.filter(is4)
  const mesh = meshOf(around, pools4)
  const hasUplink = routes.some((route) => isDefault(route.network) && route.device !== device)
  const canPeer = around.hasWayOut && mesh !== undefined && pools4.length > 0
  const mode = modeOf(isLocal && hasUplink && pools.length > 0, canPeer)
  const isCarrying = mesh !== undefined && (pools.length > 0 || mesh.offered.length > 0)
  const isForwarding = isCarrying || (isLocal && pools.length > 0)
  // Where packets are passed on for another reason, members of the mesh get through by offers alone all the same.
  const isNeeded = isForwarding || (mesh !== undefined && around.isForwarding)
  const isAsAsked = mode === (isLocal ? 'local' : 'peer')
  return {
    mode,
    reason: isAsAsked ? undefined : reasonOf(around, pools, hasUplink),
    table: isNeeded ? { pools4, pools6: pools.filter((pool) => !is4(pool)), isLocal, mesh } : undefined,
    isForwarding,
    viaPeer: mode === 'peer' ? pools4 : [],
  }
}

function modeOf(canLocal: boolean, canPeer: boolean): Wanted['mode'] {
  if (canLocal) return 'local'
  return canPeer ? 'peer' : 'off'
}

function meshOf(
  { device, overlay, offered, direct }: Surroundings,
  pools4: readonly string[],
): TableWanted['mesh'] {
  if (device === undefined || overlay === undefined) return undefined
  const through = pools4.length === 0 ? [] : direct(pools4).filter(is4)
  return { device, overlay, offered: outermost(offered.filter(is4)), direct: outermost(through) }
}

/** Those that the kernel routes to somewhere on this machine or beside it, not to a peer and not by a default route. */
function here(
  pools: readonly string[],
  routes: readonly KernelRoute[],
  device: string | undefined,
): readonly string[] {
  return pools.filter((text) => {
    const pool = parseCidr(text)
    return (
      pool !== undefined &&
      routes.some(
        (route) => route.device !== device && !isDefault(route.network) && overlaps(route.network, pool),
      )
    )
  })
}

/** Without those that lie in another: a set of nftables takes no overlap. */
function outermost(networks: readonly string[]): readonly string[] {
  const parsed = networks.flatMap((text) => parseCidr(text) ?? [])
  const outer = parsed.filter(
    (one, index) =>
      !parsed.some(
        (other, at) => at !== index && contains(other, one) && (at < index || !contains(one, other)),
      ),
  )
  return outer.map(cidrText).toSorted()
}

function reasonOf(around: Surroundings, pools: readonly string[], hasUplink: boolean): string {
  if (!around.isDriven && around.isLocal) {
    return 'southbound.driver is none: this box does not drive the core, and translates and forwards nothing for it'
  }
  if (around.pools.length === 0) return 'no core driver tells the addresses of phones'
  if (pools.length === 0) {
    return `this machine has no route to ${around.pools.join(', ')}: the core's user plane is not here, or not up`
  }
  if (!around.isLocal)
    return 'policy.local_breakout is false and no active peer has an approved default route'
  if (!hasUplink && around.hasWayOut) return 'this machine has no default route of its own'
  return 'this machine has no default route, and no active peer has an approved one'
}

function is4(cidr: string): boolean {
  return !cidr.includes(':')
}
