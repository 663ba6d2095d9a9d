import fc, { type Arbitrary } from 'fast-check'
import type { Json } from '../openapi.ts'

/** Values that mean something to the service, by the name of the property or parameter that takes them. */
export type Hints = Readonly<Record<string, readonly unknown[]>>

const NO_HINTS: Hints = {}
const DEPTH_LIMIT = 6
/** What was made of a schema, and of a pattern: fast-check works long on it. */
const ofSchema = new WeakMap<Json, Arbitrary<unknown>>()
const ofPattern = new Map<string, Arbitrary<string>>()

/** Values that fit a JSON Schema, as far as its keywords are known here; anything for what is not. */
export function valuesOf(schema: Json, hints: Hints = NO_HINTS): Arbitrary<unknown> {
  if (hints !== NO_HINTS) return valuesAt(schema, hints, 0)
  const values = ofSchema.get(schema) ?? valuesAt(schema, hints, 0)
  ofSchema.set(schema, values)
  return values
}

function valuesAt(schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  if (depth > DEPTH_LIMIT) return fc.constant(null)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const branches = schema.oneOf ?? schema.anyOf
  if (Array.isArray(branches))
    return fc.oneof(...branches.map((branch: Json) => valuesAt(branch, hints, depth + 1)))
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String)
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 })
  return fc.oneof(
    ...types.map((type) => ({
      arbitrary: MAKERS[type]?.(schema, hints, depth) ?? objects(schema, hints, depth),
      weight: type === 'null' ? 1 : 8,
    })),
  )
}

const MAKERS: Readonly<Record<string, (schema: Json, hints: Hints, depth: number) => Arbitrary<unknown>>> = {
  string: strings,
  integer: (schema) => {
    const { min = -1_000, max = 1_000_000 } = boundsOf(schema)
    const least = Math.max(min, Number.MIN_SAFE_INTEGER)
    return fc.integer({ min: least, max: Math.min(Math.max(min, max), Number.MAX_SAFE_INTEGER) })
  },
  number: (schema) => fc.double({ ...boundsOf(schema), noNaN: true, noDefaultInfinity: true }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: (schema, hints, depth) => {
    const items = isObject(schema.items)
      ? valuesAt(schema.items, hints, depth + 1)
      : fc.jsonValue({ maxDepth: 1 })
    const minLength = number(schema.minItems) ?? 0
    const maxLength = Math.max(minLength, Math.min(number(schema.maxItems) ?? 5, 5))
    if (schema.uniqueItems !== true) return fc.array(items, { minLength, maxLength })
    return fc.uniqueArray(items, { minLength, maxLength, selector: (item) => JSON.stringify(item) })
  },
}

function strings(schema: Json): Arbitrary<string> {
  if (schema.format === 'date-time') return timestamps
  const maxLength = Math.min(number(schema.maxLength) ?? 40, 300)
  const minLength = number(schema.minLength) ?? 0
  const matching = typeof schema.pattern === 'string' ? matchesOf(schema.pattern) : undefined
  if (matching !== undefined)
    return matching.map((text) => text.slice(0, maxLength)).filter((text) => text.length >= minLength)
  return fc.oneof(
    fc.string({ minLength, maxLength }),
    fc.string({ minLength, maxLength, unit: 'grapheme' }).map((text) => text.slice(0, maxLength)),
    fc.string({ minLength: maxLength, maxLength }),
  )
}

const timestamps: Arbitrary<string> = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date(8.64e13) })
    .map((date) => date.toISOString()),
  words`2016-12-31T23:59:60Z 2026-01-01T00:00:00+23:59 0000-01-01T00:00:00Z 9999-12-31t23:59:59z`,
)

function matchesOf(pattern: string): Arbitrary<string> | undefined {
  try {
    const matching = ofPattern.get(pattern) ?? fc.stringMatching(new RegExp(pattern))
    ofPattern.set(pattern, matching)
    return matching
  } catch {
    return undefined
  }
}

function boundsOf(schema: Json): { readonly min?: number; readonly max?: number } {
  const [min, max] = [number(schema.minimum), number(schema.maximum)]
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}

function objects(schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  const model = Object.fromEntries(
    Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([name, inner]) => {
      const fitting = valuesAt(inner as Json, hints, depth + 2)
      const known = hints[name]
      const hinted = known && fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, fitting)
      return [name, hinted ?? fitting]
    }),
  )
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  // Few optional members at a time: each may be the one that is refused.
  const optional = Object.keys(model).filter((name) => !required.includes(name))
  const known = fc
    .subarray(optional, { maxLength: Math.min(2, optional.length) })
    .chain((names) =>
      fc.record(
        Object.fromEntries([...required, ...names].map((name) => [name, model[name] ?? fc.jsonValue()])),
      ),
    )
  if (!isObject(schema.additionalProperties)) return known
  const name = isObject(schema.propertyNames) ? strings(schema.propertyNames) : fc.string()
  const more = fc.dictionary(name, valuesAt(schema.additionalProperties, hints, depth + 1), { maxKeys: 3 })
  return fc.tuple(more, known).map(([extra, own]) => ({ ...extra, ...own }))
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One of the words of a text. */
export function words(text: TemplateStringsArray): Arbitrary<string> {
  return fc.constantFrom(...listed(text.raw[0]))
}

