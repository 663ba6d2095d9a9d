import { freeOctets } from '@steeple/contracts'

/** What has come of a body. */
export interface Gathered {
  add(chunk: Buffer): void
  /** All of it. */
  bytes(): Buffer
  /** Nobody wants it. */
  drop(): void
}

/** For a small body, which mostly comes in one piece. */
export function createParts(): Gathered {
  const chunks: Buffer[] = []
  return {
    add: (chunk) => {
      chunks.push(chunk)
    },
    bytes: () => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
    drop: () => undefined,
  }
}

/**
 * For a large body of at most `most` octets: it is held once, and not in pieces as well. Memory that nothing was written to
 * takes none, and a piece that was copied is given back at once: a collection of garbage may be far.
 */
export function createWhole(most: number): Gathered {
  const whole = Buffer.allocUnsafeSlow(most)
  let size = 0
  return {
    add: (chunk) => {
      size += chunk.copy(whole, size)
      freeOctets(chunk)
    },
    bytes: () => whole.subarray(0, size),
    drop: () => freeOctets(whole),
  }
}
