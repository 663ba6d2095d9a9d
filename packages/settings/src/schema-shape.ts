import { isMap } from './config-tree.ts'

/** No schema of a configuration is nested as deep; what is may be meant to exhaust the stack. */
const DEEPEST = 40
/** Keywords whose operand is data, in which no keyword stands. */
const DATA: readonly string[] = ['default', 'const', 'enum', 'examples', 'x-env']

/** Where the walk is: in a schema, in the map of `properties`, or in data. */
type Place = 'schema' | 'names' | 'data'

/**
 * What a schema says that would tell in others once all are put together, as the end of a sentence: references and names
 * that the other schemas share, defaults in relations, which would come before everybody's own. Also what is no schema.
 */
export function strangeIn(schema: Readonly<Record<string, unknown>>): string | undefined {
  for (const [key, inner] of Object.entries(schema)) {
    const strange = strangeAt(inner, key === 'properties' ? 'names' : 'schema', key === 'allOf', 1)
    if (strange !== undefined) return strange
  }
  return undefined
}

function strangeAt(value: unknown, place: Place, isRelation: boolean, depth: number): string | undefined {
  if (depth > DEEPEST) return `is nested deeper than ${DEEPEST} levels`
  if (place === 'names' && !isMap(value)) return 'has properties that are no map'
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const here = Array.isArray(value) ? undefined : strangeEntry(key, inner, place, isRelation)
    const strange = here ?? strangeAt(inner, placeBelow(place, key), isRelation, depth + 1)
    if (strange !== undefined) return strange
  }
  return undefined
}

function strangeEntry(key: string, inner: unknown, place: Place, isRelation: boolean): string | undefined {
  if (place === 'schema') return strangeKeyword(key, inner, isRelation)
  const isSchema = isMap(inner) || typeof inner === 'boolean'
  return place === 'names' && !isSchema ? `has the property ${key}, which is no schema` : undefined
}

function placeBelow(place: Place, key: string): Place {
  if (place !== 'schema') return place === 'data' ? 'data' : 'schema'
  return key === 'properties' ? 'names' : DATA.includes(key) ? 'data' : 'schema'
}

function strangeKeyword(key: string, operand: unknown, isRelation: boolean): string | undefined {
  if (key.startsWith('$'))
    return `has ${key}; schemas are put together, so that none can refer or be referred to`
  if (key === 'default' && isRelation) return 'has a default in allOf; it belongs to the key itself'
  if (key === 'x-env' && !isMap(operand)) return 'has an x-env that is no map with a name'
  const isRange =
    Array.isArray(operand) && operand.length === 2 && operand.every((one) => typeof one === 'string')
  return key === 'x-range' && !isRange ? 'has an x-range that is no list of two durations' : undefined
}
