import type { Imsi } from '@steeple/contracts'
import type { Snssai } from '../open5gs/document.ts'

/** The collections that hold a subscriber. */
export const COLLECTIONS = {
  auth: 'subscriptionData.authenticationData.authenticationSubscription',
  webAuth: 'subscriptionData.authenticationData.webAuthenticationSubscription',
  am: 'subscriptionData.provisionedData.amData',
  selection: 'subscriptionData.provisionedData.smfSelectionSubscriptionData',
  sm: 'subscriptionData.provisionedData.smData',
  policyAm: 'policyData.ues.amData',
  policySm: 'policyData.ues.smData',
  charging: 'policyData.ues.chargingData',
  flow: 'policyData.ues.flowRule',
  qos: 'policyData.ues.qosFlow',
  identity: 'subscriptionData.identityData',
} as const

/** A document whose key begins so is out of the core's sight: that is how sessions are barred and put back. */
const ASIDE = 'suspended-'

/** The key of a subscriber's documents. */
export function ueIdOf(imsi: Imsi): string {
  return `imsi-${imsi}`
}

/** The key of a document that has been put aside. */
export function asideIdOf(imsi: Imsi): string {
  return `${ASIDE}${ueIdOf(imsi)}`
}

/** Whose a key is, and whether its document was put aside. */
export function readUeId(ueId: unknown): { readonly imsi: Imsi; readonly isAside: boolean } | undefined {
  const match = typeof ueId === 'string' ? /^(suspended-)?imsi-([0-9]{6,15})$/.exec(ueId) : null
  if (match?.[2] === undefined) return undefined
  return { imsi: match[2] as Imsi, isAside: match[1] !== undefined } // digits by the pattern
}

/** An S-NSSAI as a key: two hex digits of SST, then SD. */
export function snssaiKey({ sst, sd }: Snssai): string {
  return `${sst.toString(16).padStart(2, '0')}${sd ?? ''}`
}

/** A DNN as a key of a policy: the core looks for it so. Session data has the DNN as it is, dots too. */
export function policyDnnKey(apn: string): string {
  return apn.replaceAll('.', '_')
}

/** A collection for people. */
export function shortName(collection: string): string {
  const last = collection.slice(collection.lastIndexOf('.') + 1)
  return collection.startsWith('policyData.') ? `policy ${last}` : last
}
