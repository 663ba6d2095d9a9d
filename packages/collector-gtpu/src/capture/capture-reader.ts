import { inGroups } from '@steeple/telecom'

/** A capture that cannot be read: where, and what is wrong. What came before it is good. */
export class CaptureError extends Error {
  /** Offset in the capture. */
  readonly at: number

  constructor(at: number, what: string) {
    super(`the capture is damaged at octet ${inGroups(at)}: ${what}`)
    this.name = 'CaptureError'
    this.at = at
  }
}

/** A packet as large as any tool captures, and what a record has around it. */
const MOST_RECORD: number = 1024 * 1024
/** Told of each packet: its octets are `octets[from, end)`, good until it returns. */
type PacketHandler = (link: number, atMs: number, octets: Uint8Array, from: number, end: number) => void

interface CaptureHandler {
  readonly packet: PacketHandler
  /** Told how many packets the one who captured says that he has lost so far. */
  readonly dropped: (packets: number) => void
}

/** One format: takes whole records from the beginning of what is given. */
interface RecordReader {
  /** How many octets it has taken; 0: it needs more. `offset`: where in the capture they begin. Throws `CaptureError`. */
  take(octets: Uint8Array, from: number, end: number, offset: number): number
}

/** Octets to read numbers from. */
function viewOf(octets: Uint8Array): DataView {
  return new DataView(octets.buffer, octets.byteOffset, octets.byteLength)
}

/** Block types of draft-ietf-opsawg-pcapng §4 and §11. */
const BLOCK = { section: 0x0a0d0d0a, interface: 1, simple: 3, statistics: 5, enhanced: 6 } as const
const BYTE_ORDER = 0x1a2b3c4d
/** Type, length, length again at the end. */
const LEAST_BLOCK = 12
/** Options of an interface: resolution of its times, seconds to add to them; of its statistics: what was dropped. */
const OPTION = { end: 0, resolution: 9, offset: 14, interfaceDrops: 5, systemDrops: 7 } as const
const MOST_INTERFACES = 4_096

interface Interface {
  readonly link: number
  readonly snapLength: number
  readonly unitsPerMs: number
  readonly offsetMs: number
  drops: number
}

/** Reads `.pcapng`. */
class PcapngReader implements RecordReader {
  readonly #handler: CaptureHandler
  #isLittle = true
  /** Of the present section; each has its own. */
  #interfaces: Interface[] = []
  #drops = 0

  constructor(handler: CaptureHandler) {
    this.#handler = handler
  }

