import type { COLLECTIONS } from '../../src/free5gc/names.ts'

export type Release = '3.4.5' | '4.2.3'
type Name = keyof typeof COLLECTIONS

/** An edit by hand: what happens to documents of a collection, and what the comparison calls it. */
export interface Edit {
  readonly what: string
  readonly on: Name
  readonly update?: object
  /** Without `update`: that the documents are deleted. */
  readonly filter?: object
  readonly field: string
  /** For one release only. */
  readonly release?: Release
}

const auth = (what: string, update: object, field: string, more: Partial<Edit> = {}): Edit => {
  return { what, on: 'auth', update, field: `authenticationSubscription.${field}`, ...more }
}
const sm = (what: string, update: object, field = 'dnnConfigurations'): Edit => {
  return { what, on: 'sm', update, filter: { 'singleNssai.sd': '010203' }, field: `smData.${field}` }
}
const DNN = 'dnnConfigurations.internet'
const v4 = { release: '4.2.3' } as const
const v3 = { release: '3.4.5' } as const

/** Every kind of edit that was seen to cut a subscriber off, and some more. */
export const EDITS: readonly Edit[] = [
  auth('K changed', { $set: { encPermanentKey: '00'.repeat(16) } }, 'encPermanentKey', v4),
  auth('K cut short', { $set: { encPermanentKey: '02' } }, 'encPermanentKey', v4),
  auth('K removed', { $unset: { encPermanentKey: '' } }, 'encPermanentKey', v4),
  auth('OPc changed', { $set: { encOpcKey: '00'.repeat(16) } }, 'encOpcKey', v4),
  auth('OPc removed', { $unset: { encOpcKey: '' } }, 'encOpcKey', v4),
  auth('K changed', { $set: { 'permanentKey.permanentKeyValue': '00' } }, 'permanentKey', v3),
  auth('OPc removed', { $unset: { opc: '' } }, 'opc', v3),
  auth('milenage removed', { $unset: { milenage: '' } }, 'milenage', v3),
  auth('keys of the other release beside', { $set: { opc: { opcValue: 'aa' } } }, 'opc', v4),
  auth('keys of the other release beside', { $set: { encTopcKey: 'aa' } }, 'encTopcKey', v3),
  auth('method', { $set: { authenticationMethod: 'EAP_AKA_PRIME' } }, 'authenticationMethod'),
  auth('method removed', { $unset: { authenticationMethod: '' } }, 'authenticationMethod'),
  auth('AMF field', { $set: { authenticationManagementField: '0000' } }, 'authenticationManagementField'),
  auth(
    'AMF field removed',
    { $unset: { authenticationManagementField: '' } },
    'authenticationManagementField',
  ),
  auth('SQN removed', { $unset: { sequenceNumber: '' } }, 'sequenceNumber'),
  auth('SQN no digits', { $set: { sequenceNumber: { sqn: 'x' } } }, 'sequenceNumber', {
    ...v4,
  }),
  auth('SQN as release 3.4 writes it', { $set: { sequenceNumber: '000000001020' } }, 'sequenceNumber', v4),
  auth(
    'SQN as release 4 writes it',
    { $set: { sequenceNumber: { sqn: '000000001020' } } },
    'sequenceNumber',
    v3,
  ),
  { what: 'access data deleted', on: 'am', field: 'amData' },
  { what: 'GPSI changed', on: 'am', update: { $set: { gpsis: ['msisdn-1'] } }, field: 'amData.gpsis' },
  { what: 'GPSI emptied', on: 'am', update: { $set: { gpsis: [] } }, field: 'amData.gpsis' },
  { what: 'GPSI removed', on: 'am', update: { $unset: { gpsis: '' } }, field: 'amData.gpsis' },
  {
    what: 'slices emptied',
    on: 'am',
    update: { $set: { 'nssai.defaultSingleNssais': [] } },
    field: 'amData.nssai',
  },
  { what: 'slices removed', on: 'am', update: { $unset: { nssai: '' } }, field: 'amData.nssai' },
  { what: 'slices as text', on: 'am', update: { $set: { nssai: '01' } }, field: 'amData.nssai' },
  {
    what: 'AMBR changed',
    on: 'am',
    update: { $set: { 'subscribedUeAmbr.uplink': '1 Kbps' } },
    field: 'amData.subscribedUeAmbr',
  },
  {
    what: 'AMBR removed',
    on: 'am',
    update: { $unset: { subscribedUeAmbr: '' } },
    field: 'amData.subscribedUeAmbr',
  },
  {
    what: 'another network',
    on: 'am',
    update: { $set: { servingPlmnId: '00101' } },
    field: 'amData.servingPlmnId',
  },
  { what: 'choice deleted', on: 'selection', field: 'smfSelectionSubscriptionData' },
  {
    what: 'choice of a slice emptied',
    on: 'selection',
    update: { $set: { 'subscribedSnssaiInfos.01010203.dnnInfos': [] } },
    field: 'smfSelectionSubscriptionData.subscribedSnssaiInfos',
  },
  { what: 'sessions of a slice deleted', on: 'sm', filter: { 'singleNssai.sd': '010203' }, field: 'smData' },
  {
    what: 'sessions without SD deleted',
    on: 'sm',
    filter: { 'singleNssai.sd': { $exists: false } },
    field: 'smData',
  },
  sm('SST as text', { $set: { 'singleNssai.sst': '1' } }, 'singleNssai'),
  sm('SST removed', { $unset: { 'singleNssai.sst': '' } }, 'singleNssai'),
  sm('DNNs emptied', { $set: { dnnConfigurations: {} } }),
  sm('types removed', { $unset: { [`${DNN}.pduSessionTypes`]: '' } }),
  sm('types emptied', { $set: { [`${DNN}.pduSessionTypes.allowedSessionTypes`]: [] } }),
  sm('modes removed', { $unset: { [`${DNN}.sscModes`]: '' } }),
  sm('QoS removed', { $unset: { [`${DNN}.5gQosProfile`]: '' } }),
  sm('AMBR of a session changed', { $set: { [`${DNN}.sessionAmbr.uplink`]: '1 Kbps' } }),
  sm('AMBR of a session removed', { $unset: { [`${DNN}.sessionAmbr`]: '' } }),
  sm('a DNN added', { $set: { 'dnnConfigurations.other': {} } }),
  { what: 'access policy deleted', on: 'policyAm', field: 'policy amData' },
  {
    what: 'categories emptied',
    on: 'policyAm',
    update: { $set: { subscCats: [] } },
    field: 'policy amData.subscCats',
  },
  { what: 'session policy deleted', on: 'policySm', field: 'policy smData' },
  {
    what: 'slice of the policy wrong',
    on: 'policySm',
    update: { $set: { 'smPolicySnssaiData.01010203.snssai': { sst: 2 } } },
    field: 'policy smData.smPolicySnssaiData',
  },
  {
    what: 'a DNN of the policy removed',
    on: 'policySm',
    update: { $unset: { 'smPolicySnssaiData.01010203.smPolicyDnnData.iot_example': '' } },
    field: 'policy smData.smPolicySnssaiData',
  },
  { what: 'counting deleted', on: 'charging', field: 'policy chargingData' },
  {
    what: 'counting changed',
    on: 'charging',
    update: { $set: { chargingMethod: 'None' } },
    field: 'policy chargingData.chargingMethod',
  },
  {
    what: 'quota changed',
    on: 'charging',
    update: { $set: { quota: '5' } },
    field: 'policy chargingData.quota',
  },
  {
    what: 'price removed',
    on: 'charging',
    update: { $unset: { unitCost: '' } },
    field: 'policy chargingData.unitCost',
  },
  { what: 'identity deleted', on: 'identity', field: 'identityData' },
  {
    what: 'identity changed',
    on: 'identity',
    update: { $set: { gpsi: 'msisdn-1' } },
    field: 'identityData.gpsi',
  },
]
