import type { Subscriber } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { Doc } from '../links/document-link.ts'
import type { Snssai } from '../open5gs/document.ts'
import { docOf, numberOf, policyDnnKey, same, sessionRate, snssaiKey } from './names.ts'

export function snssaiDoc({ sst, sd }: Snssai): Doc {
  return { sst: new Int32(sst), ...(sd === undefined ? {} : { sd }) }
}

/** The slice that a stored S-NSSAI means, be its SST a number or text; undefined for none. */
export function sliceOf(singleNssai: unknown): Snssai | undefined {
  const { sst, sd } = docOf(singleNssai)
  const number =
    numberOf(sst) ?? (typeof sst === 'string' && /^[0-9]{1,3}$/.test(sst) ? Number(sst) : undefined)
  if (number === undefined) return undefined
  return { sst: number, sd: typeof sd === 'string' && sd !== '' ? sd : undefined }
}

/**
 * The DNNs of a slice by their names as they are, dots too: the SMF looks for those. What an operator set in a DNN stays
 * as long as the SMF can work with it; the AMBR is ours.
 */
export function dnnConfigurations(subscriber: Subscriber, held: unknown): Doc {
  const before = docOf(held)
  const { up, down } = subscriber.ambrBps
  const sessionAmbr = { uplink: sessionRate(up), downlink: sessionRate(down) }
  return Object.fromEntries(
    subscriber.apns.map((apn) => {
      // Dots were once stored as underscores.
      const dnn = docOf(before[apn] ?? before[policyDnnKey(apn)])
      return [apn, { ...dnn, ...workingDnn(dnn), sessionAmbr }]
    }),
  )
}

const FRESH = {
  pduSessionTypes: { defaultSessionType: 'IPV4', allowedSessionTypes: ['IPV4'] },
  sscModes: { defaultSscMode: 'SSC_MODE_1', allowedSscModes: ['SSC_MODE_1', 'SSC_MODE_2', 'SSC_MODE_3'] },
  '5gQosProfile': {
    '5qi': new Int32(9),
    arp: { priorityLevel: new Int32(8), preemptCap: 'NOT_PREEMPT', preemptVuln: 'PREEMPTABLE' },
    priorityLevel: new Int32(8),
  },
} as const

/** Types, modes and QoS of a DNN: as they are when a phone gets a session with them, else as they are at first. */
export function workingDnn(dnn: Doc): Doc {
  const [types, modes, qos] = [docOf(dnn.pduSessionTypes), docOf(dnn.sscModes), docOf(dnn['5gQosProfile'])]
  const isTyped =
    isText(types.defaultSessionType) &&
    Array.isArray(types.allowedSessionTypes) &&
    types.allowedSessionTypes.some((type) => type === 'IPV4' || type === 'IPV4V6')
  const isModed = isText(modes.defaultSscMode) && Array.isArray(modes.allowedSscModes)
  const { priorityLevel } = docOf(qos.arp)
  const hasQos = isAmong(qos['5qi'], 255) && isAmong(priorityLevel, 15)
  return {
    pduSessionTypes: isTyped ? types : FRESH.pduSessionTypes,
    sscModes: isModed ? modes : FRESH.sscModes,
    '5gQosProfile': hasQos ? qos : FRESH['5gQosProfile'],
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isAmong(value: unknown, most: number): boolean {
  const number = numberOf(value)
  return number !== undefined && Number.isInteger(number) && number >= 1 && number <= most
}

/** Which DNNs may be asked for in our slices; further slices and what else is said of a DNN are the operator's. */
export function policySlices({ apns }: Subscriber, slices: readonly Snssai[], held: unknown): Doc {
  const before = docOf(held)
  const ours = slices.map((slice) => {
    const entry = docOf(before[snssaiKey(slice)])
    const dnns = docOf(entry.smPolicyDnnData)
    const smPolicyDnnData = Object.fromEntries(
      apns.map((dnn) => [policyDnnKey(dnn), { ...docOf(dnns[policyDnnKey(dnn)]), dnn }]),
    )
    return [snssaiKey(slice), { ...entry, snssai: snssaiDoc(slice), smPolicyDnnData }] as const
  })
  return { ...before, ...Object.fromEntries(ours) }
}

/** Which DNNs a slice offers for the choice of the SMF: the first is what a phone gets that names none. */
export function selectionSlices({ apns }: Subscriber, slices: readonly Snssai[], held: unknown): Doc {
  const dnnInfos = apns.map((dnn, index) => ({ dnn, ...(index === 0 ? { defaultDnnIndicator: true } : {}) }))
  const before = docOf(held)
  const ours = slices.map((slice) => {
    const entry = docOf(before[snssaiKey(slice)])
    return [snssaiKey(slice), same(entry.dnnInfos, dnnInfos) ? entry : { ...entry, dnnInfos }] as const
  })
  return { ...before, ...Object.fromEntries(ours) }
}
