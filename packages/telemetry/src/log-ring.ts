/** The last lines of something, as many as fit. */
export interface LineRing {
  /** `order` grows with each line of all rings, so that lines of several can be put together. */
  add(order: number, line: string): void
  /** The oldest first. */
  lines(): readonly (readonly [order: number, line: string])[]
}

/** A line that is longer than this is kept without its end. */
const LONGEST_LINE = 16_384

const GONE: readonly [number, string] = [0, '']

/** A ring that holds at most so many characters. */
export function createLineRing(mostCharacters: number): LineRing {
  let held: (readonly [number, string])[] = []
  /** Lines before it are gone. */
  let first = 0
  let characters = 0
  return {
    add: (order, line) => {
      const kept = line.length > LONGEST_LINE ? line.slice(0, LONGEST_LINE) : line
      held.push([order, kept])
      characters += kept.length
      while (characters > mostCharacters) {
        characters -= held[first]?.[1].length ?? 0
        // Its place is given up later, its text at once.
        held[first++] = GONE
      }
      // Moved as seldom as half of it is gone: a shift for each line costs its length.
      if (first > 1_024 && first > held.length / 2) {
        held = held.slice(first)
        first = 0
      }
    },
    lines: () => held.slice(first),
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
