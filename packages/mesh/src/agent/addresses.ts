import type { MemberRecord } from '../enroll/member-record.ts'

/** Where it says that it answers, and the same port through the overlay: of one that says nothing, the port of this node. */
export function addressesOf({ address, overlay_address }: MemberRecord, ownPort: number): readonly string[] {
  const port = /:(\d+)$/.exec(address ?? '')?.[1] ?? ownPort
  const overlay = `https://${overlay_address}:${port}`
  return address === null ? [overlay] : [`https://${address}`, overlay]
}
