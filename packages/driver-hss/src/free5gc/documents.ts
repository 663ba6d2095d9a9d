import type { Subscriber } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import { dnnKey, snssaiKey } from './names.ts'
import { sessionRate, ueRate } from './rate.ts'

/** How a release spells its authentication documents: `v3` up to 3.4, `v4` from 4.0 on. */
export type Spelling = 'v3' | 'v4'

/** 48 bits as 12 hex digits. */
export function sqnText(sqn: bigint): string {
  return sqn.toString(16).padStart(12, '0')
}

/** Keys and method, in the words of the release. Without the SQN, which is written on insert only. */
export function authFields({ ki, opc }: Pick<Subscriber, 'ki' | 'opc'>, spelling: Spelling): Doc {
  const [k, op] = [Buffer.from(ki).toString('hex'), Buffer.from(opc).toString('hex')]
  const common = { authenticationMethod: '5G_AKA', authenticationManagementField: '8000' }
  if (spelling === 'v4') return { ...common, encPermanentKey: k, encOpcKey: op }
  return {
    ...common,
    'permanentKey.permanentKeyValue': k,
    'permanentKey.encryptionKey': new Int32(0),
    'permanentKey.encryptionAlgorithm': new Int32(0),
    'opc.opcValue': op,
    'opc.encryptionKey': new Int32(0),
    'opc.encryptionAlgorithm': new Int32(0),
  }
}

/** The other release's words for the same keys, to be taken away after an upgrade. */
export function otherFields(spelling: Spelling): Doc {
  return spelling === 'v4'
    ? { permanentKey: '', opc: '', milenage: '' }
    : { encPermanentKey: '', encOpcKey: '', encTopcKey: '' }
}

/** A SQN in the words of the release. */
export function sqnField(text: string, spelling: Spelling): unknown {
  return spelling === 'v4' ? { sqnScheme: 'GENERAL', sqn: text } : text
}

/** Access and mobility: who, which slices, how fast. */
export function amFields({ msisdn, ambrBps }: Subscriber, slices: readonly Snssai[]): Doc {
  return {
    gpsis: [`msisdn-${msisdn ?? ''}`],
    'nssai.defaultSingleNssais': slices.map(snssaiDoc),
    'subscribedUeAmbr.uplink': ueRate(ambrBps.up),
    'subscribedUeAmbr.downlink': ueRate(ambrBps.down),
  }
}

/** Which DNN a slice offers, for the choice of the SMF. */
export function selectionFields({ apns }: Subscriber, slices: readonly Snssai[]): Doc {
  const dnnInfos = apns.map((dnn) => ({ dnn }))
  return Object.fromEntries(
    slices.map((slice) => [`subscribedSnssaiInfos.${snssaiKey(slice)}.dnnInfos`, dnnInfos]),
  )
}

/** The DNNs of a slice: what an operator set in `old` stays, the AMBR is ours. */
export function dnnConfigurations(subscriber: Subscriber, old: unknown): Doc {
  const held = (old ?? {}) as Readonly<Record<string, Doc | undefined>> // embedded documents
  const { up, down } = subscriber.ambrBps
  const sessionAmbr = { uplink: sessionRate(up), downlink: sessionRate(down) }
  const entries = subscriber.apns.map((apn) => {
    const before = held[dnnKey(apn)]
    return [dnnKey(apn), { ...(before ?? freshDnn()), sessionAmbr }]
  })
  return Object.fromEntries(entries)
}

function freshDnn(): Doc {
  return {
    pduSessionTypes: { defaultSessionType: 'IPV4', allowedSessionTypes: ['IPV4'] },
    sscModes: { defaultSscMode: 'SSC_MODE_1', allowedSscModes: ['SSC_MODE_1', 'SSC_MODE_2', 'SSC_MODE_3'] },
    '5gQosProfile': {
      '5qi': new Int32(9),
      arp: { priorityLevel: new Int32(8), preemptCap: 'NOT_PREEMPT', preemptVuln: 'PREEMPTABLE' },
      priorityLevel: new Int32(8),
    },
  }
}

/** Policy: which DNN may be asked for in a slice. */
export function policySmFields({ apns }: Subscriber, slices: readonly Snssai[]): Doc {
  const smPolicyDnnData = Object.fromEntries(apns.map((dnn) => [dnnKey(dnn), { dnn }]))
  return Object.fromEntries(
    slices.map((slice) => [
      `smPolicySnssaiData.${snssaiKey(slice)}`,
      { snssai: snssaiDoc(slice), smPolicyDnnData },
    ]),
  )
}

/** Volumes of a slice are counted only with this; on insert alone. */
export function chargingFields(): Doc {
  return { chargingMethod: 'Offline', quota: '0', unitCost: '1' }
}

/** An S-NSSAI as a document. */
export function snssaiDoc({ sst, sd }: Snssai): Doc {
  return { sst: new Int32(sst), ...(sd === undefined ? {} : { sd }) }
}
