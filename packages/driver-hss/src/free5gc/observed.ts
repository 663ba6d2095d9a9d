import type { Ambr, Imsi, SubscriberHeld, SubscriberObserved } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import { COLLECTIONS, policyDnnKey, snssaiKey } from './names.ts'
import { parseRate, sessionRate } from './rate.ts'
import { docOfSlice, docsIn, type Held, isBlockedNow, isOfSlice } from './read.ts'
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
  const gpsi = msisdnOf(am)
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

function msisdnOf(am: Doc | undefined): string | undefined {
  return /^msisdn-([0-9]+)$/.exec(Array.isArray(am?.gpsis) ? String(am.gpsis[0]) : '')?.[1]
}

/** What documents hold, whoever wrote them and for whichever network: the DNNs of our slices, of all where there is none of ours. */
export function heldOf(held: Held, slices: readonly Snssai[]): SubscriberHeld | undefined {
  if (docsIn(held, COLLECTIONS.auth).live.length === 0) return undefined
  const isBlocked = isBlockedNow(held)
  const [am] = docsIn(held, COLLECTIONS.am).live
  const all = docsIn(held, COLLECTIONS.sm)[isBlocked ? 'aside' : 'live']
  const ours = all.filter((doc) => slices.some((slice) => isOfSlice(doc, slice)))
  const dnns = (ours.length === 0 ? all : ours).flatMap(({ dnnConfigurations }) =>
    Object.entries(docOf(dnnConfigurations)),
  )
  const ue = rateOf(am?.subscribedUeAmbr)
  const [selection] = docsIn(held, COLLECTIONS.selection).live
  const [first] = Object.values(docOf(selection?.subscribedSnssaiInfos)).flatMap((info) => {
    const { dnnInfos } = docOf(info)
    return Array.isArray(dnnInfos) ? dnnInfos.map((one) => String(docOf(one).dnn)) : []
  })
  const names = [...new Set(dnns.map(([name]) => name))]
  return {
    // What a phone gets that names none stays the first.
    apns: names.toSorted((a, b) => Number(b === first) - Number(a === first)),
    ambrBps: ue.up > 0 && ue.down > 0 ? ue : undefined,
    sessionAmbrBps: new Map(
      dnns
        .filter(([, dnn]) => !fits(docOf(dnn).sessionAmbr, ue))
        .map(([name, dnn]): [string, Ambr] => [name, rateOf(docOf(dnn).sessionAmbr)]),
    ),
    msisdn: msisdnOf(am),
    isBlocked,
  }
}
