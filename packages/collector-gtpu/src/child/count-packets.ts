import type { Tally } from '../counters/tally.ts'
import { type CoreEnds, emptyFrame, readIp, VERDICT, type Verdict } from '../packet/g-pdu.ts'
import { Tunnels } from '../packet/tunnels.ts'

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
type FindIp = (octets: Uint8Array, from: number, end: number) => number

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

/** Counts packets of a capture, live or not. */
export interface PacketCount {
  /** The frame is `octets[from, end)`. Never throws, whatever is in it. */
  packet(link: number, atMs: number, octets: Uint8Array, from: number, end: number): void
  readonly seen: {
    readonly received: number
    readonly malformed: number
    readonly unmatched: number
    readonly foreign: number
  }
  /** Of another phone's address; octets of inner packets. What turns out to be the phone's own is taken off again. */
  readonly refused: { readonly packets: number; readonly octets: number }
}

/** Counts into `tally` what goes between a phone and the core. */
export function packetCount(ends: CoreEnds, tally: Tally): PacketCount {
  const seen = { received: 0, malformed: 0, unmatched: 0, foreign: 0 }
  const frame = emptyFrame()
  const tunnels = new Tunnels(tally)
  let link = -1
  let findIp: FindIp | undefined
  const take = (verdict: Verdict, atMs: number): void => {
    if (verdict === VERDICT.ignored || verdict === VERDICT.inside) return
    seen.received += 1
    if (verdict === VERDICT.malformed) seen.malformed += 1
    else if (verdict === VERDICT.foreign) seen.foreign += 1
    else if (verdict === VERDICT.merged) seen.unmatched += 1
    else if (!frame.isUp || tunnels.isOwn(frame, atMs)) seen.unmatched += tally.add(frame, atMs) ? 0 : 1
  }
  return {
    seen,
    refused: tunnels.refused,
    packet: (ofLink, atMs, octets, from, end) => {
      if (ofLink !== link) {
        link = ofLink
        findIp = findIpOf(link)
      }
      const ip = findIp === undefined ? -1 : findIp(octets, from, end)
      if (ip >= 0) take(readIp(octets, ip, end, ends, frame), atMs)
    },
  }
}
