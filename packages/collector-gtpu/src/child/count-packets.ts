import type { Tally } from '../counters/tally.ts'
import { type CoreEnds, emptyFrame, readIp, VERDICT, type Verdict } from '../packet/g-pdu.ts'
import { type FindIp, findIpOf } from '../packet/link.ts'
import { learnTunnels } from '../packet/tunnels.ts'

/** Counts packets of a capture, live or not. */
export interface PacketCount {
  /** The frame is `octets[from, end)`. Never throws, whatever is in it. */
  packet(link: number, atMs: number, octets: Uint8Array, from: number, end: number): void
  readonly seen: {
    readonly received: number
    readonly malformed: number
    readonly unmatched: number
    readonly foreign: number
  }
  /** Of another phone's address; octets of inner packets. What turns out to be the phone's own is taken off again. */
  readonly refused: { readonly packets: number; readonly octets: number }
}

/** Counts into `tally` what goes between a phone and the core. */
export function packetCount(ends: CoreEnds, tally: Tally): PacketCount {
  const seen = { received: 0, malformed: 0, unmatched: 0, foreign: 0 }
  const frame = emptyFrame()
  const tunnels = learnTunnels(tally)
  let link = -1
  let findIp: FindIp | undefined
  const take = (verdict: Verdict, atMs: number): void => {
    if (verdict === VERDICT.ignored || verdict === VERDICT.inside) return
    seen.received += 1
    if (verdict === VERDICT.malformed) seen.malformed += 1
    else if (verdict === VERDICT.foreign) seen.foreign += 1
    else if (verdict === VERDICT.merged) seen.unmatched += 1
    else if (!frame.isUp || tunnels.isOwn(frame, atMs)) seen.unmatched += tally.add(frame, atMs) ? 0 : 1
  }
  return {
    seen,
    refused: tunnels.refused,
    packet: (ofLink, atMs, octets, from, end) => {
      if (ofLink !== link) {
        link = ofLink
        findIp = findIpOf(link)
      }
      const ip = findIp === undefined ? -1 : findIp(octets, from, end)
      if (ip >= 0) take(readIp(octets, ip, end, ends, frame), atMs)
    },
  }
}
