import { cidrText, hostCidr, networkOf } from '../peers/cidr.ts'

/** Which routes are this service's. A number that `/etc/iproute2/rt_protos` gives to nobody. */
export const ROUTE_PROTOCOL = '178'

/** What `ip -j address show` says of one interface. */
export interface LinkFacts {
  /** Its alias, which says who made it. */
  readonly mark: string | undefined
  readonly isUp: boolean
  /** With prefix, those of the link alone left out. */
  readonly addresses: readonly string[]
}

/** Whether an address or a network is of IPv6. */
export function isIp6(text: string): boolean {
  return text.includes(':')
}

/** Reads what `ip -j address show dev NAME` prints; undefined when it is something else. */
export function parseLink(json: string): LinkFacts | undefined {
  const link = listIn(json).find((one) => 'ifname' in one)
  if (link === undefined) return undefined
  const flags: unknown = link.flags
  const infos: unknown = link.addr_info
  return {
    mark: typeof link.ifalias === 'string' ? link.ifalias : undefined,
    isUp: Array.isArray(flags) && flags.includes('UP'),
    addresses: (Array.isArray(infos) ? infos.filter(isObject) : [])
      .filter(({ scope }) => scope !== 'link')
      .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  }
}

/** The networks of what `ip -j route show` prints. */
export function parseRoutes(json: string, version: 4 | 6): readonly string[] {
  return listIn(json).flatMap(({ dst }) => normal(dst, version) ?? [])
}

/** `default`, `10.0.0.0/8`, or an address alone. */
function normal(dst: unknown, version: 4 | 6): string | undefined {
  if (typeof dst !== 'string') return undefined
  if (dst === 'default') return version === 4 ? '0.0.0.0/0' : '::/0'
  const network = dst.includes('/') ? networkOf(dst) : hostCidr(dst)
  return network === undefined ? undefined : cidrText(network)
}

type Facts = Readonly<Record<string, unknown>>

function listIn(json: string): readonly Facts[] {
  const value: unknown = json.trim() === '' ? [] : JSON.parse(json)
  return Array.isArray(value) ? value.filter(isObject) : []
}

function isObject(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null
}
