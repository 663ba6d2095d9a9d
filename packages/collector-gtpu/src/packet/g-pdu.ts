/** What a frame turned out to be. */
export const VERDICT = {
  /** A G-PDU between a phone and the core: `Frame` says whose, how much, which way. */
  counted: 0,
  /** No G-PDU: another protocol, an echo, an end marker, a later fragment. */
  ignored: 1,
  /** Said to be a G-PDU, and is none that can be read. */
  malformed: 2,
  /** No end of the tunnel is the core's: one eNB forwards to another. */
  foreign: 3,
  /** Both ends are the core's: the same packet is seen again where it enters or leaves. */
  inside: 4,
  /** Several G-PDUs that were put together on the way (UDP GSO or GRO): whose the others are is not in the first one. */
  merged: 5,
} as const
export type Verdict = (typeof VERDICT)[keyof typeof VERDICT]

/** What is read of a frame; one object is filled again and again. */
export interface Frame {
  /** To the phone's core, from the phone. */
  isUp: boolean
  isIpv6: boolean
  /** IPv4: the address. IPv6: the upper and the lower half of the /64. Of 32 bits, signed: such numbers need no memory. */
  high: number
  low: number
  /** Octets of the inner IP packet. */
  octets: number
  /** The end of the core, as `CoreEnds` counts them, and the tunnel's number at that end or at the radio's: at the receiver's. */
  core: number
  tunnel: number
}

/** Nothing was read yet. */
export function emptyFrame(): Frame {
  return { isUp: false, isIpv6: false, high: 0, low: 0, octets: 0, core: 0, tunnel: 0 }
}

/** The core's ends of tunnels: IPv4 addresses as signed numbers of 32 bits, IPv6 ones as 32 hexadecimal digits, which are counted on behind them. */
export interface CoreEnds {
  readonly v4: readonly number[]
  readonly v6: ReadonlyMap<string, number>
}

/** UDP port of GTP-U; a G-PDU goes to it, from any. TS 29.281 §4.4.2.3. */
export const GTPU_PORT = 2152
/** Message type of a packet of a phone. TS 29.281 §6.1. */
export const G_PDU = 0xff

const PROTOCOL_UDP = 17
const IPV4_HEADER = 20
const IPV6_HEADER = 40
const UDP_HEADER = 8
/** Version 1, GTP and not GTP'; the spare bit is not looked at. TS 29.281 §5.1. */
const VERSION_MASK = 0xf0
const VERSION_1 = 0x30
/** Any of E, S and PN: four more octets. */
const HAS_OPTIONAL = 0x07
const HAS_EXTENSION = 0x04
const GTP_HEADER = 8
const GTP_LONG_HEADER = 12
const TUNNEL_AT = 4
/** So many octets behind a G-PDU are another one; fewer are padding. */
const LEAST_G_PDU = GTP_HEADER + IPV4_HEADER
/** Extension headers are 4 octets times their length. TS 29.281 §5.2.1. */
const EXTENSION_UNIT = 4
/** IPv6 extension headers before UDP that are followed. */
const MOST_IPV6_HEADERS = 8
/** What is none of the core's ends. */
const NO_END = -1
const FRAGMENT_OFFSET = 0x1fff
/** Hop-by-hop, routing, destination options; the fragment header has a length of its own. RFC 8200 §4. */
const IPV6_EXTENSIONS: ReadonlySet<number> = new Set([0, 43, 60])
const IPV6_FRAGMENT = 44

/**
 * Reads the IP packet at `at` of `octets`, of which `end` is the first octet that is not there (a short capture cuts
 * packets). Never throws, looks at no octet twice, allocates nothing for IPv4.
 *
 * The length of the inner packet is what its header says, so that a cut or fragmented outer packet is counted whole.
 */
export function readIp(octets: Uint8Array, at: number, end: number, ends: CoreEnds, frame: Frame): Verdict {
  if (end - at < IPV4_HEADER) return VERDICT.ignored
  const version = byte(octets, at) >> 4
  if (version === 4) return readIpv4(octets, at, end, ends, frame)
  return version === 6 ? readIpv6(octets, at, end, ends, frame) : VERDICT.ignored
}

function readIpv4(octets: Uint8Array, at: number, end: number, ends: CoreEnds, frame: Frame): Verdict {
  if (byte(octets, at + 9) !== PROTOCOL_UDP) return VERDICT.ignored
  if ((word(octets, at + 6) & FRAGMENT_OFFSET) !== 0) return VERDICT.ignored
  const header = (byte(octets, at) & 0x0f) * 4
  if (header < IPV4_HEADER) return VERDICT.ignored
  const from = endOf(ends.v4, long(octets, at + 12))
  const to = endOf(ends.v4, long(octets, at + 16))
  return readUdp(octets, at + header, end, from, to, frame)
}

