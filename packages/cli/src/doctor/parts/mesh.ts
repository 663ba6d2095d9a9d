import type { DoctorPart } from '../doctor-part.ts'

/** What makes WireGuard links. */
export const part: DoctorPart = {
  of: 'mesh',
  needs: ({ peering }) => [
    { capability: 'CAP_NET_ADMIN', isNeeded: peering.enabled, why: 'peering.enabled' },
  ],
}
