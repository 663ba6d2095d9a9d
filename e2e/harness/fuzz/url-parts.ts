import fc, { type Arbitrary } from 'fast-check'
import type { Operation, Parameter } from '../openapi.ts'
import { HOSTILE_TEXTS } from './hostile-values.ts'
import { type Hints, valuesOf } from './schema-values.ts'

/** Things of the running service that requests may name. */
export interface Known {
  /** Values of path parameters by operation, or by operation and name, for those that exist. */
  readonly params: Readonly<Record<string, readonly string[]>>
  readonly cursors: readonly string[]
  /** Values of body properties. */
  readonly hints: Hints
}

const LIMITS = [
  '1',
  '2',
  '50',
  '500',
  '0',
  '501',
  '-1',
  '1e2',
  '',
  'NaN',
  '50.0',
  ' 5',
  '007',
  '9'.repeat(30),
  '١',
]

/** Segments that a router may stumble over, already encoded. */
const HOSTILE_SEGMENTS = [
  '%',
  '%zz',
  '%00',
  '%2f',
  '%2e%2e',
  '..',
  '.',
  '',
  '%c3%28',
  '%ed%a0%80',
  '%u0041',
  '*',
  ':id',
  '{id}',
  'a;b=c',
  'a'.repeat(600),
  '__proto__',
  'constructor',
  encodeURIComponent('𝒳é'),
]

/** The path of an operation: parameters that exist, that fit, or that are hostile. */
export function pathOf(operation: Operation, known: Known, isHostile: boolean): Arbitrary<string> {
  const names = operation.parameters.filter((parameter) => parameter.in === 'path')
  const values = names.map((parameter) => segment(operation, parameter, known, isHostile))
  return fc
    .tuple(...values)
    .map((segments) =>
      names.reduce(
        (path, { name }, index) => path.replace(`{${name}}`, () => segments[index] ?? ''),
        operation.path,
      ),
    )
}

function segment(
  operation: Operation,
  parameter: Parameter,
  known: Known,
  isHostile: boolean,
): Arbitrary<string> {
  const fitting = valuesOf(parameter.schema).map((value) => encodeSegment(String(value)))
  const name = `${operation.method} ${operation.path}`
  const existing = known.params[`${name} ${parameter.name}`] ?? known.params[name] ?? []
  const good = existing.length === 0 ? fitting : fc.oneof(fc.constantFrom(...existing), fitting)
  if (!isHostile) return good
  return fc.oneof(
    good,
    fc.constantFrom(...HOSTILE_SEGMENTS),
    fc.constantFrom(...HOSTILE_TEXTS).map((text) => encodeSegment(text.slice(0, 500))),
  )
}

function encodeSegment(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** A query string with its `?`, or the empty string. */
export function queryOf(operation: Operation, known: Known, isHostile: boolean): Arbitrary<string> {
  const declared = operation.parameters.filter((parameter) => parameter.in === 'query')
  const good = fc
    .subarray([...declared], { maxLength: Math.min(3, declared.length) })
    .chain((chosen) => fc.tuple(...chosen.map((parameter) => pairOf(parameter, known))))
  if (!isHostile) return good.map(joined)
  const noise = fc.constantFrom(
    'limit=1&limit=2',
    'limit[]=1',
    'limit=5;cursor=6',
    '__proto__=1',
    '__proto__[a]=1',
    'constructor[prototype][a]=1',
    'a=b',
    '=',
    '&&&',
    '%',
    'a=%zz',
    'cursor',
    'cursor=',
    `cursor=${'A'.repeat(2_000)}`,
    'cursor=AAAA&cursor=AAAA',
    'action=%00',
    'from=now',
    `${'x=1&'.repeat(500)}x=1`,
    '?',
    '%ff=%fe',
  )
  return fc.tuple(good, fc.array(noise, { maxLength: 2 })).map(([pairs, more]) => joined([...pairs, ...more]))
}

/** Nobody has a batch of requests wait for the one that asks to be told of a change within a minute. */
const WAITS = ['0', '1', '-1', '1.5', '9999', '', 'soon']
/** A change that is waited for to take effect. */
const DURATIONS = ['0s', '20ms', '1s', '-1s', '1.5s', '9999h', '1', '', 'soon']

function pairOf(parameter: Parameter, known: Known): Arbitrary<string> {
  const { name, schema } = parameter
  const encoded = (value: unknown): string => `${name}=${encodeSegment(String(value))}`
  if (name === 'limit') return fc.constantFrom(...LIMITS).map(encoded)
  if (name === 'wait_s') return fc.constantFrom(...WAITS).map(encoded)
  if (name === 'wait') return fc.constantFrom(...DURATIONS).map(encoded)
  if (name === 'cursor' && known.cursors.length > 0) return fc.constantFrom(...known.cursors).map(encoded)
  return fc.oneof(valuesOf(schema), fc.constantFrom(...HOSTILE_TEXTS)).map(encoded)
}

function joined(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
