/** The last lines of something, as many as fit. */
export interface LineRing {
  /** `order` grows with each line of all rings, so that lines of several can be put together. */
  add(order: number, line: string): void
  /** The oldest first. */
  lines(): readonly (readonly [order: number, line: string])[]
}

/** A line that is longer than this is kept without its end. */
const LONGEST_LINE = 16_384
/** Before each line: its order, and how many octets it has. */
const HEAD_OCTETS = 12
const LENGTH_AT = 8

/**
 * A ring that holds at most so many octets, heads of lines included. It is no list of texts: each of them would outlive the
 * request that it is about by some hundred others, and be moved to the old part of the heap for nothing.
 */
export function createLineRing(mostOctets: number): LineRing {
  const octets = Buffer.allocUnsafeSlow(mostOctets)
  let held = 0
  /** Where the oldest line begins, and where the next one will. */
  let first = 0
  let next = 0
  /** Where the last line before the end of the ring ends, while lines before `first` are newer than those behind. */
  let turn = -1
  const drop = (): void => {
    first += HEAD_OCTETS + octets.readUInt32LE(first + LENGTH_AT)
    held -= 1
    if (first !== turn) return
    first = 0
    turn = -1
  }
  const makeRoom = (size: number): void => {
    if (next + size > mostOctets) {
      while (held > 0 && first >= next) drop()
      turn = next
      next = 0
    }
    while (held > 0 && first >= next && first < next + size) drop()
    if (held > 0) return
    first = next
    turn = -1
  }
  return {
    add: (order, line) => {
      const kept = line.length > LONGEST_LINE ? line.slice(0, LONGEST_LINE) : line
      const length = Buffer.byteLength(kept)
      const size = HEAD_OCTETS + length
      if (size > mostOctets) return
      makeRoom(size)
      octets.writeDoubleLE(order, next)
      octets.writeUInt32LE(length, next + LENGTH_AT)
      octets.write(kept, next + HEAD_OCTETS, length === kept.length ? 'latin1' : 'utf8')
      next += size
      held += 1
    },
    lines: () => {
      let at = first
      return Array.from({ length: held }, () => {
        if (at === turn) at = 0
        const begin = at + HEAD_OCTETS
        const end = begin + octets.readUInt32LE(at + LENGTH_AT)
        const line = [octets.readDoubleLE(at), octets.toString('utf8', begin, end)] as const
        at = end
        return line
      })
    },
  }
}

/** What is kept of each kind: many requests must not push out the one warning that tells why. */
const KEPT = { request: 131_072, calm: 262_144, urgent: 262_144 } as const

/** The last lines of the log. */
export interface RecentLines {
  add(kind: keyof typeof KEPT, line: string): void
  /** In the order in which they were written. */
  lines(): readonly string[]
}

/** Keeps the last 128 KiB of requests, and 256 KiB each of warnings and errors and of the rest. */
export function createRecentLines(): RecentLines {
  const rings = {
    request: createLineRing(KEPT.request),
    calm: createLineRing(KEPT.calm),
    urgent: createLineRing(KEPT.urgent),
  }
  let order = 0
  return {
    add: (kind, line) => rings[kind].add(order++, line),
    lines: () =>
      Object.values(rings)
        .flatMap((ring) => ring.lines())
        .toSorted(([a], [b]) => a - b)
        .map(([, line]) => line),
  }
}
