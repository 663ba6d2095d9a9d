import { networkInterfaces } from 'node:os'
import { interfaceReceived } from '../interface-packets.ts'
import type { TapState } from '../upf-tap.ts'
import type { ListedGeneration, ListedTable } from './listing.ts'
import { INSIDE } from './place.ts'

/** So many packets that went into the tunnel, and none came out: what is watched is not the UPF's interface. */
const TELLING = 100

/** The UPF's TUN interface. Of the network namespace of this process. */
export interface InsidePlace {
  /** Empty: what phones send is counted at the tunnel. */
  readonly iface: string
  /** Packets that it has received, which is what the UPF let out; undefined when it is not there. */
  received(): number | undefined
  /** Whether somebody has it open: one that is left over from another installation is nobody's. */
  isRunning(): boolean
}

/** One of this machine. */
export function insidePlace(iface: string): InsidePlace {
  return {
    iface,
    received: () => (iface === '' ? undefined : interfaceReceived(iface)),
    // Those that do not run are not listed.
    isRunning: () => networkInterfaces()[iface] !== undefined,
  }
}

/** The interface when what phones send is to be counted there. One that was stays it while its UPF is restarted. */
export function insideFor({ iface, received, isRunning }: InsidePlace, hasHook: boolean): string | undefined {
  return received() !== undefined && (hasHook || isRunning()) ? iface : undefined
}

/**
 * Packets that came out before the hook was there: a kernel before 6.16 does not put it on an interface that came anew.
 * Nothing of them was counted, neither there nor at the tunnel.
 */
export function missedInside({ received }: InsidePlace, { hooks }: ListedTable, inside: string): number {
  const before = hooks.get(INSIDE)
  return before === undefined || before.device === inside ? 0 : (received() ?? 0)
}

/** What the UPF did not let out of what phones have sent into the tunnel. */
export interface Refusals {
  /**
   * Packets of a generation up to now. What is under way at a reading is none of them: the lesser of two readings counts.
   */
  seen(name: string, generation: ListedGeneration | undefined): number
}

export function countRefusals(): Refusals {
  let last = { name: '', difference: 0, refused: 0 }
  return {
    seen: (name, generation) => {
      const before = last.name === name ? last : { difference: 0, refused: 0 }
      const { offered, left } = tunnelOf(generation)
      const difference = Math.max(0, offered - left)
      const refused = Math.max(before.refused, Math.min(before.difference, difference))
      last = { name, difference, refused }
      return refused
    },
  }
}

/** Packets that went in, where none has come out; 0 where some have, or too few went in to tell. */
export function swallowed(generation: ListedGeneration | undefined): number {
  const { offered, left } = tunnelOf(generation)
  return left === 0 && offered >= TELLING ? offered : 0
}

/** What the health says: `all` that is counted, and where what phones send is. */
export function insideState(all: string, wanted: string, inside: string | undefined, lost: number): TapState {
  if (lost > 0)
    return {
      status: 'degraded',
      detail: `${all}; ${lost} packets of phones went into the tunnel and none came out of ${inside}: name the UPF's TUN interface in collector.upf.inside_iface, or leave that empty to count them at the tunnel`,
    }
  if (inside !== undefined) return { status: 'ok', detail: `${all}; what they send at ${inside}` }
  const why = wanted === '' ? '' : `: no interface ${wanted} is up`
  return { status: 'ok', detail: `${all}; what they send at the tunnel${why}` }
}

function tunnelOf(generation: ListedGeneration | undefined): {
  readonly offered: number
  readonly left: number
} {
  const packets = (name: string): number => generation?.packets.get(name) ?? 0
  return { offered: packets('offered'), left: packets('left') }
}
