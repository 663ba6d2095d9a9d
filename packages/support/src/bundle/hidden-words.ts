import type { JsonSchema } from '@steeple/contracts'
import type { Scrub } from './clean-text.ts'
import { publicConfig, REPLACED } from './public-config.ts'

/** A shorter one is a piece of too many words. */
const SHORTEST = 4

/**
 * Replaces what the configuration does not show wherever else it stands: a folder in a reason, the name of a receiver or a
 * profile in that of a component. `chosen` are names from elsewhere, which are replaced however short they are.
 */
export function hidesOf(schema: JsonSchema, settings: unknown, chosen: readonly string[] = []): Scrub {
  const shown = new Set(wordsOf(publicConfig(schema, settings), () => true))
  const known = new Set(propertyNames(schema))
  const inSettings = wordsOf(settings, (name) => !known.has(name)).filter(
    (word) => word.length >= SHORTEST && !shown.has(word) && !known.has(word),
  )
  const hidden = [...inSettings, ...chosen]
  if (hidden.length === 0) return (text) => text
  const longestFirst = [...new Set(hidden)].toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(
    `(?<!\\w)(?:${longestFirst.map((word) => escaped(word)).join('|')})(?!\\w)`,
    'gi',
  )
  return (text) => text.replaceAll(pattern, REPLACED)
}

function escaped(word: string): string {
  return word.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}

/** The texts in a value, and of its names those that are asked for. */
function wordsOf(value: unknown, isAsked: (name: string) => boolean): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item) => wordsOf(item, isAsked))
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(isAsked(name) ? [name] : []),
    ...wordsOf(inner, isAsked),
  ])
}

/** Every name that a schema gives to a key, at any depth. */
function propertyNames(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, inner]) => [
    ...(keyword === 'properties' && typeof inner === 'object' && inner !== null ? Object.keys(inner) : []),
    ...propertyNames(inner),
  ])
}
