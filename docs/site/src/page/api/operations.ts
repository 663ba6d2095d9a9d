/** Any part of the document. */
export interface Json {
  readonly [key: string]: unknown
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: Json
}

interface Failure {
  readonly status: string
  readonly codes: readonly string[]
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly description: string
  readonly roles: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly bodyTypes: readonly string[]
  readonly bodySchema: Json | undefined
  readonly bodyExample: unknown
  readonly bodyNote: string
  readonly status: string
  readonly answerTypes: readonly string[]
  readonly answerSchema: Json | undefined
  readonly answerExample: unknown
  readonly failures: readonly Failure[]
}

export interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

export interface ErrorCode {
  readonly code: string
  readonly status: number
  readonly meaning: string
}

export interface ApiDocument {
  readonly version: string
  readonly groups: readonly Group[]
  readonly codes: readonly ErrorCode[]
}

/** A header of every operation: told once, at the top. */
const EVERYWHERE = 'X-Request-Id'
/** The files of the documentation; nobody comes to read about them. */
const OWN_FILES = '/docs/'
const METHODS = ['get', 'post', 'put', 'delete']

/** What the page shows, from the OpenAPI document that the service gives. */
export function documentFrom(raw: Json): ApiDocument {
  const paths = Object.entries(objectOf(raw.paths)).filter(([path]) => !path.startsWith(OWN_FILES))
  const operations = paths.flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const found = objectOf(item)[method]
      return found === undefined ? [] : [operationFrom(raw, path, method, objectOf(found))]
    }),
  )
  const groups = listOf(raw.tags).map((tag) => ({
    name: textOf(tag.name),
    description: textOf(tag.description),
    operations: operations.filter(({ group }) => group === textOf(tag.name)),
  }))
  return {
    version: textOf(objectOf(raw.info).version),
    groups: groups.filter(({ operations: own }) => own.length > 0),
    codes: listOf(raw['x-error-codes']).map((code) => ({
      code: textOf(code.code),
      status: Number(code.status),
      meaning: textOf(code.meaning),
    })),
  }
}

function operationFrom(raw: Json, path: string, method: string, operation: Json): Operation {
  const responses = Object.entries(objectOf(operation.responses))
  const [status, success] = responses.find(([code]) => code.startsWith('2')) ?? ['200', {}]
  const body = objectOf(operation.requestBody)
  const bodyJson = jsonContent(body)
  const answer = objectOf(success)
  const answerJson = jsonContent(answer)
  return {
    id: textOf(operation.operationId),
    method: method.toUpperCase(),
    path,
    group: textOf((operation.tags as readonly unknown[] | undefined)?.[0]),
    summary: textOf(operation.summary),
    description: textOf(operation.description),
    roles: (operation['x-roles'] as readonly string[] | undefined) ?? [],
    parameters: listOf(operation.parameters)
      .map((one) => parameterFrom(resolve(raw, one)))
      .filter(({ name }) => name !== EVERYWHERE),
    bodyTypes: Object.keys(objectOf(body.content)),
    bodySchema: schemaOf(bodyJson),
    bodyExample: bodyJson?.example,
    bodyNote: textOf(body.description),
    status,
    answerTypes: Object.keys(objectOf(answer.content)),
    answerSchema: schemaOf(answerJson),
    answerExample: answerJson?.example,
    failures: responses.flatMap(([code, failure]) => failureFrom(code, objectOf(failure))),
  }
}

function parameterFrom(parameter: Json): Parameter {
  return {
    name: textOf(parameter.name),
    in: textOf(parameter.in) as Parameter['in'],
    required: parameter.required === true,
    description: textOf(parameter.description),
    schema: objectOf(parameter.schema),
  }
}

function failureFrom(status: string, failure: Json): readonly Failure[] {
  if (status.startsWith('2') || status === '304') return []
  return [
    {
      status,
      codes: [...textOf(failure.description).matchAll(/`([a-z0-9_]+)`/g)].map((match) => match[1] ?? ''),
    },
  ]
}

function jsonContent(part: Json): Json | undefined {
  const found = Object.entries(objectOf(part.content)).find(([type]) => type.endsWith('json'))
  return found === undefined ? undefined : objectOf(found[1])
}

function schemaOf(content: Json | undefined): Json | undefined {
  return content?.schema === undefined ? undefined : objectOf(content.schema)
}

function resolve(raw: Json, part: Json): Json {
  if (typeof part.$ref !== 'string') return part
  return part.$ref
    .slice(2)
    .split('/')
    .reduce((at, key) => objectOf(at[key]), raw)
}

/** The value as an object; an empty one when it is none. */
export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(objectOf) : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
