/** A page as its file has it: what its first lines say of it, and the rest. */
export interface Marked {
  /** The package without which there is no such page. */
  readonly needs: string | undefined
  /** What people call it, which the page itself does not say: words for the search. */
  readonly words: string
  readonly text: string
}

const FRONT = /^---\n([\s\S]*?)\n---\n+/
const OPENING = /^<!-- package: ([a-z0-9-]+) -->$/
const CLOSING = '<!-- /package -->'
const AT_END = / *<!-- package: ([a-z0-9-]+) -->$/
const COMMENT = /^ *<!--[\s\S]*?-->\n?/gm

/** Reads what stands between two lines of `---` at the beginning: `package: mesh`, `search: lost phone, stolen`. */
export function readFront(source: string): Marked {
  const front = FRONT.exec(source)
  const needs = /^package: *([a-z0-9-]+)$/m.exec(front?.[1] ?? '')?.[1]
  const words = /^search: *(.+)$/m.exec(front?.[1] ?? '')?.[1] ?? ''
  return { needs, words, text: front === null ? source : source.slice(front[0].length) }
}

/**
 * The text without what belongs to packages that a build lacks, and without marks. `<!-- package: mesh -->` on a line of its own
 * begins such a part and `<!-- /package -->` ends it; at the end of a line it speaks of that line alone. Throws when a part does
 * not end, begins within another, or ends without having begun.
 */
export function keepFor(text: string, lacks: ReadonlySet<string>): string {
  const kept: string[] = []
  let inside: string | undefined
  for (const [at, line] of text.split('\n').entries()) {
    const opens = OPENING.exec(line)?.[1]
    if (opens !== undefined || line === CLOSING) {
      if ((opens === undefined) === (inside === undefined))
        throw new Error(`line ${at + 1}: ${line} does not fit what stands before it`)
      inside = opens
      continue
    }
    const alone = AT_END.exec(line)
    const isLeftOut = [inside, alone?.[1]].some((name) => name !== undefined && lacks.has(name))
    if (!isLeftOut) kept.push(alone === null ? line : line.slice(0, alone.index))
  }
  if (inside !== undefined) throw new Error(`the part of ${inside} does not end`)
  return kept
    .join('\n')
    .replaceAll(COMMENT, '')
    .replaceAll(/\n{3,}/g, '\n\n')
}

/** The packages that marks of a text name. */
export function packagesIn(source: string): ReadonlySet<string> {
  const named = [...source.matchAll(/<!-- package: ([a-z0-9-]+) -->/g)].map(([, name = '']) => name)
  const { needs } = readFront(source)
  return new Set(needs === undefined ? named : [needs, ...named])
}
