import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isNode, isScalar, isSeq, type Pair, parseDocument, stringify } from 'yaml'

/** Keys of maps and places in lists, from the top. */
export type YamlPath = readonly (string | number)[]

/** What one place of a file becomes; undefined takes it away. */
export interface YamlEdit {
  readonly path: YamlPath
  readonly value: unknown
}

/** A file as it is written. Every scalar is a text, as the cores read them: `05` is not 5. */
export function documentOf(text: string): Document.Parsed {
  return parseDocument(text, { schema: 'failsafe', keepSourceTokens: true, uniqueKeys: false })
}

/**
 * A text with edits in it. Whatever they do not touch stays byte for byte; where a file is written in a way that no line of it
 * can be replaced alone, comments stay and blanks may move. Throws for a text that is no YAML.
 */
export function editedYaml(text: string, edits: readonly YamlEdit[]): string {
  return edits.reduce(edited, text)
}

function edited(text: string, edit: YamlEdit): string {
  const wanted = documentOf(text)
  const [error] = wanted.errors
  if (error !== undefined) throw new Error(`no YAML: ${error.message.split('\n')[0]}`)
  if (edit.value === undefined) wanted.deleteIn(edit.path)
  else setIn(wanted, edit)
  const spliced = splice(text, edit)
  if (spliced !== undefined) {
    const got = documentOf(spliced)
    if (got.errors.length === 0 && isDeepStrictEqual(got.toJS(), wanted.toJS())) return spliced
  }
  return wanted.toString({ lineWidth: 0 })
}

/** Sets a place, and the maps on the way that are missing or empty. */
function setIn(document: Document.Parsed, { path, value }: YamlEdit): void {
  for (const depth of path.keys()) {
    const above = document.getIn(path.slice(0, depth), true)
    if (depth > 0 && isScalar(above)) document.setIn(path.slice(0, depth), document.createNode({}))
  }
  document.setIn(path, document.createNode(textsOf(value)))
}

/** With every number and truth value as the text that the core reads. */
function textsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textsOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, textsOf(inner)]))
  return String(value)
}

/** The text with only the lines of that place replaced; undefined where it is not written in lines of its own. */
function splice(text: string, { path, value }: YamlEdit): string | undefined {
  const document = documentOf(text)
  const name = path.at(-1)
  const above = document.getIn(path.slice(0, -1), true)
  if (isSeq(above) && typeof name === 'number') {
    const item = above.items[name]
    if (value === undefined || item === undefined) return respacedList(text, above, name, value)
    return isCollection(value) ? undefined : replacedScalar(text, item, value)
  }
  if (!isMap(above) || typeof name !== 'string') return undefined
  const pair = above.items.find(({ key }) => isScalar(key) && key.value === name)
  if (pair === undefined) return value === undefined ? text : added(text, above, name, value)
  const same =
    value === undefined || isCollection(value) ? undefined : replacedScalar(text, pair.value, value)
  return same ?? replacedPair(text, above, pair, value)
}

/** The text without the lines of an entry of a list, or with those of a new one behind the last. */
function respacedList(
  text: string,
  { items, flow }: { readonly items: readonly unknown[]; readonly flow?: boolean },
  at: number,
  value: unknown,
): string | undefined {
  const item = items[value === undefined ? at : at - 1]
  const start = isNode(item) ? item.range?.[0] : undefined
  const end = lineEnd(text, lastOfItem(item))
  if (flow === true || start === undefined || end === undefined) return undefined
  const line = text.lastIndexOf('\n', start - 1) + 1
  const dash = /^( *)- *$/.exec(text.slice(line, start))
  if (dash === null) return undefined
  if (value === undefined) return text.slice(0, line) + text.slice(end)
  const before = text.slice(0, end)
  const lines = stringify([value], {
    lineWidth: 0,
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
  })
  return `${before}${before.endsWith('\n') ? '' : '\n'}${lines.replaceAll(/^(?=.)/gm, dash[1] ?? '')}${text.slice(end)}`
}

function isCollection(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function replacedScalar(text: string, node: unknown, value: unknown): string | undefined {
  if (!isScalar(node) || !node.range || node.source === undefined || node.source === '') return undefined
  const [start, end] = node.range
  return text.slice(0, start) + scalarText(value) + text.slice(end)
}

function scalarText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** The lines of a key and its value, for a map that begins in that column. */
function linesOf(name: string, value: unknown, column: number): string {
  const lines = stringify(
    { [name]: value },
    { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' },
  )
  return lines.replaceAll(/^(?=.)/gm, ' '.repeat(column))
}

function added(
  text: string,
  map: { readonly items: readonly Pair[]; readonly flow?: boolean },
  name: string,
  value: unknown,
): string | undefined {
  const column = columnOf(text, map.items[0])
  const end = endOf(text, map.items.at(-1))
  if (map.flow === true || column === undefined || end === undefined) return undefined
  const before = text.slice(0, end)
  return `${before}${before.endsWith('\n') ? '' : '\n'}${linesOf(name, value, column)}${text.slice(end)}`
}

function replacedPair(
  text: string,
  map: { readonly items: readonly Pair[]; readonly flow?: boolean },
  pair: Pair,
  value: unknown,
): string | undefined {
  const column = columnOf(text, map.items[0])
  const start = startOf(pair)
  const end = endOf(text, pair)
  if (map.flow === true || column === undefined || start === undefined || end === undefined) return undefined
  const name = isScalar(pair.key) ? String(pair.key.value) : ''
  const before = text.slice(0, start)
  if (value !== undefined) return before + linesOf(name, value, column).slice(column) + text.slice(end)
  // With its blanks, unless it is the first key behind `- `.
  return / *$/.exec(before)?.[0].length === column
    ? before.slice(0, -column || undefined) + text.slice(end)
    : undefined
}

function startOf(pair: Pair | undefined): number | undefined {
  return isNode(pair?.key) ? pair.key.range?.[0] : undefined
}

/** In which column a key begins: behind `- ` of a list too. */
function columnOf(text: string, pair: Pair | undefined): number | undefined {
  const start = startOf(pair)
  return start === undefined ? undefined : start - (text.lastIndexOf('\n', start - 1) + 1)
}

/** Where the line ends on which the last word of a pair is: comments below belong to what follows. */
function endOf(text: string, pair: Pair | undefined): number | undefined {
  return lineEnd(text, lastOf(pair))
}

function lineEnd(text: string, last: number | undefined): number | undefined {
  if (last === undefined) return undefined
  const line = text.indexOf('\n', last)
  return line === -1 ? text.length : line + 1
}

/** The end of the last scalar, or of the last list in brackets. */
function lastOf(pair: Pair | undefined): number | undefined {
  const value: unknown = pair?.value
  if ((isMap(value) || isSeq(value)) && value.flow !== true && value.items.length > 0) {
    const item: unknown = value.items.at(-1)
    return isMap(value) ? lastOf(item as Pair) : lastOfItem(item)
  }
  if (isNode(value) && value.range && !(isScalar(value) && value.source === '')) return value.range[1]
  return isNode(pair?.key) ? pair.key.range?.[1] : undefined
}

function lastOfItem(item: unknown): number | undefined {
  if (isMap(item) && item.flow !== true) return lastOf(item.items.at(-1))
  return isNode(item) ? item.range?.[1] : undefined
}
