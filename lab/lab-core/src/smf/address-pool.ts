/** Addresses of one session. */
export interface Addresses {
  readonly ipv4: string | undefined
  readonly ipv6: string | undefined
}

/** Addresses that are taken. `number` is the place in the pool. */
export interface Lease extends Addresses {
  readonly number: number
}

/** Hands out addresses, the one that has been free longest first. */
export interface AddressPool {
  /** `type`: 1 IPv4, 2 IPv6, 3 both; fixed ones as they are. Undefined when all are in use. */
  take(type: number, fixed: Addresses): Lease | undefined
  give(lease: Lease): void
}

/** UE number 1 is 10.45.0.2 and 2001:db8:cafe:1::2, as in the recordings; .0 and .1 (the gateway) go to nobody. */
const FIRST = 1
const LAST = 0xfffd

/** A pool over 10.45.0.0/16 and 2001:db8:cafe::/48. */
export function addressPool(): AddressPool {
  const used = new Set<number>()
  let last = FIRST - 1
  return {
    take: (type, fixed) => {
      if (used.size >= LAST) return undefined
      do last = last >= LAST ? FIRST : last + 1
      while (used.has(last))
      used.add(last)
      return {
        number: last,
        ipv4: type === 2 ? undefined : (fixed.ipv4 ?? ipv4Of(last)),
        ipv6: type === 1 ? undefined : (fixed.ipv6 ?? ipv6Of(last)),
      }
    },
    give: ({ number }) => {
      used.delete(number)
    },
  }
}

function ipv4Of(number: number): string {
  const host = number + 1
  return `10.45.${host >> 8}.${host & 0xff}`
}

function ipv6Of(number: number): string {
  return `2001:db8:cafe:${number.toString(16)}::${(number + 1).toString(16)}`
}
