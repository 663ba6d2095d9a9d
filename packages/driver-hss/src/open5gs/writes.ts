import type { Subscriber } from '@steeple/contracts'
import type { Doc, WriteOp } from '../links/document-link.ts'
import { keptAmbr, MSISDNS_MAX } from './ambr.ts'
import { ambrOf, commonFields, encodeSqn, insertedFields, type Snssai, securityFields } from './document.ts'
import { docsOf, mergedSlices } from './slices.ts'

/** Whether a document is the rest that the core leaves when a removal meets an attach: it has no `security`. */
export function isGhost(doc: Doc): boolean {
  return doc.security === undefined && doc.slice === undefined && doc.schema_version === undefined
}

/** Whether nobody gets on with it: no slice, so no APN. */
export function isBlocked(doc: Doc): boolean {
  return docsOf(doc.slice).length === 0
}

/**
 * The writes that make a subscriber's document fit. `old` is the document as read, undefined when there is none.
 *
 * Only dotted sets: a replaced document would reset the SQN and raise no event that the HSS understands. The SQN is
 * written where there is none. Throws `validation_failed`.
 */
export function upsertWrites(
  subscriber: Subscriber,
  old: Doc | undefined,
  slices: readonly Snssai[],
): readonly WriteOp[] {
  const ambr = ambrOf(subscriber)
  const before = old === undefined ? undefined : isBlocked(old) ? (old.suspended_slice ?? []) : old.slice
  const list = mergedSlices(before, { slices, apns: subscriber.apns, ambr })
  const state = subscriber.isBlocked ? blockedState(list) : unblockedState(list, old)
  const missing = Object.entries(commonFields()).filter(([field]) => old?.[field] === undefined)
  const filter = { imsi: subscriber.imsi }
  const $set = {
    ...securityFields(subscriber),
    ...(amfOf(old) === undefined ? { 'security.amf': '8000' } : {}),
    msisdn: msisdnsOf(subscriber, old),
    ambr: keptAmbr(old?.ambr, ambr),
    ...Object.fromEntries(missing),
    ...state.$set,
  }
  const update = { $set, ...(state.$unset === undefined ? {} : { $unset: state.$unset }) }
  const first = subscriber.isBlocked && old !== undefined && !isBlocked(old) ? rearm(filter, old) : []
  if (old === undefined) {
    const $setOnInsert = { ...insertedFields(), 'security.sqn': encodeSqn(subscriber.sqn) }
    return [{ updateOne: { filter, update: { ...update, $setOnInsert }, upsert: true } }]
  }
  const writes: readonly WriteOp[] = [...first, { updateOne: { filter, update } }]
  return [...writes, ...sqnWrites(subscriber, old)]
}

/** The writes that block a subscriber: its slices aside and its registration cancelled, in one update. */
export function blockWrites(doc: Doc): readonly WriteOp[] {
  if (isBlocked(doc)) return []
  const filter = { imsi: doc.imsi }
  return [...rearm(filter, doc), { updateOne: { filter, update: blockedState(docsOf(doc.slice)) } }]
}

/**
 * The writes that have the HSS cancel the location of whoever has this document. Set anew after it was taken away, since
 * an unchanged value is no event.
 */
export function cancelWrites(doc: Doc): readonly WriteOp[] {
  const filter = { imsi: doc.imsi }
  const update = { $set: { request_cancel_location: true } }
  return [...rearm(filter, doc), { updateOne: { filter, update } }]
}

/** The writes that unblock a subscriber; undefined when nobody kept what to put back. */
export function unblockWrites(doc: Doc): readonly WriteOp[] | undefined {
  const filter = { imsi: doc.imsi }
  const $unset = leftoversOf(doc)
  if (!isBlocked(doc)) return $unset === undefined ? [] : [{ updateOne: { filter, update: { $unset } } }]
  const kept = docsOf(doc.suspended_slice)
  if (kept.length === 0) return undefined
  return [{ updateOne: { filter, update: { $set: { slice: kept }, $unset } } }]
}

/** The HSS acts on a cancel request only when the field changes: one that is set already must go first. */
function rearm(filter: Doc, old: Doc): readonly WriteOp[] {
  if (old.request_cancel_location === undefined) return []
  return [{ updateOne: { filter, update: { $unset: { request_cancel_location: '' } } } }]
}

function blockedState(list: readonly Doc[]): { readonly $set: Doc; readonly $unset?: Doc } {
  return { $set: { suspended_slice: list, slice: [], request_cancel_location: true } }
}

function unblockedState(
  list: readonly Doc[],
  old: Doc | undefined,
): { readonly $set: Doc; readonly $unset?: Doc } {
  const $unset = old === undefined ? undefined : leftoversOf(old)
  return { $set: { slice: list }, ...($unset === undefined ? {} : { $unset }) }
}

/** What a block that this driver set has left, half-way, by hand or by a crash; undefined when it is nothing. */
function leftoversOf(doc: Doc): Doc | undefined {
  const isLeft = doc.suspended_slice !== undefined || doc.request_cancel_location !== undefined
  return isLeft ? { suspended_slice: '', request_cancel_location: '' } : undefined
}

/** Whether a document has no SQN that could be counted on from. */
export function needsSqn(doc: Doc): boolean {
  return wholeOf(sqnOf(doc)) === undefined
}

/**
 * The core reads a 64-bit integer and nothing else: it would count from 0 again. A number of another type keeps its value;
 * what is none is written anew. Only while the field is as it was read, since the core counts on meanwhile.
 */
function sqnWrites({ imsi, sqn }: Subscriber, old: Doc): readonly WriteOp[] {
  const held = sqnOf(old)
  if (typeOf(held) === 'Long') return []
  const filter = { imsi, 'security.sqn': held === undefined ? { $exists: false } : held }
  const value = encodeSqn(wholeOf(held) ?? sqn)
  return [{ updateOne: { filter, update: { $set: { 'security.sqn': value } } } }]
}

function typeOf(value: unknown): unknown {
  return (value as { _bsontype?: unknown } | null | undefined)?._bsontype
}

/** A stored number that could be a SQN; undefined for anything else. */
function wholeOf(value: unknown): bigint | undefined {
  const isNumber = ['Long', 'Int32', 'Double'].includes(String(typeOf(value)))
  const text = isNumber ? String(value) : ''
  return /^[0-9]{1,15}$/.test(text) ? BigInt(text) : undefined
}

function sqnOf(doc: Doc): unknown {
  return (doc.security as Doc | undefined)?.sqn
}

function amfOf(doc: Doc | undefined): unknown {
  return (doc?.security as Doc | undefined)?.amf
}

/** Ours first, then what an operator added behind it. */
function msisdnsOf({ msisdn }: Subscriber, old: Doc | undefined): readonly unknown[] {
  if (msisdn === undefined) return []
  const held = Array.isArray(old?.msisdn) ? old.msisdn.slice(1, MSISDNS_MAX) : []
  return [msisdn, ...held]
}
