import type { Subscriber } from '@steeple/contracts'
import type { PlacedWrite } from '../batch.ts'
import type { Doc } from '../links/document-link.ts'
import type { WantedDoc } from './documents.ts'
import { asideIdOf, same, shortName, ueIdOf } from './names.ts'

/** A write, and what it mends. */
export interface Step {
  readonly differences: readonly string[]
  readonly write: PlacedWrite
}

/** What makes a document that is not there. */
export function insertOf(
  { collection, key, guard, fields, isSession }: WantedDoc,
  { imsi, isBlocked }: Subscriber,
): PlacedWrite {
  const ueId = isSession && isBlocked ? asideIdOf(imsi) : ueIdOf(imsi)
  const values = Object.entries(fields).map(([field, fit]) => [field, fit(undefined)] as const)
  const $setOnInsert = Object.fromEntries(values.filter(([, value]) => value !== undefined))
  const filter = { ...key, ueId, ...guard }
  return { collection, op: { updateOne: { filter, update: { $setOnInsert }, upsert: true } } }
}

/** One update of the fields that do not fit; none when all do. */
export function changesOf({ collection, key, fields }: WantedDoc, held: Doc): readonly Step[] {
  // Whether it is in the core's sight is a matter of the block.
  const { ueId: _, ...named } = key
  const keyed = Object.entries(named).map(([field, value]) => [field, value] as const)
  const fitted = Object.entries(fields).map(([field, fit]) => [field, fit(held[field])] as const)
  const changed = [...keyed, ...fitted].filter(([field, value]) =>
    value === undefined ? field in held : !same(held[field], value),
  )
  if (changed.length === 0) return []
  const set = changed.filter(([, value]) => value !== undefined)
  const unset = changed.filter(([, value]) => value === undefined).map(([field]) => [field, ''])
  const update = {
    ...(set.length === 0 ? {} : { $set: Object.fromEntries(set) }),
    ...(unset.length === 0 ? {} : { $unset: Object.fromEntries(unset) }),
  }
  const isCounted = changed.some(([field]) => field === 'sequenceNumber')
  // The core may have counted on since the look: then it is left for the next.
  const filter = { _id: held._id, ...(isCounted ? { sequenceNumber: held.sequenceNumber ?? null } : {}) }
  const write: PlacedWrite = { collection, op: { updateOne: { filter, update } } }
  return [{ differences: changed.map(([field]) => `${shortName(collection)}.${field}`), write }]
}
