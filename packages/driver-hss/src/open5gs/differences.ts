import type { Subscriber, SubscriberDifference } from '@steeple/contracts'
import { EJSON } from 'bson'
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
  const set = Object.entries($set).filter(([path, value]) => text(at(doc, path)) !== text(value))
  const unset = Object.keys($unset).filter((path) => at(doc, path) !== undefined)
  return [...set.map(([path]) => path), ...unset]
}

function at(doc: Doc, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Doc | null | undefined)?.[key], doc)
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
