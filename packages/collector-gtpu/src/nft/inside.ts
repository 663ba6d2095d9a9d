import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { inGroups } from '@steeple/telecom'
import { interfaceReceived } from '../interface-packets.ts'
import type { TapState } from '../upf-tap.ts'
import { handedOn, type ListedGeneration, type ListedTable } from './listing.ts'
import { insideName, isBack, isInside } from './place.ts'

/** So many packets that went into the tunnel, and none came out: what is watched is not the UPF's interface. */
const TELLING = 100

/** The UPF's TUN interfaces, one or more for its DNNs. Of the network namespace of this process. */
export interface InsidePlace {
  /** None: what phones send is counted at the tunnel. */
  readonly ifaces: readonly string[]
  /** Packets that one has received, which is what the UPF let out; undefined when it is not there. */
  received(iface: string): number | undefined
  /** The networks of its addresses: the UPF gives it those of its phones. */
  pools(iface: string): readonly string[]
  /** Whether somebody has it open: one that is left over from another installation is nobody's. */
  isRunning(iface: string): boolean
}

export function insidePlace(ifaces: readonly string[]): InsidePlace {
  return {
    ifaces: [...new Set(ifaces)],
    received: interfaceReceived,
    pools: (iface) => networksOf(networkInterfaces()[iface] ?? []),
    // Those that do not run are not listed.
    isRunning: (iface) => networkInterfaces()[iface] !== undefined,
  }
}

/** Without those of the link, which are nobody's. */
function networksOf(addresses: readonly NetworkInterfaceInfo[]): readonly string[] {
  return addresses.flatMap(({ cidr, address }) => (cidr === null || /^fe[89ab]/i.test(address) ? [] : [cidr]))
}

/** The networks of phones at interfaces; those of one that its UPF has let go for a while are as they were. */
export function phonePools({ pools }: InsidePlace): (ifaces: readonly string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return (ifaces) => {
    for (const iface of ifaces) {
      const found = pools(iface)
      if (found.length > 0) known.set(iface, found)
    }
    return [...new Set(ifaces.flatMap((iface) => known.get(iface) ?? []))].toSorted()
  }
}

/** Those of the interfaces at which nothing can be counted. One that was counted at stays so while its UPF is restarted. */
export function absentOf({ ifaces, received, isRunning }: InsidePlace, hasHooks: boolean): readonly string[] {
  return ifaces.filter((iface) => received(iface) === undefined || !(hasHooks || isRunning(iface)))
}

/**
 * The interfaces when what phones send is to be counted there: all of them or none, since by which of them a phone's
 * packets leave is not known at the tunnel.
 */
export function insideFor(place: InsidePlace, hasHooks: boolean): readonly string[] {
  return absentOf(place, hasHooks).length === 0 ? place.ifaces : []
}

/**
 * Packets that came out before the hook was there: a kernel before 6.16 does not put it on an interface that came anew.
 * Nothing of them was counted, neither there nor at the tunnel.
 */
export function missedInside(
  { received }: InsidePlace,
  { hooks }: ListedTable,
  inside: readonly string[],
): number {
  return inside.reduce((sum, iface, index) => {
    const before = hooks.get(insideName(index))
    return before === undefined || before.device === iface ? sum : sum + (received(iface) ?? 0)
  }, 0)
}

/** The TUN interfaces that have a hook, in their order. */
export function insideOf({ hooks }: ListedTable): readonly string[] {
  return [...hooks]
    .filter(([name]) => isInside(name) && !isBack(name))
    .toSorted(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }))
    .flatMap(([, { device }]) => (device === undefined ? [] : [device]))
}

/** What the UPF did not let out of what phones have sent into the tunnel. */
export class Refusals {
  #last = { name: '', difference: 0, refused: 0 }

  /**
   * Packets of a generation up to now. What is under way at a reading is none of them: the lesser of two readings counts.
   */
  seen(name: string, generation: ListedGeneration | undefined): number {
    const before = this.#last.name === name ? this.#last : { difference: 0, refused: 0 }
    const { offered, left } = tunnelOf(generation)
    const difference = Math.max(0, offered - left)
    const refused = Math.max(before.refused, Math.min(before.difference, difference))
    this.#last = { name, difference, refused }
    return refused
  }
}

/** Packets that went in, where none has come out; 0 where some have, or too few went in to tell. */
export function swallowed(generation: ListedGeneration | undefined): number {
  const { offered, left } = tunnelOf(generation)
  return left === 0 && offered >= TELLING ? offered : 0
}

/** What the health says: `all` that is counted, and where what phones send is. */
export function insideState(
  all: string,
  absent: readonly string[],
  inside: readonly string[],
  lost: number,
): TapState {
  if (lost > 0)
    return {
      status: 'degraded',
      detail: `${all}; ${inGroups(lost)} packets of phones went into the tunnel and none came out of ${inside.join(', ')}: name the UPF's TUN interfaces in collector.upf.inside_iface, or leave that empty to count them at the tunnel`,
    }
  if (inside.length > 0) return { status: 'ok', detail: `${all}; what they send at ${inside.join(', ')}` }
  const why = absent.length === 0 ? '' : `: no interface ${absent.join(', ')} is up`
  return { status: 'ok', detail: `${all}; what they send at the tunnel${why}` }
}

function tunnelOf(generation: ListedGeneration | undefined): {
  readonly offered: number
  readonly left: number
} {
  const packets = (name: string): number => generation?.packets.get(name) ?? 0
  const handed = generation === undefined ? 0 : handedOn(generation.counted)
  return { offered: packets('offered'), left: packets('left') + handed }
}
