/*
 * From the service's OpenAPI document the TypeScript of src/api.ts. Types alone, but for the list of routes that take no
 * Idempotency-Key. JSON Schema is read as far as the document uses it; what it does not know it refuses.
 */

/** The documentation page, and what has a function of its own. */
const LEFT_OUT = /^\/v1\/(docs|events)(\/|$)/
const WIDTH = 100

const HEAD = `// Generated from the service's own OpenAPI document by scripts/generate.mjs. Changes by hand are lost.

/** What fetch takes as a body and is no JSON. One that is a stream is sent once, never again. */
export type RawBody = string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
`

/** Gives the source for a document; throws on what it cannot say in TypeScript. */
export function apiSource(document) {
  const operations = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/v1/') && !LEFT_OUT.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    )
  const common = commonCodes(operations)
  const ends = operations.map((one) => operationText(one, document, common))
  const unkeyed = operations
    .filter(({ method, operation }) => method !== 'GET' && !takesKey(operation))
    .map(({ method, path }) => `  '${method} ${path}',\n`)
  return `${HEAD}
/** Codes of errors that any operation may answer. */
export type CommonCode =
${common.map((code) => `  | '${code}'\n`).join('')}
/** What each operation takes and answers, by method and path. */
export interface Operations {
${ends.join('')}}

/** Changes that take no \`Idempotency-Key\`: they are not safe to be sent again. */
export const UNKEYED: readonly string[] = [
${unkeyed.join('')}]
`
}

function takesKey({ parameters }) {
  return parameters.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey')
}

function isGuarded({ parameters }) {
  return parameters.some(({ $ref }) => $ref === '#/components/parameters/IfMatch')
}

function codesOf(operation) {
  return Object.values(operation.responses).flatMap(({ content }) => {
    const parts = content?.['application/json']?.schema?.allOf ?? []
    return parts.flatMap(({ properties }) => properties?.error?.properties?.code?.enum ?? [])
  })
}

function commonCodes(operations) {
  const all = operations.map(({ operation }) => new Set(codesOf(operation)))
  return [...(all[0] ?? [])].filter((code) => all.every((one) => one.has(code))).sort()
}

function operationText({ method, path, operation }, document, common) {
  const own = [...new Set(codesOf(operation))].filter((code) => !common.includes(code)).sort()
  const roles = operation['x-roles']
  const about = `${operation.summary}.${roles.length === 0 ? ' Public.' : ` Roles: ${roles.join(', ')}.`}`
  const members = [
    `request: ${requestText(operation, document)}`,
    `answer: ${answerText(operation)}`,
    ...(isPaged(operation) ? [`list: '${listOf(operation, path)}'`] : []),
    `code: ${['CommonCode', ...own.map((code) => `'${code}'`)].join(' | ')}`,
  ]
  const lines = members.map((member) => `    readonly ${member.replaceAll('\n', '\n    ')}\n`)
  return `  /** ${comment(about)} */\n  '${method} ${path}': {\n${lines.join('')}  }\n`
}

function isPaged({ parameters }) {
  return parameters.some(({ $ref }) => $ref === '#/components/parameters/Cursor')
}

function requestText(operation, document) {
  const parameters = operation.parameters.map((one) => resolved(one, document))
  const members = ['path', 'query'].flatMap((place) => {
    const here = parameters.filter((one) => one.in === place)
    if (here.length === 0) return []
    const mark = here.some(({ required }) => required) ? '' : '?'
    const text = objectText(
      Object.fromEntries(here.map(({ name, schema, description }) => [name, { description, ...schema }])),
      here.filter(({ required }) => required).map(({ name }) => name),
      ' | undefined',
    )
    return [`readonly ${place}${mark}: ${text}`]
  })
  if (isGuarded(operation))
    members.push(
      '/** The `etag` of what was read before: the change is refused when somebody else was first. */',
      'readonly ifMatch?: string | undefined',
    )
  const { requestBody } = operation
  if (requestBody !== undefined) members.push(bodyText(requestBody))
  return members.length === 0 ? 'object' : `{\n${indented(members.join('\n'))}\n}`
}

