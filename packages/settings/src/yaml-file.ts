import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
} from 'yaml'
import {
  type ConfigTree,
  dotted,
  type Mark,
  type Problem,
  pointerOf,
  type Segment,
  setOwn,
} from './config-tree.ts'

/** A configuration file is a few kilobytes; a larger one is a mistake. */
const MAX_FILE_CHARACTERS = 1_048_576
/** Bounds what anchors can multiply (a file of nested aliases grows without limit otherwise). */
const MAX_NODES = 50_000
/** One syntax error brings many after it. */
const MAX_SYNTAX_ERRORS = 5
/** Deeper than any schema. */
const MAX_DEPTH = 32
const TOO_DEEP = `is not YAML that can be read: it is nested too deeply, at most ${MAX_DEPTH} levels are taken`
/** How the runtime tells that the parser came to its end. */
const INTERNAL = /call stack/i

interface Walk {
  readonly file: string
  readonly document: Document
  readonly lines: LineCounter
  readonly tree: ConfigTree
  readonly problems: Problem[]
  /** Node budget that is left. */
  left: number
}

/** What a file says: its tree and what is wrong with its syntax. Values are not judged here. */
export interface ParsedFile {
  readonly tree: ConfigTree
  readonly problems: readonly Problem[]
}

/**
 * Reads YAML 1.2 (JSON is a part of it) and keeps where every value stands.
 *
 * Never throws. Problems: syntax errors, duplicate keys, keys that are no text, aliases that multiply or loop.
 */
export function parseConfigText(file: string, text: string): ParsedFile {
  const tree: ConfigTree = { root: {}, marks: new Map() }
  const fail = (message: string): ParsedFile => ({ tree, problems: [{ place: file, key: '', message }] })
  if (text.length > MAX_FILE_CHARACTERS) return fail(`is larger than ${MAX_FILE_CHARACTERS} characters`)
  const lines = new LineCounter()
  let document: Document
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
      version: '1.2',
    })
  } catch {
    return fail(TOO_DEEP)
  }
  const walk: Walk = { file, document, lines, tree, problems: [], left: MAX_NODES }
  for (const error of [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_ERRORS)) {
    walk.problems.push({ place: placeAt(walk, error.pos[0]), key: '', message: `YAML: ${error.message}` })
  }
  const deep = walk.problems.find(({ message }) => INTERNAL.test(message))
  // One place is enough: what follows is the parser's own trouble with it.
  if (deep !== undefined) return { tree, problems: [{ ...deep, message: TOO_DEEP }] }
  if (walk.problems.length === 0) readRoot(walk)
  return { tree, problems: walk.problems }
}

function readRoot(walk: Walk): void {
  const contents = walk.document.contents
  if (contents === null || (isScalar(contents) && contents.value === null)) return
  const place = placeAt(walk, contents.range?.[0] ?? 0)
  if (!isMap(contents)) {
    walk.problems.push({ place, key: '', message: 'must be a map of keys and values' })
    return
  }
  walk.tree.marks.set('', { place, keyPlace: place, kind: 'file' })
  const value = read(walk, contents, [], undefined)
  Object.assign(walk.tree, { root: value })
}

function placeAt(walk: Walk, offset: number): string {
  const { line, col } = walk.lines.linePos(offset)
  return `${walk.file}:${line}:${col}`
}

/** The plain value of a node. `via` is the place of the alias that led here. */
function read(walk: Walk, node: Node | null, path: readonly Segment[], via: string | undefined): unknown {
  walk.left--
  if (walk.left < 0 || path.length > MAX_DEPTH) {
    if (walk.left >= -1 || path.length > MAX_DEPTH) tooMuch(walk, path)
    return undefined
  }
  if (isAlias(node)) return readAlias(walk, node, path, via)
  if (isMap(node)) return readMap(walk, node.items, path, via)
  if (isSeq(node)) {
    return node.items.map((item, index) => {
      // A parsed document holds nodes; null stands for an absent one.
      const child = item as Node | null
      mark(walk, child, [...path, index], undefined, via)
      return read(walk, child, [...path, index], via)
    })
  }
  return isScalar(node) ? node.value : null
}

function tooMuch(walk: Walk, path: readonly Segment[]): void {
  const place = walk.tree.marks.get(pointerOf(path.slice(0, 1)))?.place ?? walk.file
  const message = `holds more than ${MAX_NODES} values or ${MAX_DEPTH} levels; aliases must not multiply`
  if (!walk.problems.some((problem) => problem.message === message)) {
    walk.problems.push({ place, key: dotted(path.slice(0, 1)), message })
  }
}

function readAlias(walk: Walk, alias: Alias, path: readonly Segment[], via: string | undefined): unknown {
  const here = via ?? placeAt(walk, alias.range?.[0] ?? 0)
  const target = alias.resolve(walk.document)
  if (target === undefined) {
    walk.problems.push({
      place: here,
      key: dotted(path),
      message: `YAML: no anchor "${alias.source}" before this`,
    })
    return undefined
  }
  return read(walk, target, path, here)
}

function readMap(
  walk: Walk,
  pairs: readonly { readonly key: unknown; readonly value: unknown }[],
  path: readonly Segment[],
  via: string | undefined,
): Record<string, unknown> {
  const map: Record<string, unknown> = {}
  for (const pair of pairs) {
    // A parsed document holds nodes; null stands for an absent one.
    const keyNode = pair.key as Node | null
    const valueNode = pair.value as Node | null
    const keyPlace = via ?? placeAt(walk, keyNode?.range?.[0] ?? 0)
    if (!isScalar(keyNode) || keyNode.value === null || typeof keyNode.value === 'object') {
      walk.problems.push({ place: keyPlace, key: dotted(path), message: 'has a key that is no text' })
      continue
    }
    const key = typeof keyNode.value === 'string' ? keyNode.value : (keyNode.source ?? String(keyNode.value))
    const inner = [...path, key]
    if (Object.hasOwn(map, key)) {
      const first = walk.tree.marks.get(pointerOf(inner))?.keyPlace ?? walk.file
      walk.problems.push({ place: keyPlace, key: dotted(inner), message: `is set twice; first at ${first}` })
      continue
    }
    mark(walk, valueNode ?? keyNode, inner, keyPlace, via)
    setOwn(map, key, read(walk, valueNode, inner, via))
  }
  return map
}

function mark(
  walk: Walk,
  node: Node | null,
  path: readonly Segment[],
  keyPlace: string | undefined,
  via: string | undefined,
): void {
  const place = via ?? placeAt(walk, node?.range?.[0] ?? 0)
  const raw = isScalar(node) && typeof node.value !== 'string' ? node.source : undefined
  const made: Mark = {
    place,
    keyPlace: keyPlace ?? place,
    kind: 'file',
    ...(raw === undefined ? {} : { raw }),
  }
  walk.tree.marks.set(pointerOf(path), made)
}
