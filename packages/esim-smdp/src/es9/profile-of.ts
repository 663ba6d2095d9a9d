import type { OpenableSim, SubscriberView } from '@steeple/contracts'
import { tlv } from '@steeple/sgp22'
import { iccidOctets, plmnOctets, swapped } from '@steeple/telecom'
import type { ProfileVersion } from '../parts.ts'
import { suciOctets } from '../profile/steps.ts'
import { templateFor } from '../profile/template.ts'
import type { CodeRow } from '../store/rows.ts'
import type { Es9Core } from './core.ts'

/** What a phone shows of a profile before and after it is installed. */
interface MetadataFacts {
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
}

/** Bits of NotificationEvent: enabling, disabling, deletion; installation. SGP.22 §4.4. */
const EVENTS = [0x0640, 0x0520, 0x0410] as const
const INSTALLED = 0x0780
/** ProfileClass `operational`. SGP.22 §4.4. */
const OPERATIONAL = Uint8Array.of(2)
const SPN_OCTETS = 32
const NAME_OCTETS = 64
const text = new TextEncoder()

/** StoreMetadataRequest (`BF25`). Throws `RangeError` for an ICCID that is none. SGP.22 §5.5.3, and §4.4 of the notifications. */
export function storeMetadata(facts: MetadataFacts): Uint8Array {
  const address = tlv(0x81, text.encode(facts.address))
  const told = facts.isInstallTold === true ? [INSTALLED, ...EVENTS] : EVENTS
  const events = told.map((event) => tlv(0x30, tlv(0x80, Uint8Array.of(event >> 8, event & 0xff)), address))
  return tlv(
    0xbf25,
    tlv(0x5a, swapped(iccidOctets(facts.iccid))),
    tlv(0x91, cut(facts.spn, SPN_OCTETS)),
    tlv(0x92, cut(facts.profileName, NAME_OCTETS)),
    tlv(0x95, OPERATIONAL),
    tlv(0xb6, ...events),
    ...ownerOf(facts),
  )
}

function ownerOf({ owner }: MetadataFacts): readonly Uint8Array[] {
  return owner === undefined ? [] : [tlv(0xb7, tlv(0x80, plmnOctets(owner.mcc, owner.mnc)))]
}

/** Never in the middle of a character. */
function cut(words: string, octets: number): Uint8Array {
  const room = new Uint8Array(octets)
  return room.subarray(0, text.encodeInto(words, room).written)
}

/** The profile of a code for one delivery. */
export interface Profile {
  /** The whole `BF25`: the same for the same code and configuration. */
  readonly metadata: Uint8Array
  /** The profile's elements, DER; the caller's to wipe. */
  readonly octets: Uint8Array
}

/** What the phone shows of a profile. Throws `store_corrupt`. */
export function metadataOf(core: Es9Core, code: CodeRow, { view, iccid }: OpenableSim): Uint8Array {
  return metadataWith(core, code, view, iccid())
}

/** The whole profile, made from the template. Throws as `metadataOf`, and what the template throws. */
export async function profileOf(
  core: Es9Core,
  code: CodeRow,
  sim: OpenableSim,
  version: ProfileVersion | undefined,
): Promise<Profile> {
  const { parts } = core
  const keys = (await parts.issuer.homeNetworkKeys?.()) ?? []
  const { view } = sim
  const credentials = sim.credentials()
  try {
    const template = parts.template(view.profile)
    const octets = (templateFor(template, version) ?? template).personalise({
      ...credentials,
      iccid: digits(credentials.iccid),
      mncLength: plmnOf(view).mnc.length === 3 ? 3 : 2,
      spn: parts.context.config.provider_name,
      msisdn: sim.msisdn,
      suci: suciOctets(keys),
    })
    return { metadata: metadataWith(core, code, view, credentials.iccid), octets }
  } finally {
    credentials.wipe()
  }
}

function metadataWith(
  { parts }: Es9Core,
  code: CodeRow,
  view: SubscriberView,
  iccid: Uint8Array,
): Uint8Array {
  const { provider_name: spn, smdp_address: address } = parts.context.config
  // The last digits tell two profiles of one network apart on one phone.
  const profileName = `${spn} ${code.iccid_last4}`
  return storeMetadata({ iccid: digits(iccid), spn, profileName, address, owner: plmnOf(view) })
}

function plmnOf({ plmn }: SubscriberView): { readonly mcc: string; readonly mnc: string } {
  const [mcc = '', mnc = ''] = plmn.split('-')
  return { mcc, mnc }
}

function digits(octets: Uint8Array): string {
  return Buffer.from(octets).toString('latin1')
}
