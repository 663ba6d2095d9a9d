import type { OpenableSim, SubscriberView } from '@steeple/contracts'
import { storeMetadata } from '../bpp/metadata.ts'
import type { ProfileVersion } from '../parts.ts'
import { suciOctets } from '../profile/subscription.ts'
import { templateFor } from '../profile/template.ts'
import type { CodeRow } from '../store/rows.ts'
import type { Es9Core } from './core.ts'

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
      imsi: credentials.imsi,
      iccid: digits(credentials.iccid),
      ki: credentials.ki,
      opc: credentials.opc,
      adm1: credentials.adm1,
      pin1: credentials.pin1,
      puk1: credentials.puk1,
      pin2: credentials.pin2,
      puk2: credentials.puk2,
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
