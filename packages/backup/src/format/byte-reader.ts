/** Octets of a stream, taken in the portions that the reader wants. */
export interface ByteReader {
  /** Exactly `count` octets; fewer only at the end of the stream. */
  take(count: number): Promise<Buffer>
  /** At most `count` octets in pieces as they come; fewer in all only at the end of the stream. */
  pieces(count: number): AsyncGenerator<Buffer>
  /** Whether nothing is left. */
  isOver(): Promise<boolean>
  /** What is left, in pieces. */
  rest(): AsyncGenerator<Buffer>
}

export function byteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const chunks = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const more = async (): Promise<boolean> => {
    while (held.length === 0) {
      const { done, value } = await chunks.next()
      if (done === true) return false
      held = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    return true
  }
  const next = (most: number): Buffer => {
    const piece = held.subarray(0, most)
    held = held.subarray(piece.length)
    return piece
  }
  async function* pieces(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0 && (await more()); ) {
      const piece = next(left)
      left -= piece.length
      yield piece
    }
  }
  return {
    take: async (count) => {
      const parts: Buffer[] = []
      for await (const piece of pieces(count)) parts.push(piece)
      return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
    },
    pieces,
    isOver: async () => !(await more()),
    rest: () => pieces(Number.MAX_SAFE_INTEGER),
  }
}