/** JSON is told by its shape; what is not has its media type beside it. */
function bodyText({ required, content }) {
  const raw = Object.keys(content).filter((type) => type !== 'application/json')
  const json = content['application/json']?.schema
  if (json?.properties?.type !== undefined && json.properties.content !== undefined)
    throw new Error('a body of JSON with type and content is not told from one of another media type')
  const texts = [
    // JSON leaves out what is undefined.
    ...(json === undefined ? [] : [typeText(json, ' | undefined')]),
    ...(raw.length === 0
      ? []
      : [`{ readonly type: ${raw.map((type) => `'${type}'`).join(' | ')}; readonly content: RawBody }`]),
  ]
  return `readonly body${required ? '' : '?'}: ${texts.join(' | ')}`
}

function contentOf({ responses }) {
  return Object.entries(responses).find(([status]) => status < '300')?.[1].content ?? {}
}

function answerText(operation) {
  const content = contentOf(operation)
  const texts = Object.entries(content).map(([type, { schema }]) =>
    type === 'application/json'
      ? typeText(schema ?? {})
      : type.startsWith('text/') || type.includes('xml')
        ? 'string'
        : 'Blob',
  )
  return texts.length === 0 ? 'undefined' : [...new Set(texts)].join(' | ')
}

/** The one list of a page: pages are read by finding it. */
function listOf(operation, path) {
  const properties = Object.entries(contentOf(operation)['application/json']?.schema?.properties ?? {})
  const lists = properties.filter(([, { type }]) => type === 'array').map(([name]) => name)
  if (lists.length !== 1) throw new Error(`a page of ${path} has ${lists.length} lists: ${lists}`)
  return lists[0]
}

function resolved(parameter, document) {
  if (parameter.$ref === undefined) return parameter
  return parameter.$ref
    .split('/')
    .slice(1)
    .reduce((value, name) => value[name], document)
}

/** `absent` is what a member that may be left out can be beside its type. */
function typeText(schema, absent = '') {
  if ('const' in schema) return JSON.stringify(schema.const).replaceAll('"', "'")
  if (schema.enum !== undefined) return enumText(schema)
  const either = schema.anyOf ?? schema.oneOf
  if (either !== undefined) return [...new Set(either.map((one) => typeText(one, absent)))].join(' | ')
  if (schema.allOf !== undefined || schema.$ref !== undefined)
    throw new Error(
      `allOf and $ref of an answer or a body are not known: ${JSON.stringify(schema).slice(0, WIDTH)}`,
    )
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  return types.map((type) => oneText(type, schema, absent)).join(' | ')
}

/** What may grow within v1 is told as text beside the values that are known. */
function enumText(schema) {
  const values = schema.enum.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
  const isOpen = schema['x-growable'] === true
  return [...values, ...(isOpen ? ['(string & {})'] : [])].join(' | ')
}

function oneText(type, schema, absent) {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `readonly ${wrapped(typeText(schema.items ?? {}, absent))}[]`
    case 'object':
      return objectOf(schema, absent)
    case undefined:
      return schema.properties === undefined ? 'unknown' : objectOf(schema, absent)
    default:
      throw new Error(`the type ${type} is not known`)
  }
}

function wrapped(text) {
  return / \| |^readonly /.test(text.replaceAll(/\{[\s\S]*\}/g, '{}')) ? `(${text})` : text
}

function objectOf({ properties, required, additionalProperties }, absent) {
  if (properties !== undefined && Object.keys(properties).length > 0)
    return objectText(properties, required ?? [], absent)
  if (additionalProperties === false) return 'Readonly<Record<string, never>>'
  const values = typeof additionalProperties === 'object' ? typeText(additionalProperties, absent) : 'unknown'
  return `Readonly<Record<string, ${values}>>`
}

function objectText(properties, required, absent) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const about = typeof schema.description === 'string' ? `/** ${comment(schema.description)} */\n` : ''
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`
    return `${about}readonly ${key}${required.includes(name) ? ': ' : '?: '}${typeText(schema, absent)}${required.includes(name) ? '' : absent}`
  })
  return `{\n${indented(members.join('\n'))}\n}`
}

function indented(text) {
  return text.replaceAll(/^/gm, '  ')
}

function comment(text) {
  return text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim()
}
