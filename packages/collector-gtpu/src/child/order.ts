import { G_PDU, GTPU_PORT } from '../packet/g-pdu.ts'

/** Ethernet, two tags, IPv6, UDP, a GTP-U header of 20 octets, IPv6. */
export const SNAP_LENGTH = 128
/** How long packets may wait for others before they are handed on, ms. */
export const BUFFER_TIMEOUT_MS = 100
/** What packets wait in: 64 MiB hold what comes in two seconds at 130,000 packets a second. */
export const BUFFER_BYTES: number = 64 * 1024 * 1024

/** G-PDUs, also behind two tags (the kernel takes the first one off), and in IPv6 without extension headers. */
export function filterText(): string {
  const plain = `udp dst port ${GTPU_PORT} and udp[9] = ${G_PDU}`
  const inner = `ip6 and udp dst port ${GTPU_PORT} and ip6[49] = ${G_PDU}`
  return `(${plain}) or (${inner}) or (vlan and ((${plain}) or (${inner}) or (vlan and ((${plain}) or (${inner})))))`
}

/** What the tap's program is told; its only argument, as JSON. */
export interface TapOrder {
  readonly driver: 'pcap' | 'file'
  /** Of `pcap`. */
  readonly iface: string
  /** The addresses at which the core takes GTP-U. */
  readonly core: readonly string[]
  /** Size of the buffer in the kernel that packets wait in, octets. */
  readonly bufferBytes: number
}

/** Descriptors that the program finds open: two files for its counters, and the capture of `file`. */
export const TAP_FILES = { counters: [3, 4], capture: 5 } as const

/** Its status when the capture is damaged: another start would see the same. */
export const DAMAGED_STATUS = 3
