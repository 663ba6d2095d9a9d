/** Cuts bytes into lines. `add` answers the lines that are complete, or undefined when one gets too long. */
export interface LineReader {
  add(bytes: Buffer): readonly string[] | undefined
}

/** A reader for lines of at most `limit` bytes. */
export function lineReader(limit: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    add: (bytes) => {
      const lines: string[] = []
      let from = 0
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
        lines.push(Buffer.concat([...parts, bytes.subarray(from, end)]).toString('utf8'))
        parts = []
        size = 0
        from = end + 1
      }
      if (from < bytes.length) {
        parts.push(bytes.subarray(from))
        size += bytes.length - from
      }
      return size > limit ? undefined : lines
    },
  }
}
