import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '@steeple/contracts'
import { isMap, isScalar, isSeq, parse, stringify } from 'yaml'
import { redacted } from '../redact.ts'
import { documentOf, editedYaml, type YamlEdit, type YamlPath } from './yaml-edit.ts'

/** A file of an operator, beside what this service rendered for the same settings when it was taken in. */
export interface Overlay {
  readonly theirs: string
  readonly rendered: string
}

/**
 * What an operator's list becomes where ours becomes another: its own entries, as they are, and new ones behind them. Undefined
 * where ours takes its place. All values are texts.
 */
export type FitList = (
  path: YamlPath,
  list: Readonly<Record<'before' | 'after' | 'found', readonly unknown[]>>,
) => readonly unknown[] | undefined

/** Whether overlays are merged key by key in it; others are kept as a whole while nothing of ours changes in them. */
export function isYaml(path: string): boolean {
  return path.endsWith('.yaml')
}

/** The operator's file with what `after` renders otherwise than it was rendered then. Throws for one that is no YAML, or no longer of its daemon. */
export function merged(path: string, { theirs, rendered }: Overlay, after: string, fit?: FitList): string {
  // One that no daemon could read must not become its file.
  const found = isYaml(path) ? textValue(theirs) : undefined
  if (!isYaml(path)) return rendered === after ? theirs : after
  const before = parse(rendered)
  const sections = isRecord(before) ? Object.keys(before) : []
  const has = isRecord(found) ? found : {}
  if (sections.length > 0 && !sections.some((key) => Object.hasOwn(has, key)))
    throw new Error(
      `it has none of the sections ${sections.join(', ')}: put its lines back, or remove the file`,
    )
  return rendered === after ? theirs : editedYaml(theirs, editsBetween([], before, parse(after), found, fit))
}