  take(octets: Uint8Array, from: number, end: number, offset: number): number {
    if (end - from < LEAST_BLOCK) return 0
    const view = viewOf(octets)
    const isSection = view.getUint32(from) === BLOCK.section
    if (isSection) this.#isLittle = view.getUint32(from + 8, true) === BYTE_ORDER
    if (isSection && !this.#isLittle && view.getUint32(from + 8) !== BYTE_ORDER)
      throw new CaptureError(offset, 'a section without the mark of its order of octets')
    const length = view.getUint32(from + 4, this.#isLittle)
    if (length < LEAST_BLOCK || length % 4 !== 0 || length > MOST_RECORD)
      throw new CaptureError(offset, `a block of ${inGroups(length)} octets`)
    if (end - from < length) return 0
    if (view.getUint32(from + length - 4, this.#isLittle) !== length)
      throw new CaptureError(offset, 'a block whose end does not match its beginning')
    // What a block has between its type and length, and the length again.
    const body = { octets, view, from: from + 8, end: from + length - 4, offset }
    if (isSection) this.#interfaces = []
    else this.#block(view.getUint32(from, this.#isLittle), body)
    return length
  }

  #block(type: number, body: Body): void {
    if (type === BLOCK.interface) this.#interface(body)
    if (type === BLOCK.enhanced) this.#enhanced(body)
    if (type === BLOCK.simple) this.#simple(body)
    if (type === BLOCK.statistics) this.#statistics(body)
  }

  #interface(body: Body): void {
    const { view, from } = need(body, 8)
    if (this.#interfaces.length === MOST_INTERFACES)
      throw new CaptureError(body.offset, 'too many interfaces')
    let unitsPerMs = 1_000
    let offsetMs = 0
    this.#options(body, from + 8, (code, at, length) => {
      if (code === OPTION.resolution && length === 1) unitsPerMs = unitsPerMsFrom(view.getUint8(at))
      if (code === OPTION.offset && length === 8)
        offsetMs = Number(view.getBigInt64(at, this.#isLittle)) * 1_000
    })
    const link = view.getUint16(from, this.#isLittle)
    const snapLength = view.getUint32(from + 4, this.#isLittle)
    this.#interfaces.push({ link, snapLength, unitsPerMs, offsetMs, drops: 0 })
  }

  #enhanced(body: Body): void {
    const { view, from, end, octets } = need(body, 20)
    const source = this.#interfaceAt(view.getUint32(from, this.#isLittle), body)
    const units =
      view.getUint32(from + 4, this.#isLittle) * 2 ** 32 + view.getUint32(from + 8, this.#isLittle)
    const captured = view.getUint32(from + 12, this.#isLittle)
    if (captured > end - from - 20) throw new CaptureError(body.offset, 'a packet beyond its block')
    const atMs = units / source.unitsPerMs + source.offsetMs
    this.#handler.packet(source.link, atMs, octets, from + 20, from + 20 + captured)
  }

  #simple(body: Body): void {
    const { view, from, end, octets } = need(body, 4)
    const source = this.#interfaceAt(0, body)
    const length = view.getUint32(from, this.#isLittle)
    const most = source.snapLength === 0 ? length : Math.min(length, source.snapLength)
    // It has no time.
    this.#handler.packet(source.link, 0, octets, from + 4, Math.min(from + 4 + most, end))
  }

  #statistics(body: Body): void {
    const { view, from } = need(body, 12)
    const source = this.#interfaceAt(view.getUint32(from, this.#isLittle), body)
    let drops = 0
    this.#options(body, from + 12, (code, at, length) => {
      if ((code === OPTION.interfaceDrops || code === OPTION.systemDrops) && length === 8)
        drops += Number(view.getBigUint64(at, this.#isLittle))
    })
    // Each says what was dropped since the interface was opened.
    this.#drops += Math.max(0, drops - source.drops)
    source.drops = Math.max(source.drops, drops)
    this.#handler.dropped(this.#drops)
  }

  #interfaceAt(index: number, { offset }: Body): Interface {
    const found = this.#interfaces[index]
    if (found === undefined) throw new CaptureError(offset, `interface ${inGroups(index)} was not described`)
    return found
  }

  #options(body: Body, from: number, option: (code: number, at: number, length: number) => void): void {
    const { view, end } = body
    for (let at = from; at + 4 <= end; ) {
      const code = view.getUint16(at, this.#isLittle)
      const length = view.getUint16(at + 2, this.#isLittle)
      if (code === OPTION.end) return
      if (at + 4 + length > end) throw new CaptureError(body.offset, 'an option beyond its block')
      option(code, at + 4, length)
      at += 4 + Math.ceil(length / 4) * 4
    }
  }
}

interface Body {
  readonly octets: Uint8Array
  readonly view: DataView
  readonly from: number
  readonly end: number
  /** Where in the capture its block begins. */
  readonly offset: number
}

function need(body: Body, octets: number): Body {
  if (body.end - body.from < octets) throw new CaptureError(body.offset, 'a block too short for its type')
  return body
}

/** A power of ten, or of two when the upper bit is set. */
function unitsPerMsFrom(resolution: number): number {
  const exponent = resolution & 0x7f
  return ((resolution & 0x80) === 0 ? 10 : 2) ** exponent / 1_000
}

/** https://www.tcpdump.org/manpages/pcap-savefile.5.html: with microseconds, with nanoseconds. */
const MICROSECONDS = 0xa1b2c3d4
const NANOSECONDS = 0xa1b23c4d
const FILE_HEADER = 24
const RECORD_HEADER = 16
/** The upper bits of the link type tell of a frame check sequence. */
const LINK_MASK = 0x0fff_ffff

/** Reads `.pcap`; undefined when the octets do not begin as one. */
function pcapRecords(begin: Uint8Array, packet: PacketHandler): RecordReader | undefined {
  const magic = viewOf(begin).getUint32(0, true)
  const swapped = viewOf(begin).getUint32(0, false)
  const isLittle = magic === MICROSECONDS || magic === NANOSECONDS
  if (!isLittle && swapped !== MICROSECONDS && swapped !== NANOSECONDS) return undefined
  const perMs = (isLittle ? magic : swapped) === NANOSECONDS ? 1_000_000 : 1_000
  let link: number | undefined
  return {
    take: (octets, from, end, offset) => {
      const view = viewOf(octets)
      if (link === undefined) {
        if (end - from < FILE_HEADER) return 0
        link = view.getUint32(from + 20, isLittle) & LINK_MASK
        return FILE_HEADER
      }
      if (end - from < RECORD_HEADER) return 0
      const captured = view.getUint32(from + 8, isLittle)
      if (captured > MOST_RECORD) throw new CaptureError(offset, `a packet of ${inGroups(captured)} octets`)
      if (end - from < RECORD_HEADER + captured) return 0
      const atMs = view.getUint32(from, isLittle) * 1_000 + view.getUint32(from + 4, isLittle) / perMs
      packet(link, atMs, octets, from + RECORD_HEADER, from + RECORD_HEADER + captured)
      return RECORD_HEADER + captured
    },
  }
}

/** Reads a capture in pieces of any size. */
export interface CaptureReader {
  /** Throws `CaptureError`, and again at each further call. */
  push(piece: Uint8Array): void
  /** Octets that wait for the rest of their record. */
  readonly waiting: number
}

/** What is read of a capture before its format is known. */
const MAGIC_BYTES = 4

/** For `.pcap` (either order of octets, micro- and nanoseconds) and `.pcapng`, told apart by how they begin. */
export function captureReader(handler: CaptureHandler): CaptureReader {
  let rest: Uint8Array = new Uint8Array()
  let offset = 0
  let format: RecordReader | undefined
  let failure: unknown
  const read = (octets: Uint8Array): number => {
    let at = 0
    if (format === undefined && octets.length >= MAGIC_BYTES) format = formatOf(octets, handler)
    while (format !== undefined && at < octets.length) {
      const taken = format.take(octets, at, octets.length, offset + at)
      if (taken === 0) break
      at += taken
    }
    return at
  }
  return {
    get waiting() {
      return rest.length
    },
    push: (piece) => {
      if (failure !== undefined) throw failure
      const octets = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      try {
        const taken = read(octets)
        offset += taken
        // A copy: the piece is filled again.
        rest = new Uint8Array(octets.subarray(taken))
      } catch (error) {
        failure = error
        rest = new Uint8Array()
        throw error
      }
    },
  }
}

function formatOf(octets: Uint8Array, handler: CaptureHandler): RecordReader {
  if (viewOf(octets).getUint32(0) === BLOCK.section) return new PcapngReader(handler)
  const found = pcapRecords(octets, handler.packet)
  if (found === undefined) throw new CaptureError(0, 'it begins neither as pcap nor as pcapng')
  return found
}
