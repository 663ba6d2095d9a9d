import type { Subscriber } from '@steeple/contracts'
import type { PlacedWrite } from '../batch.ts'
import type { Doc } from '../links/document-link.ts'
import { blockWrites } from './block.ts'
import { type Place, type WantedDoc, wantedDocs } from './documents.ts'
import { asideIdOf, COLLECTIONS, shortName, ueIdOf } from './names.ts'
import { docsIn, type Held } from './read.ts'
import { same } from './same.ts'
import { sliceOf } from './session.ts'
import { heldSqn } from './spelling.ts'

/** How the documents of a subscriber differ from what they should be, and what makes them fit. */
export interface Fitting {
  /** Documents and fields by name, never a value. */
  readonly differences: readonly string[]
  /** One after the other, sessions last. Empty when nothing differs. */
  readonly writes: readonly PlacedWrite[]
  /** Nothing tells any more how far the core has counted. */
  readonly isSqnLost: boolean
}

interface Step {
  readonly differences: readonly string[]
  readonly write: PlacedWrite
}

/**
 * Compares and mends in one: what differs is exactly what is written, so that nothing is pushed for ever.
 *
 * A document that is there keeps what the operator has in it: only fields that do not fit are written.
 */
export function fitting(subscriber: Subscriber, held: Held | undefined, place: Place): Fitting {
  const wanted = wantedDocs(subscriber, place)
  const rest = new Map<string, readonly Doc[]>()
  const steps = wanted.flatMap((doc) => {
    const all = rest.get(doc.collection) ?? candidates(held, doc)
    const its = all.filter(doc.isIt)
    rest.set(
      doc.collection,
      all.filter((one) => !its.includes(one)),
    )
    return stepsFor(doc, its, subscriber, place)
  })
  const isSession = ({ write }: Step): boolean => SESSIONS.includes(write.collection)
  const moves = held === undefined ? [] : blockWrites(subscriber, held, subscriber.isBlocked)
  const block = moves.map((write) => ({ differences: [`block of ${shortName(write.collection)}`], write }))
  const strays = [...strayDocs(held, rest, place.plmn)]
  const ordered = [
    ...steps.filter((step) => !isSession(step)),
    ...block,
    ...steps.filter(isSession),
    ...strays,
  ]
  const [auth] = docsIn(held, COLLECTIONS.auth).live
  return {
    differences: [...new Set(ordered.flatMap((step) => step.differences))],
    writes: ordered.map(({ write }) => write),
    isSqnLost: auth === undefined || heldSqn(auth.sequenceNumber) === undefined,
  }
}

const SESSIONS: readonly string[] = [COLLECTIONS.sm, COLLECTIONS.policySm]

/** Of sessions those that the core sees when there are any: `blockWrites` drops the others. */
function candidates(held: Held | undefined, { collection, isSession }: WantedDoc): readonly Doc[] {
  const { live, aside } = docsIn(held, collection)
  return isSession && live.length === 0 ? aside : live
}

/** What makes one document out of those that are there. The network's own one first; doubles go. */
function stepsFor(
  wanted: WantedDoc,
  its: readonly Doc[],
  subscriber: Subscriber,
  { plmn }: Place,
): readonly Step[] {
  const { collection } = wanted
  const name = shortName(collection)
  const [keeper, ...doubles] = its.toSorted((a, b) => Number(isForeign(a, plmn)) - Number(isForeign(b, plmn)))
  if (keeper === undefined) return [{ differences: [name], write: insertOf(wanted, subscriber) }]
  const drops = doubles.map((doc): Step => {
    return {
      differences: [`${name} twice`],
      write: { collection, op: { deleteMany: { filter: { _id: doc._id } } } },
    }
  })
  return [...drops, ...changesOf(wanted, keeper)]
}

function insertOf(
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
function changesOf({ collection, key, fields }: WantedDoc, held: Doc): readonly Step[] {
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

/** Documents that belong to nothing of ours: of another network they come along, or go when the core cannot read them. */
function* strayDocs(
  held: Held | undefined,
  rest: ReadonlyMap<string, readonly Doc[]>,
  plmn: string,
): Generator<Step> {
  for (const [collection, docs] of rest) {
    for (const doc of docs) {
      const filter = { _id: doc._id }
      const name = shortName(collection)
      if (collection === COLLECTIONS.sm && sliceOf(doc.singleNssai) === undefined)
        yield { differences: [`${name}.singleNssai`], write: { collection, op: { deleteMany: { filter } } } }
      else if (doc.ratingGroup !== undefined) yield mendedCopy(doc)
      else if (isForeign(doc, plmn)) {
        const update = { $set: { servingPlmnId: plmn } }
        yield {
          differences: [`${name}.servingPlmnId`],
          write: { collection, op: { updateOne: { filter, update } } },
        }
      }
    }
  }
  if (rest.has(COLLECTIONS.identity)) return
  for (const { _id } of docsIn(held, COLLECTIONS.identity).live) {
    const collection = COLLECTIONS.identity
    yield {
      differences: [shortName(collection)],
      write: { collection, op: { deleteMany: { filter: { _id } } } },
    }
  }
}

/** A copy that the PCF made of charging data that was spoiled: it takes that one first, and no session comes about. */
function mendedCopy({ _id }: Doc): Step {
  const update = { $set: { chargingMethod: 'Offline' } }
  const write: PlacedWrite = {
    collection: COLLECTIONS.charging,
    op: { updateOne: { filter: { _id }, update } },
  }
  return { differences: [`${shortName(COLLECTIONS.charging)}.chargingMethod`], write }
}

/** Whether a document is for another network than ours. */
function isForeign({ servingPlmnId }: Doc, plmn: string): boolean {
  return servingPlmnId !== undefined && servingPlmnId !== plmn
}
