import type { Subscriber } from '@steeple/contracts'
import type { PlacedWrite } from '../batch.ts'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import {
  asideIdOf,
  COLLECTIONS,
  docOf,
  KEY_FIELDS,
  keyFields,
  parseRate,
  type Spelling,
  snssaiKey,
  sqnField,
  ueIdOf,
  ueRate,
} from './names.ts'
import { docsIn, type Held, isOfSlice } from './read.ts'
import { dnnConfigurations, policySlices, selectionSlices, snssaiDoc } from './session.ts'

/**
 * Puts what sessions need aside, or back: the key changes, the documents stay as they are.
 *
 * When there are both, those that the core sees are the ones to keep.
 */
export function blockWrites(
  { imsi }: Pick<Subscriber, 'imsi'>,
  held: Held,
  toBlocked: boolean,
): readonly PlacedWrite[] {
  const [liveId, asideId] = [ueIdOf(imsi), asideIdOf(imsi)]
  const move = (collection: string): readonly PlacedWrite[] => {
    const { live, aside } = docsIn(held, collection)
    const [isLive, isAside] = [live.length > 0, aside.length > 0]
    const drop = { collection, op: { deleteMany: { filter: { ueId: asideId } } } } as const
    const dropped = isLive && isAside ? [drop] : []
    const isMoved = toBlocked ? isLive : isAside && !isLive
    if (!isMoved) return dropped
    const [from, to] = toBlocked ? [liveId, asideId] : [asideId, liveId]
    const update = { $set: { ueId: to } }
    return [...dropped, { collection, op: { updateMany: { filter: { ueId: from }, update } } }]
  }
  return [...move(COLLECTIONS.policySm), ...move(COLLECTIONS.sm)]
}

/** Takes every document of a subscriber away, its keys first. */
export function removeWrites({ imsi }: Pick<Subscriber, 'imsi'>): readonly PlacedWrite[] {
  const filter = { ueId: { $in: [ueIdOf(imsi), asideIdOf(imsi)] } }
  return Object.values(COLLECTIONS).map((collection) => ({ collection, op: { deleteMany: { filter } } }))
}

/** What a field should be, given what stands there; undefined when it should not be there at all. */
export type Fit = (held: unknown) => unknown

/** A document that a subscriber needs. */
export interface WantedDoc {
  readonly collection: string
  /** What it is found by in the core. */
  readonly key: Doc
  /** What else tells it from other documents that are not there yet. */
  readonly guard?: Doc
  /** Whether a document of the subscriber in that collection is this one, be it in the right words or not. */
  readonly isIt: (doc: Doc) => boolean
  readonly fields: Readonly<Record<string, Fit>>
  /** What a session needs: it is out of the core's sight while the subscriber is blocked. */
  readonly isSession: boolean
}

/** What documents depend on beside the subscriber. */
export interface ServingNetwork {
  readonly plmn: string
  readonly slices: readonly Snssai[]
  readonly spelling: Spelling
}

/** Every document of a subscriber, in the order in which they are written: sessions last. */
export function wantedDocs(subscriber: Subscriber, network: ServingNetwork): readonly WantedDoc[] {
  const { plmn, slices } = network
  const ueId = ueIdOf(subscriber.imsi)
  const inPlmn = { ueId, servingPlmnId: plmn }
  const one = (collection: string, key: Doc, fields: WantedDoc['fields']): WantedDoc => {
    return { collection, key, isIt: () => true, fields, isSession: false }
  }
  const { msisdn, imsi } = subscriber
  return [
    one(COLLECTIONS.auth, { ueId }, authFields(subscriber, network.spelling)),
    one(COLLECTIONS.am, inPlmn, amFields(subscriber, slices)),
    one(COLLECTIONS.selection, inPlmn, {
      subscribedSnssaiInfos: (held) => selectionSlices(subscriber, slices, held),
    }),
    one(COLLECTIONS.policyAm, { ueId }, { subscCats: (held) => (isTexts(held) ? held : ['free5gc']) }),
    ...(msisdn === undefined ? [] : [one(COLLECTIONS.identity, { ueId }, { gpsi: always(gpsiOf(msisdn)) })]),
    ...slices.map((slice) => chargingDoc(imsi, plmn, slice)),
    ...slices.map((slice): WantedDoc => {
      const isIt = (doc: Doc): boolean => isOfSlice(doc, slice)
      const fields = {
        dnnConfigurations: (held: unknown) => dnnConfigurations(subscriber, held),
      }
      const key = { ...inPlmn, singleNssai: snssaiDoc(slice) }
      return { collection: COLLECTIONS.sm, key, isIt, fields, isSession: true }
    }),
    {
      ...one(
        COLLECTIONS.policySm,
        { ueId },
        {
          smPolicySnssaiData: (held) => policySlices(subscriber, slices, held),
        },
      ),
      isSession: true,
    },
  ]
}

/** Keys, method and SQN. The SQN is the core's: it is only spelled anew, or begun where there is none. */
function authFields(subscriber: Subscriber, spelling: Spelling): WantedDoc['fields'] {
  const keys = Object.entries(keyFields(subscriber, spelling)).map(([name, value]) => [name, always(value)])
  const none = [...KEY_FIELDS.v3, ...KEY_FIELDS.v4].map((name) => [name, always(undefined)])
  return {
    authenticationMethod: always('5G_AKA'),
    authenticationManagementField: always('8000'),
    ...Object.fromEntries(none),
    ...Object.fromEntries(keys),
    sequenceNumber: (held) => sqnField(held, subscriber.sqn, spelling),
  }
}

/** Access and mobility: who, which slices, how fast. Further numbers and slices are the operator's. */
function amFields({ msisdn, ambrBps }: Subscriber, slices: readonly Snssai[]): WantedDoc['fields'] {
  const { up, down } = ambrBps
  return {
    gpsis: (held) => [gpsiOf(msisdn), ...(isTexts(held) ? held.slice(1) : [])],
    nssai: (held) => ({ ...docOf(held), defaultSingleNssais: slices.map(snssaiDoc) }),
    subscribedUeAmbr: (held) => {
      const { uplink, downlink } = docOf(held)
      const isRight = parseRate(uplink) === up && parseRate(downlink) === down
      return isRight ? held : { uplink: ueRate(up), downlink: ueRate(down) }
    },
  }
}

/** Volumes of a slice are counted only with this. Copies with a rating group are the core's own. */
function chargingDoc(imsi: Subscriber['imsi'], plmn: string, slice: Snssai): WantedDoc {
  const key = { ueId: ueIdOf(imsi), servingPlmnId: plmn, snssai: snssaiKey(slice), dnn: '', filter: '' }
  const isIt = ({ snssai, dnn, filter, ratingGroup }: Doc): boolean =>
    ratingGroup === undefined && snssai === key.snssai && dnn === '' && filter === ''
  const fields = { chargingMethod: always('Offline'), quota: always('0'), unitCost: always('1') }
  const guard = { ratingGroup: { $exists: false } }
  return { collection: COLLECTIONS.charging, key, guard, isIt, fields, isSession: false }
}

function gpsiOf(msisdn: string | undefined): string {
  return `msisdn-${msisdn ?? ''}`
}

function always(value: unknown): Fit {
  return () => value
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')
}
