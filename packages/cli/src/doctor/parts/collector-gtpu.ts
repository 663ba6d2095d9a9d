import { checkTap, tapKeys } from '../check-tap.ts'
import type { DoctorPart } from '../doctor-part.ts'

/** What the tap needs. */
export const part: DoctorPart = {
  of: 'collector-gtpu',
  checks: checkTap,
  needs: (settings) => {
    const { enabled, driver = 'nft' } = tapKeys(settings)
    return [
      { capability: 'CAP_NET_ADMIN', isNeeded: enabled && driver === 'nft', why: 'collector.upf.driver nft' },
      { capability: 'CAP_NET_RAW', isNeeded: enabled && driver === 'pcap', why: 'collector.upf.driver pcap' },
    ]
  },
}
