/** Which way a packet goes. */
export type Direction = 'up' | 'down'

/** Where its frames go: S1-U of an eNB, or N3 of a gNB. */
export type Interface = 's1u' | 'n3'

/** Version 1, GTP and not GTP'. TS 29.281 §5.1. */
const VERSION_1 = 0x30
const HAS_EXTENSION = 0x04
const G_PDU = 0xff
const HEADER = 8
/** The length that the header tells counts what follows these octets. */
const MANDATORY = 8
/** Extension header type of the PDU Session Container. TS 29.281 §5.2.1. */
const PDU_SESSION_CONTAINER = 0x85
/** PDU types of TS 38.415 §5.5.2. */
const PDU_TYPES: Readonly<Record<Direction, number>> = { down: 0, up: 1 }
/** The default QoS flow. */
const QFI = 1

/** A G-PDU around an IP packet. On N3 it carries a PDU Session Container. TS 29.281 §5.1, TS 38.415 §5.5.2. */
export function gpdu(packet: Uint8Array, teid: number, direction: Direction, on: Interface): Buffer {
  const extension = on === 'n3' ? [0, 0, 0, PDU_SESSION_CONTAINER, 1, PDU_TYPES[direction] << 4, QFI, 0] : []
  const frame = Buffer.alloc(HEADER + extension.length + packet.length)
  frame[0] = VERSION_1 | (on === 'n3' ? HAS_EXTENSION : 0)
  frame[1] = G_PDU
  frame.writeUInt16BE(frame.length - MANDATORY, 2)
  frame.writeUInt32BE(teid, 4)
  frame.set(extension, HEADER)
  frame.set(packet, HEADER + extension.length)
  return frame
}

/** Whether a datagram is a G-PDU. */
export function isGpdu(datagram: Uint8Array): boolean {
  return datagram.length > HEADER && ((datagram[0] ?? 0) & 0xf0) === VERSION_1 && datagram[1] === G_PDU
}
