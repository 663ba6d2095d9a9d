/** A JSON value, and the line on which it begins. */
interface Piece {
  readonly json: string
  readonly line: number
}

/** A text, a bracket or the end of a line. */
const TOKEN = /"(?:\\.|[^"\\])*"|[{}[\]]|\n/gs

const STEPS: ReadonlyMap<string, number> = new Map([
  ['{', 1],
  ['[', 1],
  ['}', -1],
  [']', -1],
])

/** The values of a text one after the other: objects or lists, on a line each, over many lines, or with commas between them. */
export function topLevel(text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let [depth, start, line, begun] = [0, 0, 1, 1]
  const end = (at: number): void => {
    const json = text.slice(start, at).trim().replace(/^,\s*/, '')
    if (json !== '') pieces.push({ json, line: begun })
    start = at
    begun = line
  }
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const step = STEPS.get(token) ?? 0
    if (token === '\n') line += 1
    if (step > 0 && depth === 0) begun = line
    depth = Math.max(0, depth + step)
    // What is no value is told of with its line.
    if (depth === 0 && !token.startsWith('"')) end(token === '\n' ? index : index + 1)
  }
  end(text.length)
  return pieces
}
