import type { ErrorDetail, JsonSchema } from '@steeple/contracts'
import { Ajv2020, addFormats } from '@steeple/settings'
import type { ErrorObject, Options } from 'ajv'
import { detailsFrom } from './validate.ts'

/** Checks a value, fills defaults in (and coerces it, for URL parts). Undefined when it is valid. */
export type Check = (value: unknown, explainAll: boolean) => readonly ErrorDetail[] | undefined

/** Where a value comes from: `body` is JSON and taken as it is; `url` values arrive as strings and are coerced. */
export type Source = 'body' | 'url'

/** Compiles schemas once per schema object, however often routes are built from it. */
export interface SchemaChecks {
  /** The check of a schema. Throws when the schema does not compile. */
  check(source: Source, schema: JsonSchema): Check
  /** The check of a schema that is known to compile: it does so when it is first asked. */
  checkLater(source: Source, schema: JsonSchema): Check
  /** Throws when the schema does not compile. Keeps nothing of it: it lives as long as its module, which never ends. */
  prove(source: Source, schema: JsonSchema): void
  /** Whether `check` or `prove` would have to compile. */
  isNew(source: Source, schema: JsonSchema): boolean
  /** Lets go of what compiling has gathered; what is compiled stays. Call it before a build. */
  renew(): void
}

type Compiled = ((value: unknown) => boolean) & { errors?: ErrorObject[] | null }
type Compile = (schema: JsonSchema) => Compiled

/**
 * Schema checks with a memo that holds no schema alive.
 *
 * A check stops at the first error: that bounds the work that a hostile body can cause. A second validator, which
 * collects all errors, is compiled when a refused value is small enough to be explained in full (`explainAll`).
 */
export function createSchemaChecks(): SchemaChecks {
  const memo = { body: new WeakMap<JsonSchema, Check>(), url: new WeakMap<JsonSchema, Check>() }
  const proven = new WeakSet<JsonSchema>()
  let quick = { body: compiler('body', false), url: compiler('url', false) }
  const check = (source: Source, schema: JsonSchema): Check => {
    const known = memo[source].get(schema)
    if (known !== undefined) return known
    const made = checkFrom(closed(schema), quick[source], source)
    memo[source].set(schema, made)
    return made
  }
  return {
    isNew: (source, schema) => !memo[source].has(schema) && !proven.has(schema),
    prove: (source, schema) => {
      if (proven.has(schema) || memo[source].has(schema)) return
      quick[source](closed(schema))
      proven.add(schema)
    },
    check,
    checkLater: (source, schema) => {
      let made: Check | undefined
      return (value, explainAll) => {
        made ??= check(source, schema)
        return made(value, explainAll)
      }
    },
    renew: () => {
      // An ajv instance keeps every schema that it ever compiled: none may live longer than what it was made for.
      quick = { body: compiler('body', false), url: compiler('url', false) }
    },
  }
}

function checkFrom(schema: JsonSchema, quick: Compile, source: Source): Check {
  const first = quick(schema)
  let all: Compiled | undefined
  return (value, explainAll) => {
    // Coerced from a text, a number without an end passes bounds; as a number it does not pass for one.
    if (first(value) && (source === 'body' || !isEndless(value) || first(value))) return undefined
    if (!explainAll) return detailsFrom(first.errors ?? [])
    all ??= compiler(source, true)(schema)
    return all(value) ? undefined : detailsFrom(all.errors ?? [])
  }
}

/** Whether one of the values of an object is a number that is not finite: `1e999` was its text. */
function isEndless(values: unknown): boolean {
  return Object.values(Object(values)).some((value) =>
    Array.isArray(value) ? value.some(isInfinite) : isInfinite(value),
  )
}

function isInfinite(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
}

/** A plain object schema without a word on unknown properties gets one: they are errors (contract section 2). */
function closed(schema: JsonSchema): JsonSchema {
  const isPlain = schema.type === 'object' && schema.properties !== undefined
  const speaks = ['additionalProperties', 'unevaluatedProperties', 'allOf', 'anyOf', 'oneOf', '$ref']
  return isPlain && !speaks.some((word) => word in schema)
    ? { ...schema, additionalProperties: false }
    : schema
}

/** Annotations that schemas may carry beside the standard's keywords. */
const ANNOTATIONS = ['x-env', 'x-apply', 'x-growable', 'example']

function compiler(source: Source, allErrors: boolean): Compile {
  let ajv: Ajv2020 | undefined
  return (schema) => {
    ajv ??= ajvFor({ allErrors, ...(source === 'url' ? { coerceTypes: 'array' } : {}) })
    return ajv.compile(schema)
  }
}

/** Optimised checks run no faster once V8 has seen them, and take twice as long to make. */
function ajvFor(options: Options): Ajv2020 {
  const ajv = new Ajv2020({
    code: { optimize: false },
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema: false,
    meta: false,
    useDefaults: true,
    messages: true,
    ...options,
  })
  addFormats(ajv)
  for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword)
  return ajv
}
