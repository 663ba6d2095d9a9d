import { tlv } from '@steeple/sgp22'
import { iccidOctets, plmnOctets, swapped } from '../profile/coding.ts'

/** What a phone shows of a profile before and after it is installed. */
export interface MetadataFacts {
  /** 18 to 20 digits. */
  readonly iccid: string
  /** Service provider name; at most 32 octets of UTF-8 are kept. */
  readonly spn: string
  /** Name of the profile; at most 64 octets are kept. */
  readonly profileName: string
  /** Where the eUICC's notifications go: the address of this SM-DP+. */
  readonly address: string
  /** The network that it belongs to: country and network code, of three and of two or three digits. */
  readonly owner?: { readonly mcc: string; readonly mnc: string }
  /**
   * Whether the eUICC is to send a notification of the installation beside its signed result. The result says it all, and is kept
   * by the eUICC until it is delivered.
   */
  readonly isInstallTold?: boolean
  /** 64 by 64 pixels, at most 1024 octets. */
  readonly icon?: { readonly type: 'jpg' | 'png'; readonly octets: Uint8Array }
}

/** Bits of NotificationEvent: enabling, disabling, deletion; installation. SGP.22 §4.4. */
const EVENTS = [0x0640, 0x0520, 0x0410] as const
const INSTALLED = 0x0780
const ICON_TYPES = { jpg: 0, png: 1 } as const
/** ProfileClass `operational`. SGP.22 §4.4. */
const OPERATIONAL = Uint8Array.of(2)
const SPN_OCTETS = 32
const NAME_OCTETS = 64
const ICON_OCTETS = 1024
const text = new TextEncoder()

/** StoreMetadataRequest (`BF25`). Throws `RangeError` for an ICCID or an icon that is none. SGP.22 §5.5.3, and §4.4 of the notifications. */
export function storeMetadata(facts: MetadataFacts): Uint8Array {
  const address = tlv(0x81, text.encode(facts.address))
  const told = facts.isInstallTold === true ? [INSTALLED, ...EVENTS] : EVENTS
  const events = told.map((event) => tlv(0x30, tlv(0x80, Uint8Array.of(event >> 8, event & 0xff)), address))
  return tlv(
    0xbf25,
    tlv(0x5a, swapped(iccidOctets(facts.iccid))),
    tlv(0x91, cut(facts.spn, SPN_OCTETS)),
    tlv(0x92, cut(facts.profileName, NAME_OCTETS)),
    ...iconOf(facts),
    tlv(0x95, OPERATIONAL),
    tlv(0xb6, ...events),
    ...ownerOf(facts),
  )
}

function ownerOf({ owner }: MetadataFacts): readonly Uint8Array[] {
  return owner === undefined ? [] : [tlv(0xb7, tlv(0x80, plmnOctets(owner.mcc, owner.mnc)))]
}

function iconOf({ icon }: MetadataFacts): readonly Uint8Array[] {
  if ((icon?.octets.length ?? 0) > ICON_OCTETS)
    throw new RangeError(`an icon has at most ${ICON_OCTETS} octets`)
  return icon === undefined ? [] : [tlv(0x93, Uint8Array.of(ICON_TYPES[icon.type])), tlv(0x94, icon.octets)]
}

/** Never in the middle of a character. */
function cut(words: string, octets: number): Uint8Array {
  const room = new Uint8Array(octets)
  return room.subarray(0, text.encodeInto(words, room).written)
}
