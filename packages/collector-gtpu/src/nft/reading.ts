import { NO_PACKETS, type TapCounter, type TapStats } from '../upf-tap.ts'
import { type AddressOctets, type ListedGeneration, NO_OCTETS } from './listing.ts'

/** Packets of phones that no rule could follow. */
const UNMATCHED = ['fragments', 'too_long', 'merged', 'tagged', 'no_room'] as const

/** The octets of a generation by address. */
export function* countersOf(generation: ListedGeneration | undefined): Iterable<TapCounter> {
  for (const [address, octets] of generation?.octets ?? []) {
    const upBytes = octets.up + handedOn(octets)
    // The machine's own address at its TUN interface is among the phones', and is nobody's.
    if (upBytes + octets.down > 0) yield { address, upBytes, downBytes: octets.down }
  }
}

/** What the UPF has handed on from one phone to another by itself. */
export function handedOn({ peer, back }: Readonly<AddressOctets>): number {
  return Math.max(0, peer - back)
}

/** Packets that were counted for an address. */
export function receivedOf(generation: ListedGeneration | undefined): number {
  const counted = generation?.counted ?? NO_OCTETS
  return counted.up + handedOn(counted) + counted.down
}

/** Packets of phones that no rule could follow. */
export function unmatchedOf(generation: ListedGeneration | undefined): number {
  return UNMATCHED.reduce((sum, name) => sum + (generation?.packets.get(name) ?? 0), 0)
}

/** What a generation says of packets. */
export function statsOf(generation: ListedGeneration | undefined, refused: number): TapStats {
  return {
    ...NO_PACKETS,
    received: receivedOf(generation),
    malformed: generation?.packets.get('malformed') ?? 0,
    unmatched: unmatchedOf(generation),
    foreign: generation?.packets.get('foreign') ?? 0,
    refused,
  }
}
