/** The two ends of an IP packet: the phone and a host of the internet. Both of one family. */
export interface Ends {
  readonly from: string
  readonly to: string
}

/** The least that a packet with a UDP header and no payload has, in octets. RFC 791, RFC 8200, RFC 768. */
export const LEAST_IPV4 = 28
export const LEAST_IPV6 = 48

const IPV4_HEADER = 20
const IPV6_HEADER = 40
const UDP_HEADER = 8
const PROTOCOL_UDP = 17
const HOP_LIMIT = 64
/** QUIC's port at the far end: what most phones move is this. */
const PORT = 443

/** The header of an IPv4 packet with so many octets after it. RFC 791. */
export function ipv4Header({ from, to }: Ends, payload: number, protocol: number): Buffer {
  const header = Buffer.alloc(IPV4_HEADER)
  header[0] = 0x45
  header.writeUInt16BE(IPV4_HEADER + payload, 2)
  // Don't fragment: the identification may then be 0 (RFC 6864).
  header[6] = 0x40
  header[8] = HOP_LIMIT
  header[9] = protocol
  header.set(octetsOfIpv4(from), 12)
  header.set(octetsOfIpv4(to), 16)
  header.writeUInt16BE(checksum(header), 10)
  return header
}

/** An IPv4 packet of `length` octets with a UDP datagram of zeros in it. */
export function ipv4Packet(ends: Ends, length: number): Buffer {
  const packet = Buffer.alloc(length)
  packet.set(ipv4Header(ends, length - IPV4_HEADER, PROTOCOL_UDP))
  fillUdp(packet, IPV4_HEADER, packet.subarray(12, 20))
  return packet
}

/** An IPv6 packet of `length` octets with a UDP datagram of zeros in it. RFC 8200. */
export function ipv6Packet({ from, to }: Ends, length: number): Buffer {
  const packet = Buffer.alloc(length)
  packet[0] = 0x60
  packet.writeUInt16BE(length - IPV6_HEADER, 4)
  packet[6] = PROTOCOL_UDP
  packet[7] = HOP_LIMIT
  packet.set(octetsOfIpv6(from), 8)
  packet.set(octetsOfIpv6(to), 24)
  fillUdp(packet, IPV6_HEADER, packet.subarray(8, IPV6_HEADER))
  return packet
}

/** The header of the datagram, its checksum over the addresses included. RFC 768. */
function fillUdp(packet: Buffer, at: number, addresses: Uint8Array): void {
  const length = packet.length - at
  packet.writeUInt16BE(PORT, at)
  packet.writeUInt16BE(PORT, at + 2)
  packet.writeUInt16BE(length, at + 4)
  // The payload is zeros and adds nothing.
  const header = packet.subarray(at, at + UDP_HEADER)
  const sum = checksum(addresses, PROTOCOL_UDP + length, header)
  // 0 would say that there is none.
  packet.writeUInt16BE(sum === 0 ? 0xffff : sum, at + 6)
}

/** The Internet checksum (RFC 1071) of parts with an even number of octets, and a number. */
function checksum(part: Uint8Array, add = 0, more: Uint8Array = new Uint8Array()): number {
  let sum = add
  for (const octets of [part, more])
    for (let at = 0; at < octets.length; at += 2) sum += ((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}

function octetsOfIpv4(address: string): readonly number[] {
  return address.split('.').map(Number)
}

/** RFC 4291 §2.2, without the form that ends in an IPv4 address. */
function octetsOfIpv6(address: string): readonly number[] {
  const [head = '', tail] = address.split('::')
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const first = groups(head)
  const last = tail === undefined ? [] : groups(tail)
  const zeros = new Array<string>(8 - first.length - last.length).fill('0')
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}