function readIpv6(octets: Uint8Array, at: number, end: number, ends: CoreEnds, frame: Frame): Verdict {
  if (end - at < IPV6_HEADER + UDP_HEADER) return VERDICT.ignored
  let next = byte(octets, at + 6)
  let udp = at + IPV6_HEADER
  for (let i = 0; next !== PROTOCOL_UDP; i += 1) {
    if (i === MOST_IPV6_HEADERS || end - udp < 8) return VERDICT.ignored
    if (next === IPV6_FRAGMENT) {
      if (word(octets, udp + 2) >> 3 !== 0) return VERDICT.ignored
      next = byte(octets, udp)
      udp += 8
    } else if (IPV6_EXTENSIONS.has(next)) {
      next = byte(octets, udp)
      udp += (byte(octets, udp + 1) + 1) * 8
    } else return VERDICT.ignored
  }
  const from = ends.v6.get(hex(octets, at + 8)) ?? NO_END
  const to = ends.v6.get(hex(octets, at + 24)) ?? NO_END
  return readUdp(octets, udp, end, from, to, frame)
}

/** `from`, `to`: the ends of the core that they are. */
function readUdp(
  octets: Uint8Array,
  at: number,
  end: number,
  from: number,
  to: number,
  frame: Frame,
): Verdict {
  if (end - at < UDP_HEADER + 2 || word(octets, at + 2) !== GTPU_PORT) return VERDICT.ignored
  const gtp = at + UDP_HEADER
  const flags = byte(octets, gtp)
  if ((flags & VERSION_MASK) !== VERSION_1) return VERDICT.malformed
  if (byte(octets, gtp + 1) !== G_PDU) return VERDICT.ignored
  if (end - gtp < GTP_HEADER) return VERDICT.malformed
  const isToCore = to !== NO_END
  if (isToCore === (from !== NO_END)) return isToCore ? VERDICT.inside : VERDICT.foreign
  // What follows the first eight octets of the header.
  const length = word(octets, gtp + 2)
  const inDatagram = word(octets, at + 4) - UDP_HEADER
  if (length + GTP_HEADER > inDatagram) return VERDICT.malformed
  if (inDatagram - length - GTP_HEADER >= LEAST_G_PDU) return VERDICT.merged
  const header = headerLength(octets, gtp, end, flags)
  if (header < 0) return VERDICT.malformed
  frame.isUp = isToCore
  frame.core = isToCore ? to : from
  frame.tunnel = long(octets, gtp + TUNNEL_AT)
  return readInner(octets, gtp + header, end, length + GTP_HEADER - header, frame)
}

/** Octets of the GTP-U header with its extensions; -1 when it ends nowhere. TS 29.281 §5.2. */
function headerLength(octets: Uint8Array, gtp: number, end: number, flags: number): number {
  if ((flags & HAS_OPTIONAL) === 0) return GTP_HEADER
  let header = GTP_LONG_HEADER
  if ((flags & HAS_EXTENSION) === 0) return header
  if (gtp + header > end) return -1
  while (byte(octets, gtp + header - 1) !== 0) {
    if (gtp + header >= end) return -1
    const units = byte(octets, gtp + header)
    header += units * EXTENSION_UNIT
    if (units === 0 || gtp + header > end) return -1
  }
  return header
}

/** `payload`: octets that the GTP-U header leaves for the inner packet. */
function readInner(octets: Uint8Array, at: number, end: number, payload: number, frame: Frame): Verdict {
  if (at >= end) return VERDICT.malformed
  const version = byte(octets, at) >> 4
  if (version === 4) {
    if (end - at < IPV4_HEADER) return VERDICT.malformed
    frame.octets = word(octets, at + 2)
    if (frame.octets < IPV4_HEADER || frame.octets > payload) return VERDICT.malformed
    frame.isIpv6 = false
    frame.high = long(octets, at + (frame.isUp ? 12 : 16))
    frame.low = 0
    return VERDICT.counted
  }
  if (version !== 6 || end - at < IPV6_HEADER) return VERDICT.malformed
  frame.octets = IPV6_HEADER + word(octets, at + 4)
  if (frame.octets > payload) return VERDICT.malformed
  const address = at + (frame.isUp ? 8 : 24)
  frame.isIpv6 = true
  frame.high = long(octets, address)
  frame.low = long(octets, address + 4)
  return VERDICT.counted
}

/** Which of the core's ends it is. A core has a few: to compare them takes less than a look into a set. */
function endOf(ends: readonly number[], address: number): number {
  for (let i = 0; i < ends.length; i += 1) if (ends[i] === address) return i
  return NO_END
}

// Each place is looked at after a check that it is there: what is outside reads as 0.
function byte(octets: Uint8Array, at: number): number {
  return octets[at] ?? 0
}

function word(octets: Uint8Array, at: number): number {
  return ((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0)
}

function long(octets: Uint8Array, at: number): number {
  return (word(octets, at) << 16) | word(octets, at + 2)
}

function hex(octets: Uint8Array, at: number): string {
  let text = ''
  for (let i = at; i < at + 16; i += 2) text += word(octets, i).toString(16).padStart(4, '0')
  return text
}
