/**
 * A JSON Schema 2020-12 document as plain data.
 *
 * Two keywords of ours may appear in configuration schemas: `x-env` and `x-apply` (see `ConfigProperty`).
 */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Whether a JSON value is an object, neither `null` nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; undefined for what is none. No error: the parser's words have some of the text, which can be a secret. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The closed object schema with the given properties; those in `required` must be present. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
  more: JsonSchema = {},
): JsonSchema {
  return { type: 'object', additionalProperties: false, properties, required, ...more }
}

/** The closed object schema with the given properties, all of which must be present. */
export function recordSchema(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return objectSchema(properties, Object.keys(properties))
}

/** A response list page: `{<key>: [item], next_cursor: string|null}`. */
export function pageSchema(key: string, item: JsonSchema): JsonSchema {
  return recordSchema({ [key]: { type: 'array', items: item }, next_cursor: { type: ['string', 'null'] } })
}

/**
 * Pattern of a text that is stored: no control characters, no lone surrogates.
 *
 * PostgreSQL refuses U+0000, and both dialects store a lone surrogate as another character, so that the row would
 * fail its checksum when it is read.
 */
export const PLAIN_TEXT_PATTERN =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]*$'

/** The same with something in it beside spaces: a name that nobody sees is none. */
export const NAME_PATTERN: string = `^(?=.*\\S)${PLAIN_TEXT_PATTERN.slice(1)}`

/** Schema of the parameter `{imsi}` of the routes of one SIM. */
export const SIM_PARAMS: JsonSchema = objectSchema(
  {
    imsi: {
      type: 'string',
      pattern: '^[0-9a-f]{12}$',
      description: 'The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself.',
    },
  },
  ['imsi'],
)

/** A UUID in lower case (RFC 9562), as this service makes them. */
export const UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
export const NODE_ID_SCHEMA: JsonSchema = { type: 'string', pattern: UUID_PATTERN }

/** RFC 3339 UTC timestamp with milliseconds and a trailing `Z`. */
export const TIMESTAMP_SCHEMA: JsonSchema = { type: 'string', format: 'date-time' }

/** `TIMESTAMP_SCHEMA` or null. */
export const NULLABLE_TIMESTAMP_SCHEMA: JsonSchema = { type: ['string', 'null'], format: 'date-time' }

/** The query parameters of every list route. Limits are checked by the edge, which answers their own codes. */
export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  limit: { type: 'string', description: 'Page size, 1 to 500; 50 when absent.' },
  cursor: { type: 'string', description: 'The next_cursor of the page before. Opaque.' },
}

/**
 * Id of a batch or an import of SIMs: `b-20261121-` and 12 letters and digits. No key, token or IMSI looks so: an answer may repeat it, and
 * the audit trail may keep it.
 */
export const BATCH_ID_PATTERN = '^[bi]-[0-9]{8}-[a-z0-9]{12}$'