/** One of the lines of a text as it is. */
function lines(text: TemplateStringsArray): Arbitrary<string> {
  return fc.constantFrom(
    ...(text.raw[0] ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  )
}

function listed(text = ''): readonly string[] {
  return text.split(/\s+/).filter(Boolean)
}

/** Texts that parsers, stores and logs have tripped over. All of them can stand in a JSON string. */
const HOSTILE_TEXTS: readonly string[] = [
  ...['', ' ', '\u0000', 'a\u0000b', '\n\r\t', '\u001b[31mred', '\ud800', '\udc00\ud800', '\u202e\u2066'],
  ...['\ufeff', '\uffff', 'é'.normalize('NFD'), '𝒳'.repeat(50), 'A'.repeat(5_000), '\\'],
  ...["' or '1'='1", '"; drop table access_token; --', '$\u007bjndi:ldap://localhost/a}'],
  ...listed(
    `__proto__ constructor prototype toString hasOwnProperty null undefined NaN true 0 -1 1e999 %00 %2e%2e%2f / * =1+1
    ../../../../etc/passwd {{7*7}} <script>alert(1)</script> +00:00 2026-02-30T00:00:00Z 0001-01-01T00:00:00Z
    99999999-01-01T00:00:00Z 999999999999999y 0s -5m b0 n999 svc_`,
  ),
]

export const hostileTexts: Arbitrary<string> = fc.constantFrom(...HOSTILE_TEXTS)

/** Any character. fast-check's `binary` is the same, and makes a table of all million of them first. */
export const anyCharacter: Arbitrary<string> = fc
  .nat(0x10_ffff - 0x800)
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))

/** Values of every wrong kind. */
export const hostileValues: Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: hostileTexts },
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>(
      ...[null, true, false, 0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 53), 2 ** 63, 4294967296],
      ...[[], {}, [[]], [null], { '': '' }, { toString: 1, valueOf: 2, toJSON: 3 }],
      { constructor: { name: 'x' } },
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.nat(400).map(nested) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 30 }) },
  { weight: 1, arbitrary: fc.array(fc.integer(), { minLength: 300, maxLength: 600 }) },
)

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** Bodies that are not JSON, hardly JSON, or JSON that only a text can spell. */
export const hostileBodies: Arbitrary<Buffer> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .oneof(
        fc.constantFrom('', ' ', '\ufeff{}', '// comment\n{}'),
        lines`{
          }
          {"
          [
          null
          true
          0
          -
          ""
          nul
          NaN
          {}{}
          {},
          {'a':1}
          {"a":1,}
          {"a":01}
          {"a":1e999}
          {"a":-0}
          {"__proto__":{"admin":true}}
          {"constructor":{"prototype":{"admin":true}}}
          {"\u005f_proto__":{"roles":["admin"]}}
          {"name":"a","name":"b"}
          {"name":"\ud800","roles":["viewer"]}
          {"name":"\u0000","roles":["viewer"]}
          <?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>
          name=a&roles=admin`,
      )
      .map((text) => Buffer.from(text)),
  },
  { weight: 3, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 2,
    // Bytes that are no UTF-8 inside what would be JSON.
    arbitrary: fc
      .constantFrom([0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82])
      .map((bytes) => Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')])),
  },
  // Deep, without an end and with one, long, and wide.
  sized([100, 5_000, 100_000], (depth) => '[{"a":'.repeat(depth)),
  sized([1_000, 50_000], (depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  sized([1_000, 65_536, 300_000], (length) =>
    JSON.stringify({ name: 'x'.repeat(length), roles: ['viewer'] }),
  ),
  sized([100, 20_000], (count) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]))),
  ),
)

function sized(sizes: readonly number[], textOf: (size: number) => string) {
  return { weight: 1, arbitrary: fc.constantFrom(...sizes).map((size) => Buffer.from(textOf(size))) }
}

type Place = readonly (string | number)[]

/** A copy of a JSON value in which one thing is changed: replaced, removed, added, renamed or repeated. */
export function mutations(value: unknown): Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...placesOf(value, [])), fc.nat(4), hostileValues, hostileTexts)
    .map(([place, how, hostile, name]) => changed(value, place, how, hostile, name))
}

function placesOf(value: unknown, at: Place): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...at, name]))]
}

function changed(value: unknown, place: Place, how: number, hostile: unknown, name: string): unknown {
  const [head, ...rest] = place
  if (head === undefined) return changedHere(value, how, hostile, name)
  if (Array.isArray(value))
    return value.map((item, at) => (at === Number(head) ? changed(item, rest, how, hostile, name) : item))
  const copy: Record<string, unknown> = { ...(value as object) }
  if (how === 1 && rest.length === 0) delete copy[head]
  else copy[head] = changed(copy[head], rest, how, hostile, name)
  return copy
}

function changedHere(value: unknown, how: number, hostile: unknown, name: string): unknown {
  if (how === 2 && Array.isArray(value)) return [...value, hostile, ...value]
  if (how >= 2 && isObject(value)) return Object.fromEntries([...Object.entries(value), [name, hostile]])
  if (how === 3 && typeof value === 'string') return value + name
  if (how === 4 && typeof value === 'number') return -value * 1e6
  return hostile
}
