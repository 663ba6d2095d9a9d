/** A JSON Schema or any other JSON object of the document. */
export type Json = Readonly<Record<string, unknown>>

/** The parts of the served OpenAPI document that tests read. Its shape is checked by the tests that use it. */
export interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: Json
  readonly tags: readonly { readonly name: string }[]
}

interface OperationObject {
  readonly operationId: string
  readonly summary?: string
  /** Whose route it is; the service's own have none. */
  readonly 'x-plugin'?: string
  readonly tags: readonly string[]
  readonly security: readonly Json[]
  readonly 'x-roles': readonly string[]
  readonly 'x-audit-action'?: string
  readonly parameters: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema?: Json; readonly example?: unknown }>>
  }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Json }>> }>
  >
}

/** A parameter of an operation, references resolved. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Json
}

export interface Operation {
  /** Upper case. */
  readonly method: string
  /** With `{name}` parameters. */
  readonly path: string
  readonly object: OperationObject
  readonly parameters: readonly Parameter[]
}

/** Every operation of the document, in its order. */
export function operationsOf(document: OpenApi): readonly Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, object]) => ({
      method: method.toUpperCase(),
      path,
      object,
      parameters: object.parameters.map((parameter) => resolved(document, parameter)),
    })),
  )
}

function resolved(document: OpenApi, parameter: Parameter | { readonly $ref: string }): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = parameter.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document)
  if (found === undefined) throw new Error(`the document refers to ${parameter.$ref}, which it does not hold`)
  return found as Parameter
}

/** Asks the service for its document. */
export async function fetchOpenApi(url: string): Promise<OpenApi> {
  const response = await fetch(`${url}/v1/openapi.json`)
  if (response.status !== 200) throw new Error(`GET /v1/openapi.json answered ${response.status}`)
  return (await response.json()) as OpenApi
}
