import type { Imsi, SubscriberObserved } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import { dnnOf, snssaiKey } from './names.ts'
import { parseRate, sessionRate } from './rate.ts'
import { type Held, type HeldSessions, sessionsOf } from './read.ts'

/**
 * The subscriber as the core reads its documents; undefined when the core could not let it on at all.
 *
 * Documents that contradict each other show as no APNs, an AMBR that differs in one place as that one, so that a
 * comparison with what should be finds it.
 */
export function observedOf(
  imsi: Imsi,
  held: Held,
  slices: readonly Snssai[],
): SubscriberObserved | undefined {
  if (held.auth === undefined || held.am === undefined) return undefined
  const isBlocked = isBlockedNow(held)
  const sessions = isBlocked ? held.aside : held.live
  const apns = agreed(slices.map((slice) => apnsOf(held, sessions, slice)))
  const { subscribedUeAmbr, gpsis } = held.am
  const ue = rateOf(subscribedUeAmbr)
  const isOdd = sessions.sm
    .flatMap(({ dnnConfigurations }) => Object.values((dnnConfigurations ?? {}) as Record<string, Doc>))
    .some(({ sessionAmbr }) => !fits(sessionAmbr, ue))
  const gpsi = Array.isArray(gpsis) ? /^msisdn-([0-9]+)$/.exec(String(gpsis[0]))?.[1] : undefined
  return {
    imsi,
    apns,
    // No rate is wanted that two places tell differently, and each of them may be the one that was edited.
    ambrBps: isOdd ? { up: 0, down: 0 } : ue,
    isBlocked,
    ...(gpsi === undefined ? {} : { msisdn: gpsi }),
  }
}

/** Whether every session document is aside. */
export function isBlockedNow({ live, aside }: Held): boolean {
  return live.sm.length === 0 && live.policy === undefined && aside.sm.length > 0
}

/** The APNs of a slice when sessions, choice and policy name the same ones. */
function apnsOf(held: Held, sessions: HeldSessions, slice: Snssai): readonly string[] {
  const key = snssaiKey(slice)
  const configured = Object.keys((sessionsOf(sessions, slice)?.dnnConfigurations ?? {}) as Doc)
  const infos = at(held.selection, 'subscribedSnssaiInfos', key, 'dnnInfos')
  const chosen = Array.isArray(infos) ? infos.map((info) => String((info as Doc).dnn)) : []
  const allowed = Object.keys(
    (at(sessions.policy, 'smPolicySnssaiData', key, 'smPolicyDnnData') ?? {}) as Doc,
  )
  return agreed([configured.map(dnnOf), chosen, allowed.map(dnnOf)])
}

function agreed(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = lists
  return lists.every((list) => list.join() === first.join()) ? first : []
}

function rateOf(ambr: unknown): { readonly up: number; readonly down: number } {
  const { uplink, downlink } = (ambr ?? {}) as { uplink?: unknown; downlink?: unknown } // a stored document
  return { up: parseRate(uplink), down: parseRate(downlink) }
}

function fits(sessionAmbr: unknown, ue: { readonly up: number; readonly down: number }): boolean {
  if (ue.up <= 0 || ue.down <= 0) return false
  const { uplink, downlink } = (sessionAmbr ?? {}) as { uplink?: unknown; downlink?: unknown }
  return uplink === sessionRate(ue.up) && downlink === sessionRate(ue.down)
}

function at(doc: Doc | undefined, ...path: readonly string[]): unknown {
  let value: unknown = doc
  for (const key of path) value = (value as Doc | undefined)?.[key]
  return value
}
