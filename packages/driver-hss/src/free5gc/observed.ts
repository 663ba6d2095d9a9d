import type { Imsi, SubscriberObserved } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import { COLLECTIONS, policyDnnKey, snssaiKey } from './names.ts'
import { parseRate, sessionRate } from './rate.ts'
import { docOfSlice, docsIn, type Held, isBlockedNow } from './read.ts'
import { docOf } from './same.ts'

/**
 * The subscriber as the core reads its documents; undefined when it knows no key of it.
 *
 * Documents that contradict each other show as no APNs, an AMBR that differs in one place as that one, so that a
 * comparison with what should be finds it.
 */
export function observedOf(
  imsi: Imsi,
  held: Held,
  place: { readonly plmn: string; readonly slices: readonly Snssai[] },
): SubscriberObserved | undefined {
  const inPlmn = (collection: string): Doc | undefined =>
    docsIn(held, collection).live.find(({ servingPlmnId }) => servingPlmnId === place.plmn)
  const am = inPlmn(COLLECTIONS.am)
  if (docsIn(held, COLLECTIONS.auth).live.length === 0) return undefined
  const isBlocked = isBlockedNow(held)
  const side = isBlocked ? 'aside' : 'live'
  const sm = docsIn(held, COLLECTIONS.sm)[side].filter(({ servingPlmnId }) => servingPlmnId === place.plmn)
  const [policy] = docsIn(held, COLLECTIONS.policySm)[side]
  const docs: SliceDocs = { sm, policy, selection: inPlmn(COLLECTIONS.selection) }
  const ue = rateOf(am?.subscribedUeAmbr)
  const isOdd = sm
    .flatMap(({ dnnConfigurations }) => Object.values(docOf(dnnConfigurations)))
    .some((dnn) => !fits(docOf(dnn).sessionAmbr, ue))
  const gpsi = /^msisdn-([0-9]+)$/.exec(Array.isArray(am?.gpsis) ? String(am.gpsis[0]) : '')?.[1]
  return {
    imsi,
    apns: agreed(place.slices.map((slice) => apnsOf(docs, slice))),
    // No rate is wanted that two places tell differently, and each of them may be the one that was edited.
    ambrBps: isOdd ? { up: 0, down: 0 } : ue,
    isBlocked,
    ...(gpsi === undefined ? {} : { msisdn: gpsi }),
  }
}

interface SliceDocs {
  readonly sm: readonly Doc[]
  readonly policy: Doc | undefined
  readonly selection: Doc | undefined
}

/** The APNs of a slice in the order of the choice, when sessions and policy name the same ones. */
function apnsOf({ sm, policy, selection }: SliceDocs, slice: Snssai): readonly string[] {
  const key = snssaiKey(slice)
  const { dnnInfos } = docOf(docOf(selection?.subscribedSnssaiInfos)[key])
  const chosen = Array.isArray(dnnInfos) ? dnnInfos.map((info) => String(docOf(info).dnn)) : []
  const configured = Object.keys(docOf(docOfSlice(sm, slice)?.dnnConfigurations))
  const allowed = Object.keys(docOf(docOf(docOf(policy?.smPolicySnssaiData)[key]).smPolicyDnnData))
  const isAgreed = isSameSet(chosen, configured) && isSameSet(chosen.map(policyDnnKey), allowed)
  return isAgreed ? chosen : []
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join()
}

function agreed(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = lists
  return lists.every((list) => isSameSet(list, first)) ? first : []
}

function rateOf(ambr: unknown): { readonly up: number; readonly down: number } {
  const { uplink, downlink } = docOf(ambr)
  return { up: parseRate(uplink), down: parseRate(downlink) }
}

function fits(sessionAmbr: unknown, ue: { readonly up: number; readonly down: number }): boolean {
  if (ue.up <= 0 || ue.down <= 0) return false
  const { uplink, downlink } = docOf(sessionAmbr)
  return uplink === sessionRate(ue.up) && downlink === sessionRate(ue.down)
}
