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
}

/** Where rules see the packets of an interface. */
export type Hook = 'ingress' | 'egress'
export type Way = 'up' | 'down'
/** Of the tunnel. */
export type Family = 'ip' | 'ip6'

/** On the loopback interface each packet comes by both hooks. */
export function hooksOf(iface: string): readonly Hook[] {
  return iface === 'lo' ? ['ingress'] : ['ingress', 'egress']
}

/** The core's addresses of a family. */
export function ends({ v4, v6 }: TapPlace, family: Family): readonly string[] {
  return family === 'ip' ? v4 : v6
}
