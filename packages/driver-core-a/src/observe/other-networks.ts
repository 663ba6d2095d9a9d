import type { CoreInfo, UeList } from '@steeple/southbound'

/** Registered phones: those of this network or of none that the core names, and those of others (MCC and MNC). */
export interface PhonesByNetwork {
  readonly own: number
  readonly others: ReadonlyMap<string, number>
}

/** A walk of so long ago still tells, ms: a long list is walked seldom. */
const LAST_MS = 60_000
const NAMES_MAX = 3

/** Counts registered phones by the network (TS 23.003 §2.2) of the cell where they were last. */
export function phonesByNetwork({ ues }: UeList, ownPlmn: string): PhonesByNetwork {
  let own = 0
  const others = new Map<string, number>()
  for (const { isRegistered, plmn } of ues.values()) {
    if (!isRegistered) continue
    if (plmn === undefined || plmn === ownPlmn) own += 1
    else others.set(plmn, (others.get(plmn) ?? 0) + 1)
  }
  return { own, others }
}

/** What a core serves for other networks as of the last walks, for people; undefined when nothing. */
export function otherNetworks(info: CoreInfo, ownPlmn: string): string | undefined {
  const radios = info.radios.last(LAST_MS)?.value.others ?? new Map<string, number>()
  const ues = info.ues.last(LAST_MS)?.value
  const phones = ues === undefined ? new Map<string, number>() : phonesByNetwork(ues, ownPlmn).others
  const counts = [
    [sum(radios), 'base stations'],
    [sum(phones), 'phones'],
  ] as const
  const words = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
  if (words.length === 0) return undefined
  const names = [...new Set([...radios.keys(), ...phones.keys()])].toSorted().map(plmnWords)
  const shown = names.length > NAMES_MAX ? [...names.slice(0, NAMES_MAX), '…'] : names
  return `${words.join(' and ')} of another network (${shown.join(', ')})`
}

function plmnWords(plmn: string): string {
  return `${plmn.slice(0, 3)}-${plmn.slice(3)}`
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0)
}
