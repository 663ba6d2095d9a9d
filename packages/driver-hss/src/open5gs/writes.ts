import { timingSafeEqual } from 'node:crypto'
import type { Subscriber } from '@steeple/contracts'
import type { Doc, WriteOp } from '../links/document-link.ts'
import { open5gsDoc } from '../texts.ts'
import { decodeAmbr, keptAmbr, MSISDNS_MAX, meantAmbr } from './ambr.ts'
import {
  ambrOf,
  commonFields,
  encodeSqn,
  insertedFields,
  isSame,
  type Snssai,
  securityFields,
} from './document.ts'
import { isBlocked, isGhost, keysOf, sqnOf, typeOf, wholeSqn } from './found.ts'
import { docsOf, keptSlices, mergedSlices } from './slices.ts'

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
  const found = open5gsDoc(subscriber)
  if (found !== undefined) return keepingWrites({ subscriber, old, found, slices })
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

/** What the writes of a subscriber that was taken over depend on. */
interface Keeping {
  readonly subscriber: Subscriber
  readonly old: Doc | undefined
  readonly found: Doc
  readonly slices: readonly Snssai[]
}

/** The writes of one that was taken over: what says already what it should stays as it is, and so does all else. */
function keepingWrites(keeping: Keeping): readonly WriteOp[] {
  const { subscriber, old, found } = keeping
  const isGone = old === undefined || isGhost(old)
  const doc = isGone ? { ...found, slice: [] } : old
  const toBlock = subscriber.isBlocked && (isGone || !isBlocked(doc))
  const { $set, $unset } = keptState(keeping, doc, toBlock)
  const wanted = Object.entries({ ...(isGone ? flat(found) : {}), ...keptFields(keeping, doc), ...$set })
  const changed = wanted.filter(([path, value]) => isGone || !isSame(doc[path], value))
  const update = {
    ...(changed.length === 0 ? {} : { $set: Object.fromEntries(changed) }),
    ...($unset === undefined ? {} : { $unset }),
  }
  const filter = { imsi: subscriber.imsi }
  if (old === undefined) {
    const $setOnInsert = { ...insertedFields(), 'security.sqn': encodeSqn(subscriber.sqn) }
    return [{ updateOne: { filter, update: { ...update, $setOnInsert }, upsert: true } }]
  }
  const first = toBlock ? rearm(filter, old) : []
  const main: readonly WriteOp[] = Object.keys(update).length === 0 ? [] : [{ updateOne: { filter, update } }]
  return [...first, ...main, ...sqnWrites(subscriber, old)]
}

/** Its slices. One that is blocked and should be is left alone. */
function keptState({ subscriber, old, found, slices }: Keeping, doc: Doc, toBlock: boolean): StateUpdate {
  if (subscriber.isBlocked && !toBlock) return { $set: {} }
  const held = isBlocked(doc) ? firstFilled(doc.suspended_slice, found.slice) : docsOf(doc.slice)
  const list =
    held.length === 0
      ? mergedSlices([], { slices, apns: subscriber.apns, ambr: ambrOf(subscriber) })
      : keptSlices(held, found, subscriber)
  return toBlock ? blockedState(list) : unblockedState(list, old)
}

/** Keys, number and AMBR, where they are others. */
function keptFields({ subscriber, found }: Keeping, doc: Doc): Doc {
  const { msisdn, ambrBps } = subscriber
  const [held] = Array.isArray(doc.msisdn) ? doc.msisdn : []
  const { up, down } = decodeAmbr(doc.ambr)
  // A block of before Open5GS 2 says its rates otherwise; nobody reads them while it is one.
  const isLegacy = subscriber.isBlocked && meantAmbr(doc.ambr) === undefined
  return {
    ...(hasKeys(doc, subscriber) ? {} : securityFields(subscriber)),
    ...(msisdn === undefined || msisdn === held ? {} : { msisdn: msisdnsOf(subscriber, doc) }),
    ...((up === ambrBps.up && down === ambrBps.down) || isLegacy
      ? {}
      : { ambr: keptAmbr(found.ambr, ambrOf(subscriber)) }),
  }
}

function firstFilled(...lists: readonly unknown[]): readonly Doc[] {
  return lists.map(docsOf).find((list) => list.length > 0) ?? []
}

/** Its fields as an update sets them; slices and keys are set for themselves. */
function flat({ slice: _, security, ...rest }: Doc): Doc {
  const parts = Object.entries((security ?? {}) as Doc).map(([name, value]) => [`security.${name}`, value])
  return { ...rest, ...Object.fromEntries(parts) }
}

/** Whether a document has these keys, be it with OP or OPc, in either case, with blanks or without. */
function hasKeys(doc: Doc, { ki, opc }: Pick<Subscriber, 'ki' | 'opc'>): boolean {
  const held = keysOf(doc)
  if (held === undefined) return false
  const isSameKeys = timingSafeEqual(held.ki, ki) && timingSafeEqual(held.opc, opc)
  held.ki.fill(0)
  held.opc.fill(0)
  return isSameKeys
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

/** What an update sets and takes away of slices and blocks. */
type StateUpdate = Readonly<{ $set: Doc; $unset?: Doc }>

function blockedState(list: readonly Doc[]): StateUpdate {
  return { $set: { suspended_slice: list, slice: [], request_cancel_location: true } }
}

function unblockedState(list: readonly Doc[], old: Doc | undefined): StateUpdate {
  const $unset = old === undefined ? undefined : leftoversOf(old)
  return { $set: { slice: list }, ...($unset === undefined ? {} : { $unset }) }
}

/** What a block that this driver set has left, half-way, by hand or by a crash; undefined when it is nothing. */
function leftoversOf(doc: Doc): Doc | undefined {
  const isLeft = doc.suspended_slice !== undefined || doc.request_cancel_location !== undefined
  return isLeft ? { suspended_slice: '', request_cancel_location: '' } : undefined
}

/** Whether a document has no SQN that could be counted on from, and must have one. */
export function lacksSqn(subscriber: Pick<Subscriber, 'found'>, doc: Doc): boolean {
  return !isUncounted(subscriber, doc) && wholeSqn(doc) === undefined
}

/** One of another tool that the core has not counted for yet: it counts from 0, and a card that is ahead resynchronises. */
function isUncounted({ found }: Pick<Subscriber, 'found'>, doc: Doc): boolean {
  return found !== undefined && !isGhost(doc) && sqnOf(doc) === undefined
}

/**
 * The core reads a 64-bit integer and nothing else: it would count from 0 again. A number of another type keeps its value;
 * what is none is written anew. Only while the field is as it was read, since the core counts on meanwhile.
 */
function sqnWrites(subscriber: Subscriber, old: Doc): readonly WriteOp[] {
  const { imsi, sqn } = subscriber
  const held = sqnOf(old)
  if (typeOf(held) === 'Long' || isUncounted(subscriber, old)) return []
  const filter = { imsi, 'security.sqn': held === undefined ? { $exists: false } : held }
  const value = encodeSqn(wholeSqn(old) ?? sqn)
  return [{ updateOne: { filter, update: { $set: { 'security.sqn': value } } } }]
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
