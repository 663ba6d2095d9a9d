import { crc32 } from 'node:zlib'

/** One packet of a phone, and how it is carried. */
export interface Carried {
  readonly isUp: boolean
  /** The phone: IPv4, or an IPv6 address whose first four groups are its prefix. */
  readonly phone: string
  /** Octets of the inner packet. */
  readonly octets: number
  /** Octets of GTP-U header: 8, 12, or more by extensions. */
  readonly header?: number
  /** Tags before the outer packet. */
  readonly vlans?: readonly number[]
  readonly isOuterIpv6?: boolean
  readonly message?: number
  readonly core?: string
  readonly radio?: string
  /** Whom it speaks with; without it a server. */
  readonly peer?: string
  /** Number of its tunnel at the receiver; without it one of the phone's own. */
  readonly tunnel?: number
}

export const CORE = '10.60.0.7'
export const RADIO = '10.60.1.1'
export const CORE_6 = '2001:db8:60::7'
const RADIO_6 = '2001:db8:60:1::1'
const SERVER = '198.51.100.1'
const SERVER_6 = '2001:db8:ffff::1'
const ETHERNET = { to: '02000000000b', from: '02000000000a' } as const

/** An Ethernet frame with a G-PDU in it. */
export function frame(carried: Carried): Buffer {
  const { vlans = [], isOuterIpv6 = false } = carried
  const type = Buffer.from(isOuterIpv6 ? '86dd' : '0800', 'hex')
  const tags = vlans.flatMap((id, i) => [
    Buffer.from(i === 0 && vlans.length > 1 ? '88a8' : '8100', 'hex'),
    Buffer.from([id >> 8, id & 0xff]),
  ])
  const head = Buffer.concat([Buffer.from(ETHERNET.to + ETHERNET.from, 'hex'), ...tags, type])
  return Buffer.concat([head, outer(carried)])
}

/** An Ethernet frame of what a phone has sent, as it is when it has left the tunnel. */
export function released(carried: Carried): Buffer {
  const type = carried.phone.includes(':') ? '86dd' : '0800'
  return Buffer.concat([Buffer.from(`${ETHERNET.to}${ETHERNET.from}${type}`, 'hex'), inner(carried)])
}

