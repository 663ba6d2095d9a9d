/** A longer line is cut there; the rest of it is dropped. */
export const LINE_CHARACTERS = 4_096

/** Cuts a byte stream into lines, however it is split into chunks. */
export interface LineSplitter {
  /** The lines that this chunk completes, without line ends. */
  push(chunk: Uint8Array): readonly string[]
  /** What is left without a line end, when the stream has ended. */
  end(): readonly string[]
}

/** A splitter with bounded memory: a line is at most `LINE_CHARACTERS` long. Broken UTF-8 becomes U+FFFD. */
export function lineSplitter(): LineSplitter {
  const decoder = new TextDecoder()
  let rest = ''
  const take = (text: string): readonly string[] => {
    const parts = text.split('\n')
    const last = parts.pop() ?? ''
    const lines = parts.map((part, index) => bounded(index === 0 ? rest + part : part))
    rest = bounded(parts.length === 0 ? rest + last : last)
    return lines.map(withoutReturn)
  }
  return {
    push: (chunk) => take(decoder.decode(chunk, { stream: true })),
    end: () => {
      const lines = take(decoder.decode())
      const left = rest
      rest = ''
      return left === '' ? lines : [...lines, withoutReturn(left)]
    },
  }
}

function bounded(line: string): string {
  return line.length > LINE_CHARACTERS ? line.slice(0, LINE_CHARACTERS) : line
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}
