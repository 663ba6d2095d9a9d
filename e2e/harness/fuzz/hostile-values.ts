import fc, { type Arbitrary } from 'fast-check'

/** Texts that parsers, stores and logs have tripped over. All of them can stand in a JSON string. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\n\r\t',
  '\u001b[31mred',
  '\ud800',
  '\udc00\ud800',
  '\u202e\u2066',
  '\ufeff',
  '\uffff',
  'é'.normalize('NFD'),
  '𝒳'.repeat(50),
  'A'.repeat(5_000),
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  'true',
  '0',
  '-1',
  '1e999',
  "' or '1'='1",
  '"; drop table access_token; --',
  '%00',
  '%2e%2e%2f',
  '../../../../etc/passwd',
  '/',
  '\\',
  '$\u007bjndi:ldap://localhost/a}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '=1+1',
  '*',
  '+00:00',
  '2026-02-30T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '99999999-01-01T00:00:00Z',
  '999999999999999y',
  '0s',
  '-5m',
  'b0',
  'n999',
  'svc_',
]

/** Any character. fast-check's `binary` is the same, and makes a table of all million of them first. */
export const anyCharacter: Arbitrary<string> = fc
  .nat(0x10_ffff - 0x800)
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))

/** Values of every wrong kind. */
export const hostileValues: Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      1e308,
      -1e308,
      5e-324,
      2 ** 53,
      -(2 ** 53),
      2 ** 63,
      4294967296,
      [],
      {},
      [[]],
      [null],
      { '': '' },
      { toString: 1, valueOf: 2, toJSON: 3 },
      { constructor: { name: 'x' } },
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.nat(400).map(nested) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 30 }) },
  { weight: 1, arbitrary: fc.array(fc.integer(), { minLength: 300, maxLength: 600 }) },
)

/** Bodies that are not JSON, hardly JSON, or JSON that only a text can spell. */
export const hostileBodies: Arbitrary<Buffer> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .constantFrom(
        '',
        ' ',
        '{',
        '}',
        '{"',
        '[',
        'null',
        'true',
        '0',
        '-',
        '""',
        'nul',
        'NaN',
        '{}{}',
        '{},',
        "{'a':1}",
        '{"a":1,}',
        '{"a":01}',
        '{"a":1e999}',
        '{"a":-0}',
        '{"__proto__":{"admin":true}}',
        '{"constructor":{"prototype":{"admin":true}}}',
        '{"\\u005f_proto__":{"roles":["admin"]}}',
        '{"name":"a","name":"b"}',
        '{"name":"\\ud800","roles":["viewer"]}',
        '{"name":"\\u0000","roles":["viewer"]}',
        '\ufeff{}',
        '// comment\n{}',
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        'name=a&roles=admin',
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
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('[', '{"a":', '[{"a":'), fc.constantFrom(100, 5_000, 100_000))
      .map(([open, times]) => Buffer.from(open.repeat(times))),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(1_000, 50_000)
      .map((depth) => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`)),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(1_000, 65_536, 300_000)
      .map((length) => Buffer.from(JSON.stringify({ name: 'x'.repeat(length), roles: ['viewer'] }))),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(100, 20_000)
      .map((count) =>
        Buffer.from(`{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`),
      ),
  },
)

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** A copy of a JSON value in which one thing is changed: replaced, removed, added, renamed or repeated. */
export function mutations(value: unknown): Arbitrary<unknown> {
  const places = placesOf(value, [])
  return fc
    .tuple(fc.constantFrom(...places), fc.nat(4), hostileValues, fc.constantFrom(...HOSTILE_TEXTS))
    .map(([place, how, hostile, name]) => changed(value, place, how, hostile, name))
}

type Place = readonly (string | number)[]

function placesOf(value: unknown, at: Place): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...at, name]))]
}

function changed(value: unknown, place: Place, how: number, hostile: unknown, name: string): unknown {
  const [head, ...rest] = place
  if (head === undefined) return changedHere(value, how, hostile, name)
  if (Array.isArray(value)) {
    const index = Number(head)
    return value.map((item, at) => (at === index ? changed(item, rest, how, hostile, name) : item))
  }
  const copy: Record<string, unknown> = { ...(value as object) }
  if (how === 1 && rest.length === 0) delete copy[head]
  else copy[head] = changed(copy[head], rest, how, hostile, name)
  return copy
}

function changedHere(value: unknown, how: number, hostile: unknown, name: string): unknown {
  if (how === 2 && Array.isArray(value)) return [...value, hostile, ...value]
  if (how >= 2 && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries([...Object.entries(value), [name, hostile]])
  }
  if (how === 3 && typeof value === 'string') return value + name
  if (how === 4 && typeof value === 'number') return -value * 1e6
  return hostile
}
