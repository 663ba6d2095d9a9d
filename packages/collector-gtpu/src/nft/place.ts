import { hexOfIpv4, hexOfIpv6 } from '../packet/address.ts'

/** What the rules of a tap are made for. */
export interface TapPlace {
  /** Name of the table; one for each service of a machine. */
  readonly table: string
  readonly iface: string
  /** Addresses at which the core takes GTP-U. */
  readonly v4: readonly string[]
  readonly v6: readonly string[]
  /**
   * Whether the lengths of every datagram are compared, and not of long ones alone: where some were put together. It takes
   * the kernel an eighth longer.
   */
  readonly isExact: boolean
  /**
   * The UPF's TUN interfaces, where what phones send is counted once the UPF has let it out: it drops what carries another
   * phone's address. None: at the tunnel, by whatever address is in the packet.
   */
  readonly inside: readonly string[]
  /** The networks of the phones' addresses, as `10.45.0.0/16`. What one phone sends to another may not leave by a TUN interface. */
  readonly pools: readonly string[]
}

/** A chain that the kernel hands packets of an interface to. */
export interface BaseChain {
  readonly name: string
  readonly hook: Hook
  readonly device: string
}

/** The name of the first one at a TUN interface of the UPF: what the UPF lets out arrives there. */
export const INSIDE = 'inside'

/** The name of the chain at the TUN interface of that index. */
export function insideName(index: number): string {
  return index === 0 ? INSIDE : `${INSIDE}_${index}`
}

/** What the kernel sends into the UPF by a TUN interface. */
export const BACK = 'back'

/** The name of that chain at the TUN interface of that index. */
function backName(index: number): string {
  return index === 0 ? BACK : `${BACK}_${index}`
}

/** Whether a chain is at a TUN interface. */
export function isInside(name: string): boolean {
  return /^(?:inside|back)(?:_\d+)?$/.test(name)
}

/** Whether it sees what the kernel sends there. */
export function isBack(name: string): boolean {
  return isInside(name) && name.startsWith(BACK)
}

/** Where rules see the packets of an interface. */
export type Hook = 'ingress' | 'egress'
export type Way = 'up' | 'down'
export type Family = 'ip' | 'ip6'

/** On the loopback interface each packet comes by both hooks. */
export function hooksOf(iface: string): readonly Hook[] {
  return iface === 'lo' ? ['ingress'] : ['ingress', 'egress']
}

/** All chains of a place that have a hook. */
export function baseChains({
  iface,
  inside,
  pools,
}: Pick<TapPlace, 'iface' | 'inside' | 'pools'>): readonly BaseChain[] {
  const tunnel = hooksOf(iface).map((hook) => ({ name: hook, hook, device: iface }))
  const inner = inside.map((device, index) => ({ name: insideName(index), hook: 'ingress' as const, device }))
  const back = inside.map((device, index) => ({ name: backName(index), hook: 'egress' as const, device }))
  return [...tunnel, ...inner, ...(pools.length === 0 ? [] : back)]
}

/** The core's addresses of a family. */
export function ends({ v4, v6 }: TapPlace, family: Family): readonly string[] {
  return family === 'ip' ? v4 : v6
}

/** The networks of a family: the octets of the address, and how many bits of them are the network's. At most a phone's own. */
export function poolsOf(
  { pools }: TapPlace,
  inner: 4 | 6,
): readonly { readonly hex: string; readonly bits: number }[] {
  return pools.flatMap((pool) => {
    const [address = '', length = ''] = pool.split('/')
    if (address.includes(':') !== (inner === 6)) return []
    const hex = inner === 6 ? hexOfIpv6(address).slice(0, 16) : hexOfIpv4(address)
    return [{ hex, bits: Math.min(Number(length), inner === 6 ? 64 : 32) }]
  })
}
