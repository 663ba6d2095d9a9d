import { validationFailed } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import { isInt32, keptAmbr, SLICES_MAX } from './ambr.ts'
import { freshQos, freshSession, type Snssai, sliceHead } from './document.ts'

/** What a slice list must hold: these slices, each with these APNs at this AMBR. */
export interface SliceWish {
  readonly slices: readonly Snssai[]
  readonly apns: readonly string[]
  readonly ambr: Doc
}

/**
 * The slice list that fulfils a wish and keeps what an operator added to the old one.
 *
 * Kept: other slices, and of each wished APN everything but its AMBR (addresses, QoS, rules) as long as the core can
 * read it. Replaced: what has a type that the core ignores. Throws `validation_failed` above 8 slices.
 */
export function mergedSlices(old: unknown, wish: SliceWish): readonly Doc[] {
  const held = docsOf(old)
  const wanted = wish.slices.map((snssai, index) => {
    const before = held.find((slice) => isSlice(slice, snssai))
    return {
      ...before,
      ...sliceHead(snssai, index === 0),
      session: mergedSessions(before?.session, wish),
    }
  })
  const others = held.filter(
    (slice) => isInt32(slice.sst) && !wish.slices.some((snssai) => isSlice(slice, snssai)),
  )
  const all = [...wanted, ...others]
  if (all.length > SLICES_MAX) {
    throw validationFailed(`a subscriber can have ${SLICES_MAX} slices, not ${all.length}: more stop the HSS`)
  }
  return all
}

function mergedSessions(old: unknown, wish: SliceWish): readonly Doc[] {
  const held = docsOf(old)
  return wish.apns.map((apn) => {
    const before = held.find((session) => session.name === apn)
    if (before === undefined) return freshSession(apn, wish.ambr)
    const fresh = freshSession(apn, wish.ambr)
    return {
      ...fresh,
      ...before,
      ambr: keptAmbr(before.ambr, wish.ambr),
      type: isPdnType(before.type) ? before.type : fresh.type,
      qos: isQos(before.qos) ? before.qos : freshQos(),
    }
  })
}

/** Whether a stored slice is that one. */
export function isSlice(slice: Doc, { sst, sd }: Snssai): boolean {
  const heldSst = numberOf(slice.sst)
  const heldSd = typeof slice.sd === 'string' ? slice.sd.toLowerCase() : undefined
  return heldSst === sst && heldSd === sd?.toLowerCase()
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number((value as { value?: unknown } | undefined)?.value)
}

/** 1 IPv4, 2 IPv6, 3 IPv4v6. */
function isPdnType(type: unknown): boolean {
  return isInt32(type) && type.value >= 1 && type.value <= 3
}

function isQos(qos: unknown): boolean {
  const { index, arp } = (qos ?? {}) as { index?: unknown; arp?: Doc } // a stored document: each part is checked
  return (
    isInt32(index) &&
    isInt32(arp?.priority_level) &&
    isInt32(arp?.pre_emption_capability) &&
    isInt32(arp?.pre_emption_vulnerability)
  )
}

/** The embedded documents of a stored list; anything else counts as none. */
export function docsOf(list: unknown): readonly Doc[] {
  if (!Array.isArray(list)) return []
  return list.filter((item): item is Doc => typeof item === 'object' && item !== null && !Array.isArray(item))
}
