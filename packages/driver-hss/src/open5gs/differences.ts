import type { Subscriber, SubscriberDifference } from '@steeple/contracts'
import { Double, EJSON, Int32, Long } from 'bson'
import type { Doc, WriteOp } from '../links/document-link.ts'
import type { Snssai } from './document.ts'
import { needsSqn, upsertWrites } from './writes.ts'

/** What of a document is read besides, to compare keys. */
export const KEY_FIELDS: Doc = { 'security.k': 1, 'security.opc': 1, 'security.op': 1 }

/** Names for people, of fields that are not called as people call them. */
const NAMES: Readonly<Record<string, string>> = {
  'security.k': 'Ki',
  'security.opc': 'OPc',
  'security.op': 'OP',
  'security.amf': 'AMF',
  'security.sqn': 'SQN',
  msisdn: 'MSISDN',
  ambr: 'AMBR',
  slice: 'slices and APNs',
}

/** What an upsert of a subscriber would change in its document, types included: the core ignores what has another one. */
export function differencesOf(
  subscriber: Subscriber,
  doc: Doc,
  slices: readonly Snssai[],
): SubscriberDifference {
  const paths = upsertWrites(subscriber, doc, slices).flatMap((write) => changedBy(write, doc))
  const fields = [...new Set(paths)].map((path) => NAMES[path] ?? path)
  return { fields, isSqnLost: needsSqn(doc) }
}

function changedBy(write: WriteOp, doc: Doc): readonly string[] {
  if (!('updateOne' in write)) return []
  const { $set = {}, $unset = {} } = write.updateOne.update as { $set?: Doc; $unset?: Doc } // as upsertWrites makes them
  const set = Object.entries($set).filter(([path, value]) => !isSame(plainKey(path, at(doc, path)), value))
  const unset = Object.keys($unset).filter((path) => at(doc, path) !== undefined)
  return [...set.map(([path]) => path), ...unset]
}

/** Keys as they are written here: the core reads hexadecimal in either case. */
function plainKey(path: string, held: unknown): unknown {
  const isKey = path === 'security.k' || path === 'security.opc'
  return isKey && typeof held === 'string' ? held.toLowerCase() : held
}

function at(doc: Doc, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Doc | null | undefined)?.[key], doc)
}

/** Nearly all are, field by field, which is a tenth of the work of writing both down; only what seems to differ is written down. */
function isSame(one: unknown, other: unknown): boolean {
  return isSurelySame(one, other) || text(one) === text(other)
}

/** Whether two values are the same and of the same types, as far as can be told without writing them down. */
function isSurelySame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (one instanceof Int32) return other instanceof Int32 && Object.is(one.value, other.value)
  if (one instanceof Double) return other instanceof Double && Object.is(one.value, other.value)
  if (one instanceof Long)
    return other instanceof Long && one.equals(other) && one.unsigned === other.unsigned
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((part, nth) => isSurelySame(part, other[nth]))
    )
  if (!isPlain(one) || !isPlain(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSurelySame(one[key], other[key]))
  )
}

/** Whether a value is a document and nothing else: dates and octets have what no key of them shows. */
function isPlain(value: unknown): value is Doc {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** Canonical, with types, whatever the order of the fields. */
function text(value: unknown): string {
  return value === undefined ? '' : EJSON.stringify(sorted(value), { relaxed: false })
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  const isDoc = typeof value === 'object' && value !== null && !('_bsontype' in value)
  if (!isDoc) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  )
}
