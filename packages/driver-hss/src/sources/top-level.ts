/** A JSON value, and the line on which it begins. */
interface Piece {
  readonly json: string
  readonly line: number
}

/** The values of a text one after the other: objects or lists, on a line each, over many lines, or with commas between them. */
export function topLevel(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let [depth, start, line, begun] = [0, 0, 1, 1]
  let isText = false
  const end = (at: number): void => {
    const json = text.slice(start, at).trim().replace(/^,\s*/, '')
    if (json !== '' && json !== ',') pieces.push({ json, line: begun })
    start = at
    begun = line
  }
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]
    if (sign === '\n') {
      line += 1
      // What is no value is told of with its line.
      if (depth === 0 && !isText) end(at)
    }
    if (isText) {
      if (sign === '\\') at += 1
      else if (sign === '"') isText = false
      continue
    }
    if (sign === '"') isText = true
    if (sign === '{' || sign === '[') {
      if (depth === 0) begun = line
      depth += 1
    }
    if (sign === '}' || sign === ']') {
      depth -= 1
      if (depth <= 0) {
        depth = 0
        end(at + 1)
      }
    }
  }
  end(text.length)
  return pieces
}
