import type { Subscriber } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import type { PlacedWrite } from '../waves.ts'
import {
  amFields,
  authFields,
  chargingFields,
  dnnConfigurations,
  otherFields,
  policySmFields,
  type Spelling,
  selectionFields,
  sqnField,
  sqnText,
} from './documents.ts'
import { asideIdOf, COLLECTIONS, snssaiKey, ueIdOf } from './names.ts'
import { type Held, sessionsOf } from './read.ts'

/** What the documents depend on beside the subscriber. */
export interface Place {
  readonly plmn: string
  readonly slices: readonly Snssai[]
  readonly spelling: Spelling
}

/** The writes that make a subscriber's documents fit, sessions last. The SQN is written where there is none. */
export function upsertWrites(
  subscriber: Subscriber,
  held: Held | undefined,
  place: Place,
): readonly PlacedWrite[] {
  const { imsi, isBlocked } = subscriber
  const { plmn, slices } = place
  const ueId = ueIdOf(imsi)
  const inPlmn = { ueId, servingPlmnId: plmn }
  const setting = (collection: string, filter: Doc, $set: Doc): PlacedWrite => ({
    collection,
    op: { kind: 'update', filter, update: { $set }, upsert: true },
  })
  const charging = slices.map((slice): PlacedWrite => {
    const key = { ...inPlmn, snssai: snssaiKey(slice), dnn: '', filter: '' }
    // Copies with a rating group are the core's own.
    const filter = { ...key, ratingGroup: { $exists: false } }
    const update = { $setOnInsert: chargingFields() }
    return { collection: COLLECTIONS.charging, op: { kind: 'update', filter, update, upsert: true } }
  })
  const oldOf = (slice: Snssai): unknown => {
    if (held === undefined) return undefined
    return (sessionsOf(held.live, slice) ?? sessionsOf(held.aside, slice))?.dnnConfigurations
  }
  const sessionsId = isBlocked ? asideIdOf(imsi) : ueId
  const sessions = slices.map((slice): PlacedWrite => {
    const key = { ueId: sessionsId, servingPlmnId: plmn, ...flatSnssai(slice) }
    return setting(COLLECTIONS.sm, key, { dnnConfigurations: dnnConfigurations(subscriber, oldOf(slice)) })
  })
  return [
    authWrite(subscriber, held, place.spelling),
    setting(COLLECTIONS.am, inPlmn, amFields(subscriber, slices)),
    setting(COLLECTIONS.selection, inPlmn, selectionFields(subscriber, slices)),
    setting(COLLECTIONS.policyAm, { ueId }, { subscCats: ['free5gc'] }),
    ...charging,
    ...(held === undefined ? [] : blockWrites(subscriber, held, isBlocked)),
    ...sessions,
    setting(COLLECTIONS.policySm, { ueId: sessionsId }, policySmFields(subscriber, slices)),
  ]
}

/**
 * Puts what sessions need aside, or back: the key changes, the documents stay as they are.
 *
 * When there are both, those that the core sees are the ones to keep.
 */
export function blockWrites(
  { imsi }: Pick<Subscriber, 'imsi'>,
  { live, aside }: Held,
  toBlocked: boolean,
): readonly PlacedWrite[] {
  const [liveId, asideId] = [ueIdOf(imsi), asideIdOf(imsi)]
  const move = (collection: string, isLive: boolean, isAside: boolean): readonly PlacedWrite[] => {
    const drop = { collection, op: { kind: 'delete', filter: { ueId: asideId } } } as const
    const dropped = isLive && isAside ? [drop] : []
    if (toBlocked !== isLive) return dropped
    const [from, to] = toBlocked ? [liveId, asideId] : [asideId, liveId]
    const update = { $set: { ueId: to } }
    return [...dropped, { collection, op: { kind: 'update', filter: { ueId: from }, update, many: true } }]
  }
  return [
    ...move(COLLECTIONS.policySm, live.policy !== undefined, aside.policy !== undefined),
    ...move(COLLECTIONS.sm, live.sm.length > 0, aside.sm.length > 0),
  ]
}

/** Takes every document of a subscriber away, its keys first. */
export function removeWrites({ imsi }: Pick<Subscriber, 'imsi'>): readonly PlacedWrite[] {
  const filter = { ueId: { $in: [ueIdOf(imsi), asideIdOf(imsi)] } }
  return Object.values(COLLECTIONS).map((collection) => ({ collection, op: { kind: 'delete', filter } }))
}

function authWrite(subscriber: Subscriber, held: Held | undefined, spelling: Spelling): PlacedWrite {
  const filter = { ueId: ueIdOf(subscriber.imsi) }
  const $set = authFields(subscriber, spelling)
  const collection = COLLECTIONS.auth
  if (held?.auth === undefined) {
    const $setOnInsert = { sequenceNumber: sqnField(sqnText(subscriber.sqn), spelling) }
    return { collection, op: { kind: 'update', filter, update: { $set, $setOnInsert }, upsert: true } }
  }
  const { spelling: before, sqn } = held.auth
  // After an upgrade of the core: the same keys and the same SQN in the words of the other release.
  const isCurrent = before === spelling && sqn !== undefined
  const renewed = isCurrent ? {} : { sequenceNumber: sqnField(sqn ?? sqnText(subscriber.sqn), spelling) }
  const $unset = before === spelling ? {} : { $unset: otherFields(spelling) }
  return { collection, op: { kind: 'update', filter, update: { $set: { ...$set, ...renewed }, ...$unset } } }
}

/** The S-NSSAI of a session document as paths: a number of another type still matches, an insert takes it over. */
function flatSnssai({ sst, sd }: Snssai): Doc {
  return { 'singleNssai.sst': sst, ...(sd === undefined ? {} : { 'singleNssai.sd': sd }) }
}
