import { branch, leaf, type Piece, partAt, partOf, withEach, without, withPart } from './tree.ts'

/** Parts of a file: it is not made; its FCP; octets left out; octets put in. TCA 3.3, File. */
export const FILE = { doNotCreate: 0x80, descriptor: 0xa1, offset: 0x82, content: 0x83 } as const
/** Parts of an FCP: size; descriptor with the length of a record; proprietary information with its patterns. */
const FCP = {
  size: 0x80,
  descriptor: 0x82,
  proprietary: 0xa5,
  fillPattern: 0xc1,
  repeatPattern: 0xc2,
} as const

/** The file with `octets` from its start on; what follows is `FF`. No pattern fills it any more. */
export function withContent(file: Piece, octets: Uint8Array): Piece {
  const descriptor = partOf(file, FILE.descriptor)
  const content = leaf(FILE.content, octets)
  if (descriptor === undefined) return branch(file.tag, [content])
  const plain = withEach(descriptor, FCP.proprietary, (info) =>
    without(info, FCP.fillPattern, FCP.repeatPattern),
  )
  return branch(file.tag, [plain, content])
}

/** The same; a file that is too short for it is made longer. */
export function withRoomFor(file: Piece, octets: Uint8Array): Piece {
  const descriptor = partOf(file, FILE.descriptor)
  const size = sizeOf(file)
  if (descriptor === undefined || size === undefined || size >= octets.length)
    return withContent(file, octets)
  const longer = withPart(descriptor, leaf(FCP.size, minimal(octets.length)))
  return withContent(withPart(file, longer), octets)
}

/** The same for the first record of a file of records; the others are `FF`. */
export function withRecord(file: Piece, octets: Uint8Array): Piece {
  const descriptor = partOf(file, FILE.descriptor)
  const kind = partOf(descriptor, FCP.descriptor)?.value
  const size = sizeOf(file)
  const length = recordLength(file)
  if (descriptor === undefined || kind === undefined || length === undefined || size === undefined)
    return withContent(file, octets)
  if (length === 0 || length >= octets.length) return withContent(file, octets)
  const records = Math.floor(size / length)
  const wider = Uint8Array.of(kind[0] ?? 0, kind[1] ?? 0, octets.length >> 8, octets.length & 0xff)
  const described = withPart(descriptor, leaf(FCP.descriptor, wider))
  const sized = withPart(described, leaf(FCP.size, minimal(records * octets.length)))
  return withContent(withPart(file, sized), octets)
}

/** Octets of a record as its FCP says; undefined where the specification's template does, or it has no records. */
export function recordLength(file: Piece): number | undefined {
  const kind = partAt(file, FILE.descriptor, FCP.descriptor)?.value
  return kind?.length === 4 ? ((kind[2] ?? 0) << 8) | (kind[3] ?? 0) : undefined
}

/** The file with `octets` from `start` on, where one of its contents has that place; otherwise itself. */
export function withOctetsAt(file: Piece, start: number, octets: Uint8Array): Piece {
  let at = 0
  for (const [i, part] of (file.parts ?? []).entries()) {
    if (part.tag === FILE.offset) at += numberOf(part.value)
    if (part.tag !== FILE.content) continue
    const from = start - at
    if (from >= 0 && from + octets.length <= part.value.length) {
      const value = Uint8Array.from(part.value)
      value.set(octets, from)
      return branch(file.tag, (file.parts ?? []).with(i, leaf(FILE.content, value)))
    }
    at += part.value.length
  }
  return file
}

/** Whether anything but a pattern is put into it, or it is not made at all. */
export function hasContents(file: Piece): boolean {
  return file.parts?.some(({ tag }) => tag !== FILE.descriptor) ?? false
}

/** What is put into it from its start on; undefined when that is not one content. */
export function contentOf(file: Piece | undefined): Uint8Array | undefined {
  const first = file?.parts?.find(({ tag }) => tag !== FILE.descriptor)
  return first?.tag === FILE.content ? first.value : undefined
}

/** Octets of a file as its FCP says; undefined where the specification's template does. */
export function sizeOf(file: Piece): number | undefined {
  const size = partAt(file, FILE.descriptor, FCP.size)
  return size === undefined ? undefined : numberOf(size.value)
}

/** Octets that its contents and the gaps between them reach to. */
export function reachOf(file: Piece): number {
  return (file.parts ?? []).reduce((sum, { tag, value }) => {
    if (tag === FILE.offset) return sum + numberOf(value)
    return tag === FILE.content ? sum + value.length : sum
  }, 0)
}

function numberOf(octets: Uint8Array): number {
  return octets.reduce((sum, octet) => sum * 256 + octet, 0)
}

function minimal(size: number): Uint8Array {
  return size > 0xff ? Uint8Array.of(size >> 8, size & 0xff) : Uint8Array.of(size)
}
