import type { Subscriber } from '@steeple/contracts'
import type { PlacedWrite } from '../batch.ts'
import type { Doc } from '../links/document-link.ts'
import { free5gcDocs } from '../texts.ts'
import { blockWrites, type ServingNetwork, type WantedDoc, wantedDocs } from './documents.ts'
import { keptSteps } from './keep.ts'
import { COLLECTIONS, heldSqn, shortName } from './names.ts'
import { candidates, docsIn, type Held, SESSIONS } from './read.ts'
import { sliceOf } from './session.ts'
import { changesOf, insertOf, type Step } from './steps.ts'

/** How the documents of a subscriber differ from what they should be, and what makes them fit. */
interface Fitting {
  /** Documents and fields by name, never a value. */
  readonly differences: readonly string[]
  /** One after the other, sessions last. Empty when nothing differs. */
  readonly writes: readonly PlacedWrite[]
  /** Nothing tells any more how far the core has counted. */
  readonly isSqnLost: boolean
}

/**
 * Compares and mends in one: what differs is exactly what is written, so that nothing is pushed for ever.
 *
 * A document that is there keeps what the operator has in it: only fields that do not fit are written.
 */
export function fitting(subscriber: Subscriber, held: Held | undefined, network: ServingNetwork): Fitting {
  const found = free5gcDocs(subscriber, network.plmn)
  if (found !== undefined)
    return inOrder(subscriber, held, keptSteps({ subscriber, held, found, network }), [])
  const wanted = wantedDocs(subscriber, network)
  const rest = new Map<string, readonly Doc[]>()
  const steps = wanted.flatMap((doc) => {
    const all = rest.get(doc.collection) ?? candidates(held, doc.collection)
    const its = all.filter(doc.isIt)
    rest.set(
      doc.collection,
      all.filter((one) => !its.includes(one)),
    )
    return stepsFor(doc, its, subscriber, network)
  })
  return inOrder(subscriber, held, steps, [...strayDocs(held, rest, network.plmn)])
}

/** Sessions come last, and behind what puts them aside or back. */
function inOrder(
  subscriber: Subscriber,
  held: Held | undefined,
  steps: readonly Step[],
  strays: readonly Step[],
): Fitting {
  const isSession = ({ write }: Step): boolean => SESSIONS.includes(write.collection)
  const moves = held === undefined ? [] : blockWrites(subscriber, held, subscriber.isBlocked)
  const block = moves.map((write) => ({ differences: [`block of ${shortName(write.collection)}`], write }))
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

/** What makes one document out of those that are there. The network's own one first; doubles go. */
function stepsFor(
  wanted: WantedDoc,
  its: readonly Doc[],
  subscriber: Subscriber,
  { plmn }: ServingNetwork,
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