/** An Ethernet frame of an IPv4 packet. */
export function ethernet(packet: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${ETHERNET.to}${ETHERNET.from}0800`, 'hex'), packet])
}

export function outer(carried: Carried): Buffer {
  const { isUp, isOuterIpv6 = false } = carried
  const core = carried.core ?? (isOuterIpv6 ? CORE_6 : CORE)
  const radio = carried.radio ?? (isOuterIpv6 ? RADIO_6 : RADIO)
  const payload = gpdu(carried)
  const udp = Buffer.alloc(8)
  udp.writeUInt16BE(40_000, 0)
  udp.writeUInt16BE(2152, 2)
  udp.writeUInt16BE(8 + payload.length, 4)
  const [from, to] = isUp ? [radio, core] : [core, radio]
  return ip(from, to, Buffer.concat([udp, payload]))
}

/** Several packets of phones in one datagram over IPv4, as an interface that merges them hands them on. */
export function merged([first, ...others]: readonly [Carried, ...Carried[]]): Buffer {
  const datagram = Buffer.concat([outer(first), ...others.map(gpdu)])
  datagram.writeUInt16BE(datagram.length, 2)
  datagram.writeUInt16BE(datagram.length - 20, 24)
  return datagram
}

export function gpdu(carried: Carried): Buffer {
  const { header = 8, message = 255 } = carried
  const packet = inner(carried)
  const gtp = Buffer.alloc(header)
  gtp[0] = header === 8 ? 0x30 : header === 12 ? 0x32 : 0x34
  gtp[1] = message
  gtp.writeUInt16BE(header - 8 + packet.length, 2)
  gtp.writeUInt32BE(carried.tunnel ?? tunnelOf(carried.phone), 4)
  // A chain of one long extension, or of two where there is room.
  if (header > 12) {
    gtp[11] = 0x85
    const first = header > 20 ? 8 : header - 12
    gtp[12] = first / 4
    if (header > 12 + first) {
      gtp[12 + first - 1] = 0xc0
      gtp[12 + first] = (header - 12 - first) / 4
    }
  }
  return Buffer.concat([gtp, packet])
}

/** Of a phone, by its address or prefix: a session has one at the core. */
export function tunnelOf(phone: string): number {
  const octets = phone.includes(':') ? ipv6(phone).subarray(0, 8) : ipv4(phone)
  return crc32(octets)
}

function inner({ isUp, phone, octets, peer }: Carried): Buffer {
  const server = peer ?? (phone.includes(':') ? SERVER_6 : SERVER)
  const [from, to] = isUp ? [phone, server] : [server, phone]
  return ip(from, to, Buffer.alloc(octets - (phone.includes(':') ? 40 : 20)))
}

function ip(from: string, to: string, payload: Buffer): Buffer {
  if (from.includes(':')) {
    const head = Buffer.alloc(8)
    head[0] = 0x60
    head.writeUInt16BE(payload.length, 4)
    head[6] = 17
    head[7] = 64
    return Buffer.concat([head, ipv6(from), ipv6(to), payload])
  }
  const head = Buffer.alloc(12)
  head[0] = 0x45
  head.writeUInt16BE(20 + payload.length, 2)
  head[8] = 64
  head[9] = 17
  const packet = Buffer.concat([head, ipv4(from), ipv4(to), payload])
  let sum = 0
  for (let at = 0; at < 20; at += 2) sum += packet.readUInt16BE(at)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  packet.writeUInt16BE(~sum & 0xffff, 10)
  return packet
}

function ipv4(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number))
}

export function ipv6(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const zeros = new Array<string>(8 - groups(head).length - groups(tail).length).fill('0')
  const all = [...groups(head), ...(address.includes('::') ? zeros : []), ...groups(tail)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

/** A capture of frames, a millisecond apart. */
export function pcapOf(frames: readonly Buffer[], atMs = 1_700_000_000_000): Buffer {
  const head = Buffer.alloc(24)
  head.writeUInt32LE(0xa1b2c3d4, 0)
  head.writeUInt16LE(2, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt32LE(65_535, 16)
  head.writeUInt32LE(1, 20)
  const records = frames.map((octets, i) => {
    const record = Buffer.alloc(16)
    record.writeUInt32LE(Math.floor((atMs + i) / 1_000), 0)
    record.writeUInt32LE(((atMs + i) % 1_000) * 1_000, 4)
    record.writeUInt32LE(octets.length, 8)
    record.writeUInt32LE(octets.length, 12)
    return Buffer.concat([record, octets])
  })
  return Buffer.concat([head, ...records])
}

/** A capture in the other format. */
export function pcapngOf(frames: readonly Buffer[], atMs = 1_700_000_000_000): Buffer {
  const section = Buffer.from('4d3c2b1a01000000ffffffffffffffff', 'hex')
  const described = Buffer.from('0100000000000400', 'hex')
  return Buffer.concat([block(0x0a0d0d0a, section), block(1, described), pcapngPackets(frames, atMs)])
}

export function pcapngPackets(frames: readonly Buffer[], atMs: number): Buffer {
  const packets = frames.map((octets, i) => {
    const head = Buffer.alloc(20)
    const units = BigInt(atMs + i) * 1_000n
    head.writeUInt32LE(Number(units >> 32n), 4)
    head.writeUInt32LE(Number(units & 0xffffffffn), 8)
    head.writeUInt32LE(octets.length, 12)
    head.writeUInt32LE(octets.length, 16)
    return block(6, Buffer.concat([head, octets]))
  })
  return Buffer.concat(packets)
}

/** That so many packets were lost before they were captured. */
export function pcapngDrops(packets: number): Buffer {
  const body = Buffer.alloc(12 + 12 + 4)
  body.writeUInt16LE(5, 12)
  body.writeUInt16LE(8, 14)
  body.writeBigUInt64LE(BigInt(packets), 16)
  return block(5, body)
}

function block(type: number, body: Buffer): Buffer {
  const padded = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)])
  const head = Buffer.alloc(8)
  head.writeUInt32LE(type, 0)
  head.writeUInt32LE(12 + padded.length, 4)
  return Buffer.concat([head, padded, head.subarray(4)])
}

/** Octets by phone: what a tap must say. */
export function truthOf(all: readonly Carried[]): ReadonlyMap<string, readonly [number, number]> {
  const sums = new Map<string, [number, number]>()
  for (const { phone, isUp, octets, message = 255 } of all) {
    if (message !== 255) continue
    const key = phone.includes(':') ? `${phone.split(':').slice(0, 4).join(':')}::/64` : phone
    const sum = sums.get(key) ?? [0, 0]
    sum[isUp ? 0 : 1] += octets
    sums.set(key, sum)
  }
  return sums
}

/** Packets of many phones in every form that is counted. */
export function mixed(count: number, phones = 32): readonly Carried[] {
  return Array.from({ length: count }, (_, i) => {
    const phone = i % phones
    const address =
      phone % 5 === 4
        ? `2001:db8:45:${(phone + 1).toString(16)}:0:0:0:${(i % 7) + 1}`
        : `10.45.${phone >> 8}.${phone & 0xff}`
    const sizes = [60, 100, 577, 1_280, 1_400]
    return {
      isUp: i % 3 !== 0,
      phone: address,
      octets: sizes[i % sizes.length] ?? 100,
      header: [8, 16, 8, 12, 20, 16, 24, 8, 32][i % 9] ?? 8,
    }
  })
}
