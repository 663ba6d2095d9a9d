import type { Operation } from './operations.ts'

export interface Draft {
  /** By name, of path and query. */
  readonly values: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The path with its values in place; those that are missing stay as names in braces. */
export function urlOf(operation: Operation, { values }: Draft): string {
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (whole, name: string) => {
    const value = values[name] ?? ''
    return value === '' ? whole : encodeURIComponent(value)
  })
  const query = operation.parameters
    .filter((one) => one.in === 'query' && (values[one.name] ?? '') !== '')
    .map((one) => `${encodeURIComponent(one.name)}=${encodeURIComponent(values[one.name] ?? '')}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/** The draft that an example shows: what is required, and the body of the document. */
export function exampleOf(operation: Operation): Draft {
  return {
    values: Object.fromEntries(
      operation.parameters
        .filter((one) => one.required && one.in === 'query')
        .map((one) => [one.name, sampleOf(one.schema)]),
    ),
    headers: {},
    body: bodyTextOf(operation),
  }
}

function sampleOf(schema: { readonly [key: string]: unknown }): string {
  const [first] = Array.isArray(schema.enum)
    ? schema.enum
    : Array.isArray(schema.examples)
      ? schema.examples
      : []
  return String(first ?? schema.default ?? '…')
}

/** The body to begin with; undefined when the operation takes none. */
export function bodyTextOf({ bodyTypes, bodyExample }: Operation): string | undefined {
  if (bodyTypes.length === 0) return undefined
  return bodyExample === undefined ? '' : JSON.stringify(bodyExample, undefined, 2)
}

/** The same as a command line. The token is named, never shown. */
export function curlOf(operation: Operation, draft: Draft, origin: string): string {
  const lines = [
    `curl ${operation.method === 'GET' ? '' : `-X ${operation.method} `}${quoted(origin + urlOf(operation, draft))}`,
  ]
  if (operation.roles.length > 0) lines.push('-H "Authorization: Bearer $SVC_TOKEN"')
  for (const [name, value] of Object.entries(draft.headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (operation.answerTypes.includes('text/event-stream')) lines.push('-N')
  const { body } = draft
  const type = operation.bodyTypes[0]
  if (body !== undefined && type !== undefined) {
    const isFile = !type.endsWith('json')
    if (isFile || body !== '') {
      lines.push(`-H ${quoted(`Content-Type: ${type}`)}`)
      lines.push(isFile ? '--data-binary @file' : `-d ${quoted(oneLine(body))}`)
    }
  }
  return lines.join(' \\\n  ')
}

function oneLine(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
