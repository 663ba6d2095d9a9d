/** One step into a tree: a key of a map or an index of a list. */
export type Segment = string | number

/** Where a value of the configuration was set. */
export interface Mark {
  /** `file:line:column`, a variable or a flag. */
  readonly place: string
  /** The same for the key of the value; equal to `place` when there is no difference. */
  readonly keyPlace: string
  readonly kind: 'file' | 'environment' | 'flag'
  /** The scalar as it was written, when that differs from the value. */
  readonly raw?: string
}

/** A configuration as it was read, before any validation: plain values and where each of them comes from. */
export interface ConfigTree {
  readonly root: Record<string, unknown>
  /** By `pointerOf` of the path. */
  readonly marks: Map<string, Mark>
}

/** One broken rule. `place` is empty when the value comes from nowhere (a default). */
export interface Problem {
  readonly place: string
  /** Dotted key, `''` when the problem is the file as a whole. */
  readonly key: string
  readonly message: string
  /** Nothing is wrong but that a required key has no value. */
  readonly isMissing?: boolean
  /** Which relation between keys is broken: its index in the schema's `allOf`. */
  readonly relation?: number
}

/** A JSON pointer (RFC 6901) of a path. */
export function pointerOf(path: readonly Segment[]): string {
  return path.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The path of a JSON pointer. Every segment is a string. */
export function pathOf(pointer: string): readonly string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A path as people write it: `alerts.rules[0].metric`. */
export function dotted(path: readonly Segment[]): string {
  return path
    .map((segment, index) => {
      if (index === 0) return String(segment)
      return typeof segment === 'number' || /^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`
    })
    .join('')
}

/** The mark of a value or of the nearest thing around it that has one. */
export function markOf(tree: ConfigTree, path: readonly Segment[]): Mark | undefined {
  for (let length = path.length; length >= 0; length--) {
    const mark = tree.marks.get(pointerOf(path.slice(0, length)))
    if (mark !== undefined) return mark
  }
  return undefined
}

/** Whether a value is a map of a tree. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Sets an own property, whatever its name (`__proto__` too). */
export function setOwn(map: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}

/** The own value at a path; undefined when there is none. */
export function valueAt(root: unknown, path: readonly Segment[]): unknown {
  let value = root
  for (const segment of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined
    value = (value as Record<string, unknown>)[segment] // an own property, checked above
  }
  return value
}

/** Sets a value and its mark, making the maps on the way. A value in the way that is no map stays and wins. */
export function place(tree: ConfigTree, path: readonly string[], value: unknown, mark: Mark): void {
  let map = tree.root
  for (const segment of path.slice(0, -1)) {
    const next = Object.hasOwn(map, segment) ? map[segment] : undefined
    // A group that is written without keys (`server:`) is null.
    const inner = next ?? {}
    if (!isMap(inner)) return
    if (inner !== next) setOwn(map, segment, inner)
    map = inner
  }
  setOwn(map, path.at(-1) ?? '', value)
  const pointer = pointerOf(path)
  for (const key of tree.marks.keys()) if (key.startsWith(`${pointer}/`)) tree.marks.delete(key)
  tree.marks.set(pointer, mark)
}