/** What is to be done to `found`, which was like `before`, for it to follow to `after`. */
function editsBetween(
  path: YamlPath,
  before: unknown,
  after: unknown,
  found: unknown,
  fit: FitList | undefined,
): readonly YamlEdit[] {
  if (isRecord(before) && isRecord(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    const inner = isRecord(found) ? found : {}
    return [...keys].flatMap((key) => editsBetween([...path, key], before[key], after[key], inner[key], fit))
  }
  if (JSON.stringify(before) === JSON.stringify(after) || (found !== undefined && isSameText(found, after)))
    return []
  if (Array.isArray(before) && Array.isArray(after) && Array.isArray(found)) {
    const fitted = fit?.(path, { before, after, found })
    if (fitted !== undefined) return listEdits(path, found, fitted)
  }
  if (
    Array.isArray(before) &&
    Array.isArray(after) &&
    Array.isArray(found) &&
    before.length === after.length
  ) {
    const edits = after.flatMap((item: unknown, at) =>
      editsBetween([...path, at], before[at], item, found[at], fit),
    )
    // An entry that is not the one that was rendered is somebody else's: ours does not go into its lines.
    if (edits.every((edit) => isLike(at(before, edit.path, path.length), at(found, edit.path, path.length))))
      return edits
  }
  return [{ path, value: after }]
}

/** Entries that go, the last first, and those that come behind the others. */
function listEdits(
  path: YamlPath,
  found: readonly unknown[],
  fitted: readonly unknown[],
): readonly YamlEdit[] {
  const gone = found.flatMap((item, at) => (fitted.includes(item) ? [] : [at]))
  const added = fitted.filter((item) => !found.includes(item))
  return [
    ...gone.toReversed().map((at) => ({ path: [...path, at], value: undefined })),
    ...added.map((value, at) => ({ path: [...path, found.length - gone.length + at], value })),
  ]
}

/** What stands at the rest of a path. */
function at(value: unknown, path: YamlPath, from: number): unknown {
  return path
    .slice(from)
    .reduce<unknown>((inner, name) => (inner as Record<string | number, unknown> | undefined)?.[name], value)
}

/** The same, as the cores read it: with every number as its text. */
function isSameText(found: unknown, after: unknown): boolean {
  return after !== undefined && isDeepStrictEqual(found, textValue(stringify(after)))
}

/** The same as a text, as the cores read it. */
function isLike(one: unknown, other: unknown): boolean {
  return one === undefined || String(one) === String(other)
}

/** A key that is written otherwise here and there. */
interface Difference {
  /** Dotted, with the place in a list: `mme.tai.0.tac`. */
  readonly key: string
  /** As the operator's file has it; undefined when it has none. */
  readonly found: string | undefined
  /** As this service writes it. */
  readonly written: string
}

/** How an operator's file differs from what is rendered. No secret is in it. */
export interface Compared {
  readonly differences: readonly Difference[]
  /** Keys that this service does not write. */
  readonly kept: readonly string[]
}

/** Compares two YAML files as texts, as the cores read them. Throws for a file that is no YAML. */
export function compared(theirs: string, rendered: string): Compared {
  return comparedAt([], textValue(theirs), textValue(rendered))
}

function comparedAt(path: readonly string[], found: unknown, written: unknown): Compared {
  if (isRecord(found) && isRecord(written)) {
    const own = Object.keys(found).filter((key) => !(key in written))
    const inner = Object.entries(written).map(([key, value]) => comparedAt([...path, key], found[key], value))
    return joined(
      inner,
      own.map((key) => [...path, key].join('.')),
    )
  }
  // Of a list of several it is told as a whole: an entry may stand at another place.
  if (Array.isArray(found) && Array.isArray(written) && found.length === 1 && written.length === 1)
    return joined(written.map((value: unknown, at) => comparedAt([...path, String(at)], found[at], value)))
  if (JSON.stringify(found) === JSON.stringify(written)) return joined([])
  // An empty key is as none.
  const shown = found === undefined || found === '' ? undefined : shownValue(path, found)
  return {
    differences: [{ key: path.join('.'), found: shown, written: shownValue(path, written) }],
    kept: [],
  }
}

function joined(parts: readonly Compared[], kept: readonly string[] = []): Compared {
  return {
    differences: parts.flatMap((part) => part.differences),
    kept: [...kept, ...parts.flatMap((part) => part.kept)],
  }
}

/** A file's content, its scalars as texts. Throws for one that is no YAML. */
export function textValue(text: string): unknown {
  const document = documentOf(text)
  const [error] = document.errors
  if (error !== undefined) throw new Error(error.message.split('\n')[0])
  return plain(document.contents)
}

/** As the file has it: an alias is resolved by nobody here, since no file of a core has one. */
function plain(node: unknown): unknown {
  if (isMap(node))
    return Object.fromEntries(
      node.items.map(({ key, value }) => [isScalar(key) ? String(key.value) : String(key), plain(value)]),
    )
  if (isSeq(node)) return node.items.map(plain)
  return isScalar(node) ? String(node.value ?? '') : undefined
}

function shownValue(path: readonly string[], value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // What must not be shown is told by its name too.
  const prefix = `${path.at(-1) ?? ''}: `
  return redacted(prefix + text).slice(prefix.length)
}

/** The operator's file with these keys as this service writes them. Throws `Error` for a key that does not differ. */
export function withOurs({ theirs, rendered }: Overlay, keys: readonly string[]): string {
  const known = new Set(compared(theirs, rendered).differences.map(({ key }) => key))
  const unknown = keys.find((key) => !known.has(key))
  if (unknown !== undefined) throw new Error(`${unknown} is no key that this service would write otherwise`)
  const value: unknown = parse(rendered)
  return editedYaml(
    theirs,
    keys.map((key) => {
      const path = key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      return {
        path,
        value: path.reduce<unknown>(
          (inner, part) => (inner as Record<string | number, unknown>)[part],
          value,
        ),
      }
    }),
  )
}
