import type { Ambr, Imsi, SubscriberHeld, SubscriberObserved } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import { decodeAmbr, isInt32 } from './ambr.ts'
import type { Snssai } from './document.ts'
import { isBlocked, isGhost } from './found.ts'
import { docsOf, isSlice } from './slices.ts'

/** What of a document is read: everything but the keys. */
export const READ_FIELDS: Doc = {
  imsi: 1,
  msisdn: 1,
  slice: 1,
  suspended_slice: 1,
  request_cancel_location: 1,
  ambr: 1,
  'security.sqn': 1,
  'security.amf': 1,
  schema_version: 1,
  access_restriction_data: 1,
  network_access_mode: 1,
  subscriber_status: 1,
  operator_determined_barring: 1,
  subscribed_rau_tau_timer: 1,
}

/**
 * The subscriber as the core reads the document: a slice or rate of a type that it ignores counts as absent or 0, so
 * that a comparison finds it.
 */
export function observedOf(doc: Doc, slices: number): SubscriberObserved | undefined {
  const { imsi } = doc
  if (typeof imsi !== 'string' || isGhost(doc)) return undefined
  const blocked = isBlocked(doc)
  const held = docsOf(blocked ? doc.suspended_slice : doc.slice)
  const sessions = docsOf(held[0]?.session)
  const readable = held.slice(0, slices).every((slice) => isInt32(slice.sst)) && held.length >= slices
  const ue = decodeAmbr(doc.ambr)
  const isOdd = sessions
    .map((session) => decodeAmbr(session.ambr))
    .some(({ up, down }) => up !== ue.up || down !== ue.down)
  const msisdn = Array.isArray(doc.msisdn) ? doc.msisdn[0] : undefined
  return {
    imsi: imsi as Imsi, // the key that was asked for
    apns: readable ? sessions.map((session) => String(session.name)) : [],
    // No rate is wanted that two places tell differently, and each of them may be the one that was edited.
    ambrBps: isOdd ? { up: 0, down: 0 } : ue,
    isBlocked: blocked,
    ...(typeof msisdn === 'string' ? { msisdn } : {}),
  }
}

/** What a document holds, whoever wrote it: the APNs of our slices, of all its slices where it has none of ours. */
export function heldOf(doc: Doc, slices: readonly Snssai[]): SubscriberHeld | undefined {
  if (typeof doc.imsi !== 'string' || isGhost(doc)) return undefined
  const blocked = isBlocked(doc)
  const all = docsOf(blocked ? doc.suspended_slice : doc.slice)
  const ours = all.filter((slice) => slices.some((snssai) => isSlice(slice, snssai)))
  const sessions = (ours.length === 0 ? all : ours)
    .flatMap((slice) => docsOf(slice.session))
    .filter(({ name }) => typeof name === 'string' && name !== '')
  const ue = decodeAmbr(doc.ambr)
  const msisdn = Array.isArray(doc.msisdn) ? doc.msisdn[0] : undefined
  return {
    apns: [...new Set(sessions.map(({ name }) => String(name)))],
    ambrBps: ue.up > 0 && ue.down > 0 ? ue : undefined,
    sessionAmbrBps: new Map(
      sessions
        .map(({ name, ambr }): [string, Ambr] => [String(name), decodeAmbr(ambr)])
        .filter(([, { up, down }]) => up !== ue.up || down !== ue.down),
    ),
    msisdn: typeof msisdn === 'string' && msisdn !== '' ? msisdn : undefined,
    isBlocked: blocked,
  }
}
