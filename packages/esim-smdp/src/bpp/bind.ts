import { randomBytes } from 'node:crypto'
import {
  type BspKeys,
  bsp,
  encryptedSegments,
  KEY_LENGTH,
  KEY_TYPE,
  macOnlySegments,
  type OneTimeKey,
  oneTimeKey,
  sessionKeys,
  signP1363,
  tlv,
  wipeKeys,
} from '@steeple/sgp22'
import type { RspIdentity } from '../parts.ts'

/** What a profile is bound to. */
export interface Binding {
  readonly identity: RspIdentity
  /** Transaction id, 16 octets. */
  readonly tid: Uint8Array
  /** 32 digits. */
  readonly eid: string
  /** otPK.EUICC, 65 octets. */
  readonly euiccOtpk: Uint8Array
  /** The whole `BF25`; see `storeMetadata`. */
  readonly metadata: Uint8Array
  /** The profile, its elements one after the other; still the caller's to wipe. */
  readonly profile: Uint8Array
}

/** What is drawn for one package. */
interface Drawn {
  readonly key: OneTimeKey
  readonly hostId: Uint8Array
  /** Keys of the profile's own (PPK), which the session keys protect. SGP.22 §2.5.3. */
  readonly own: BspKeys
}

/** Sixteen octets are the most that a host id can have. SGP.22 §5.5.1. */
const HOST_ID = 16
/** ConfigureISDPRequest without data of the SM-DP+'s own. SGP.22 §5.5.2. */
const CONFIGURE_ISDP = tlv(0xbf24)
/** Remote operation `installBoundProfilePackage`. SGP.22 §5.5.1. */
const INSTALL = Uint8Array.of(1)

/**
 * A profile for one eUICC in one session: the bound profile package (`BF36`). The one-time key and the profile's own keys
 * are drawn here and are gone when it returns. Throws `BspError` for a public key that is not on the curve of the identity.
 * SGP.22 §2.5.4, §5.5.
 */
export function bindProfile(binding: Binding): Uint8Array {
  const own = { initialMac: randomBytes(16), enc: randomBytes(16), mac: randomBytes(16) }
  try {
    return boundWith(binding, { key: oneTimeKey(binding.identity.curve), hostId: randomBytes(HOST_ID), own })
  } finally {
    wipeKeys(own)
  }
}

/** The same with what is drawn otherwise. */
export function boundWith(
  { identity, tid, eid, euiccOtpk, metadata, profile }: Binding,
  { key, hostId, own }: Drawn,
): Uint8Array {
  const channel = secureChannel(identity, tid, hostId, key.publicPoint, euiccOtpk)
  const secret = key.agree(euiccOtpk)
  const keys = sessionKeys(secret, hostId, eid)
  const [session, second] = [bsp(keys), bsp(own)]
  // ReplaceSessionKeysRequest. SGP.22 §5.5.4.
  const replace = tlv(0xbf26, tlv(0x80, own.initialMac), tlv(0x81, own.enc), tlv(0x82, own.mac))
  try {
    return tlv(
      0xbf36,
      channel,
      tlv(0xa0, session.encryptAndMac(0x87, CONFIGURE_ISDP)),
      tlv(0xa1, ...macOnlySegments(session, metadata)),
      tlv(0xa2, session.encryptAndMac(0x87, replace)),
      tlv(0xa3, ...encryptedSegments(second, 0x86, profile)),
    )
  } finally {
    session.wipe()
    second.wipe()
    wipeKeys(keys)
    for (const octets of [secret, replace]) octets.fill(0)
  }
}

/** InitialiseSecureChannelRequest; smdpSign is over its objects with both public keys, without an outer tag. SGP.22 §5.5.1. */
function secureChannel(
  identity: RspIdentity,
  tid: Uint8Array,
  hostId: Uint8Array,
  smdpOtpk: Uint8Array,
  euiccOtpk: Uint8Array,
): Uint8Array {
  const control = tlv(
    0xa6,
    tlv(0x80, Uint8Array.of(KEY_TYPE)),
    tlv(0x81, Uint8Array.of(KEY_LENGTH)),
    tlv(0x84, hostId),
  )
  const signed = [tlv(0x82, INSTALL), tlv(0x80, tid), control, tlv(0x5f49, smdpOtpk)]
  const signature = signP1363(identity.pb.key, ...signed, tlv(0x5f49, euiccOtpk))
  return tlv(0xbf23, ...signed, signature)
}
