import { isObject, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'

/** The value at a dotted path; undefined when there is none. */
export function valueAt(bundle: Json, path: string): unknown {
  let value: unknown = bundle
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/**
 * The merge patch (RFC 7396) of `key.path=value` words.
 *
 * A value that is JSON (`10`, `true`, `["a","b"]`, `null`) is taken as such, everything else as text. Throws `usage`.
 */
export function patchFromAssignments(words: readonly string[]): Json {
  return words.reduce<Json>((patch, word) => assign(patch, patchOf(word)), {})
}

/** `over` laid over `base`, object by object. */
export function assign(base: Json, over: Json): Json {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? assign(before, value) : value
  }
  return merged
}

function patchOf(word: string): Json {
  const split = word.indexOf('=')
  const path = word.slice(0, split).split('.')
  if (split < 1 || !path.every((name) => /^[a-z][a-z0-9_]*$/.test(name)))
    throw usageError(`${JSON.stringify(word)} is no key.path=value`)
  const value: unknown = valueFromText(word.slice(split + 1))
  // At least one name: split gives one for the empty string too, and that is refused above.
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Json
}

function valueFromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
