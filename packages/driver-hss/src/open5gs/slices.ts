import { type Ambr, validationFailed } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import { decodeAmbr, encodeAmbr, isInt32, keptAmbr, SLICES_MAX } from './ambr.ts'
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

/** The rates that sessions had when they were taken over, and what of them holds now. */
interface KeptWish {
  readonly apns: readonly string[]
  readonly ambrBps: Ambr
}

/**
 * Slices of a subscriber that was taken over: each with all that is in it, and the rates that it had then unless the
 * subscriber has another one now. APNs that it has not are left out; those that are missing come back.
 */
export function keptSlices(held: readonly Doc[], found: Doc, wish: KeptWish): readonly Doc[] {
  const before = docsOf(found.slice)
  const there = new Set(held.flatMap((slice) => docsOf(slice.session)).map(({ name }) => name))
  const missing = wish.apns.filter((apn) => !there.has(apn))
  const kept = held.map((slice, at): Doc => {
    const nthSlice = held.slice(0, at).filter((one) => isSameSlice(one, slice)).length
    const own = docsOf(before.filter((one) => isSameSlice(one, slice))[nthSlice]?.session)
    const sessions = docsOf(slice.session).filter(
      ({ name }) => typeof name !== 'string' || wish.apns.includes(name),
    )
    const seen = new Map<unknown, number>()
    return {
      ...slice,
      session: sessions.map((session) => {
        const nth = seen.get(session.name) ?? 0
        seen.set(session.name, nth + 1)
        const first = own.filter(({ name }) => name === session.name)[nth] ?? session
        return withRate(session, first.ambr, found.ambr, wish.ambrBps)
      }),
    }
  })
  return missing.reduce<readonly Doc[]>((list, apn) => withApn(list, before, apn, wish.ambrBps), kept)
}

/** `first`: the session's rate when it was taken over, `ue`: the subscriber's then. */
function withRate(session: Doc, first: unknown, ue: unknown, now: Ambr): Doc {
  const [own, then, held] = [decodeAmbr(first), decodeAmbr(ue), decodeAmbr(session.ambr)]
  // What the core cannot read is as it was.
  if (own.up <= 0 || own.down <= 0) return session
  const [up, down] = (['up', 'down'] as const).map((way) => {
    if (then[way] <= 0 || then[way] === now[way]) return own[way]
    return own[way] === then[way] ? now[way] : Math.min(own[way], now[way])
  })
  if (up === undefined || down === undefined || (up === held.up && down === held.down)) return session
  return { ...session, ambr: up === own.up && down === own.down ? first : encodeAmbr({ up, down }) }
}

function withApn(list: readonly Doc[], before: readonly Doc[], apn: string, now: Ambr): readonly Doc[] {
  const isIt = ({ name }: Doc): boolean => name === apn
  const home = before.find((slice) => docsOf(slice.session).some(isIt))
  const at =
    home === undefined
      ? 0
      : Math.max(
          0,
          list.findIndex((slice) => isSameSlice(slice, home)),
        )
  const session = docsOf(home?.session).find(isIt) ?? freshSession(apn, encodeAmbr(now))
  return list.map((slice, index) =>
    index === at ? { ...slice, session: [...docsOf(slice.session), session] } : slice,
  )
}

function isSameSlice(one: Doc, other: Doc): boolean {
  return isSlice(one, { sst: numberOf(other.sst), sd: typeof other.sd === 'string' ? other.sd : undefined })
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
