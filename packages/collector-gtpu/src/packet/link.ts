/** What a capture's frames begin with, by its DLT. https://www.tcpdump.org/linktypes.html */
const LINK = {
  null: 0,
  ethernet: 1,
  raw: 101,
  /** The values that some systems write for raw IP. */
  rawOld: [12, 14],
  loop: 108,
  linuxCooked: 113,
  ipv4: 228,
  ipv6: 229,
  linuxCooked2: 276,
} as const

const ETHERTYPE_IPV4 = 0x0800
const ETHERTYPE_IPV6 = 0x86dd
/** 802.1Q, 802.1ad and what was used before it. */
const VLAN_TAGS: ReadonlySet<number> = new Set([0x8100, 0x88a8, 0x9100])
/** Tags that are followed: a service tag, a customer tag, and room. */
const MOST_TAGS = 4
const VLAN_TAG = 4

/** Where the IP packet of a frame of `octets[from, end)` begins; -1 when there is none. */
export type FindIp = (octets: Uint8Array, from: number, end: number) => number

/** For frames of one link type; undefined when it is none that carries IP as known here. */
export function findIpOf(link: number): FindIp | undefined {
  if (link === LINK.ethernet) return (octets, from, end) => afterType(octets, from + 12, from + 14, end)
  if (link === LINK.linuxCooked) return (octets, from, end) => afterType(octets, from + 14, from + 16, end)
  if (link === LINK.linuxCooked2) return (octets, from, end) => afterType(octets, from, from + 20, end)
  if (link === LINK.null || link === LINK.loop) return (_, from) => from + 4
  const isRaw = link === LINK.raw || link === LINK.ipv4 || link === LINK.ipv6
  return isRaw || LINK.rawOld.some((one) => one === link) ? (_, from) => from : undefined
}

/** `at`: where the EtherType is. `next`: what follows it. */
function afterType(octets: Uint8Array, at: number, next: number, end: number): number {
  let place = at
  let ip = next
  for (let tags = 0; tags <= MOST_TAGS && ip <= end; tags += 1) {
    const type = ((octets[place] ?? 0) << 8) | (octets[place + 1] ?? 0)
    if (type === ETHERTYPE_IPV4 || type === ETHERTYPE_IPV6) return ip
    if (!VLAN_TAGS.has(type)) return -1
    place = ip + 2
    ip += VLAN_TAG
  }
  return -1
}
