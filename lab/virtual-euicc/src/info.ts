import { tlv } from '@steeple/sgp22'
import { fromHex } from './octets.ts'
import type { EuiccParts } from './parts.ts'

/** SGP.22 release that this eUICC speaks: 2.4.0. */
const SVN = Uint8Array.of(2, 4, 0)

/** EUICCInfo1 (BF20). SGP.22 §5.7.8. */
export function euiccInfo1(parts: EuiccParts): Uint8Array {
  return tlv(0xbf20, tlv(0x82, SVN), ...ciLists(parts))
}

/** USIM, ISIM, CSIM, every algorithm, several applications; no GET IDENTITY, and no ECIES for SUCI. SGP.22 annex H, UICCCapability. */
export const UICC_CAPABILITY: Uint8Array = fromHex('007f36c0')

/** EUICCInfo2 (BF22). SGP.22 §5.7.8. */
export function euiccInfo2(parts: EuiccParts): Uint8Array {
  const free = Math.max(0, parts.profilesMax - parts.memory.profiles.length)
  return tlv(
    0xbf22,
    tlv(0x81, Uint8Array.from(parts.profileVersion)),
    tlv(0x82, SVN),
    tlv(0x83, Uint8Array.of(1, 0, 0)), // firmware
    tlv(0x84, extCardResource(free)),
    tlv(0x85, parts.capability),
    tlv(0x86, fromHex('090200')), // TS 102 241
    tlv(0x87, fromHex('020300')), // GlobalPlatform
    tlv(0x88, fromHex('0290')), // RSP capability: additionalProfile, testProfileSupport
    ...ciLists(parts),
    tlv(0x04, fromHex('010000')), // protection profile
    tlv(0x0c, Buffer.from('STEEPLE-LAB')), // SAS accreditation
  )
}

/** The CIs of the chains, the most liked first: whom to verify by, and whom to sign under. */
function ciLists(parts: EuiccParts): readonly Uint8Array[] {
  const ids = parts.chains.map((chain) => tlv(0x04, chain.ciPkid))
  return [tlv(0xa9, ...ids), tlv(0xaa, ...ids)]
}

/** Installed applications, free octets of either memory. ETSI TS 102 226 §8.2.1.7.2. */
function extCardResource(freeProfiles: number): Uint8Array {
  const free = Buffer.alloc(4)
  free.writeUInt32BE(Math.min(freeProfiles, 1000) * 0x1_0000)
  return Buffer.concat([fromHex('810100'), tlv(0x82, free), fromHex('8302ffff')])
}
