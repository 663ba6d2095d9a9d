import type { JsonSchema } from '@steeple/contracts'
import { formsOf, systemSurroundings } from './forms.ts'

const FORMS = formsOf(systemSurroundings(), [], [])

/** What a key takes, in words: of docs/reference/configuration.md and of `GET /v1/settings`. */
export function typeText(schema: JsonSchema): string {
  if (schema['x-secret'] === true) return 'path of a file with a secret'
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (typeof schema['x-allowed'] === 'string') return schema['x-allowed']
  if (schema.format === 'duration') return 'duration'
  if (typeof schema.format === 'string')
    return `${schema.minLength === undefined ? 'empty or ' : ''}${FORMS[schema.format]?.words}`
  switch (schema.type) {
    case 'integer':
    case 'number':
      return `${schema.type}${rangeText(schema)}`
    case 'array':
      return (schema.items as JsonSchema | undefined)?.type === 'string' ? 'list of strings' : 'list of maps'
    case 'object':
      return 'map'
    default:
      return String(schema.type)
  }
}

function rangeText({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`
  return minimum === undefined ? '' : `, at least ${minimum}`
}

/** A default as the documentation shows it. */
export function defaultText(value: unknown): string {
  if (value === '') return 'empty'
  if (typeof value === 'object' && value !== null) {
    const isEmpty = Object.keys(value).length === 0
    const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string')
    return isEmpty ? 'empty' : `\`${isTexts ? value.join(', ') : JSON.stringify(value)}\``
  }
  return `\`${String(value)}\``
}
