import { randomBytes } from 'node:crypto'
import {
  type Bsp,
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

/**
 * With what the profile is encrypted: `ppk`, keys drawn for it that the session keys protect, or `session`, these
 * themselves. SGP.22 §2.5.3.
 */
export type BindMode = 'ppk' | 'session'

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
  readonly mode: BindMode
  /** That many random octets; for known answers. */
  readonly random?: (octets: number) => Uint8Array
}

/** Sixteen octets are the most that a host id can have. SGP.22 §5.5.1. */
const HOST_ID = 16
const PRIVATE_KEY = 32
/** ConfigureISDPRequest without data of the SM-DP+'s own. SGP.22 §5.5.2. */
const CONFIGURE_ISDP = tlv(0xbf24)
/** Remote operation `installBoundProfilePackage`. SGP.22 §5.5.1. */
const INSTALL = Uint8Array.of(1)

/**
 * A profile for one eUICC in one session: the bound profile package (`BF36`). The one-time key and the profile's own keys
 * are drawn here and are gone when it returns. Throws `BspError` for a public key that is not on the curve of the identity.
 * SGP.22 §2.5.4, §5.5.
 */
export function bindProfile(binding: Binding): { readonly bpp: Uint8Array } {
  const random = binding.random ?? randomBytes
  const key = oneTimeKey(binding.identity.curve, binding.random?.(PRIVATE_KEY))
  const hostId = random(HOST_ID)
  const own =
    binding.mode === 'ppk' ? { initialMac: random(16), enc: random(16), mac: random(16) } : undefined
  try {
    return { bpp: boundWith(binding, key, hostId, own) }
  } finally {
    if (own !== undefined) wipeKeys(own)
  }
}

/** The same with what is drawn otherwise; `own` are the profile's own keys. */
export function boundWith(
  binding: Omit<Binding, 'mode' | 'random'>,
  key: OneTimeKey,
  hostId: Uint8Array,
  own: BspKeys | undefined,
): Uint8Array {
  const { identity, tid, euiccOtpk } = binding
  const channel = secureChannel(identity, tid, hostId, key.publicPoint, euiccOtpk)
  const secret = key.agree(euiccOtpk)
  const keys = sessionKeys(secret, hostId, binding.eid)
  const session = bsp(keys)
  try {
    return tlv(0xbf36, channel, ...sequences(session, binding.metadata, binding.profile, own))
  } finally {
    session.wipe()
    wipeKeys(keys)
    secret.fill(0)
  }
}

function sequences(
  session: Bsp,
  metadata: Uint8Array,
  profile: Uint8Array,
  own: BspKeys | undefined,
): readonly Uint8Array[] {
  const configure = tlv(0xa0, session.encryptAndMac(0x87, CONFIGURE_ISDP))
  const store = tlv(0xa1, ...macOnlySegments(session, metadata))
  if (own === undefined) return [configure, store, tlv(0xa3, ...encryptedSegments(session, 0x86, profile))]
  const request = replaceSessionKeys(own)
  const replace = tlv(0xa2, session.encryptAndMac(0x87, request))
  request.fill(0)
  const second = bsp(own)
  try {
    return [configure, store, replace, tlv(0xa3, ...encryptedSegments(second, 0x86, profile))]
  } finally {
    second.wipe()
  }
}

/** ReplaceSessionKeysRequest. SGP.22 §5.5.4. */
function replaceSessionKeys(own: BspKeys): Uint8Array {
  return tlv(0xbf26, tlv(0x80, own.initialMac), tlv(0x81, own.enc), tlv(0x82, own.mac))
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
