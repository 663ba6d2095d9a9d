import type { Imsi } from '@steeple/contracts'
import { recordedItem } from './recordings.ts'

/** A phone as the stand-in core knows it. */
export interface Phone {
  readonly imsi: Imsi
  readonly technology: 'lte' | 'nr'
  /** `cut`: after a cancel, before the phone has answered. */
  state: 'registered' | 'idle' | 'deregistered' | 'exception' | 'cut'
  /** Whether the SMF has a session of it. */
  hasSession: boolean
}

export function phone(n: number, technology: 'lte' | 'nr' = 'lte'): Phone {
  const imsi = `99999${String(n).padStart(10, '0')}` as Imsi // 15 digits
  return { imsi, technology, state: 'registered', hasSession: true }
}

/** Its entry in MME's or AMF's `/ue-info`, made from a recorded one. Release 2.7.7 has no `mm_state`. */
export function ueItem(it: Phone, release: '2.8.0' | '2.7.7'): Record<string, unknown> {
  const isOn = it.state === 'registered' || it.state === 'idle'
  const item = it.technology === 'lte' ? mmeItem(it, isOn) : amfItem(it, isOn)
  if (release === '2.7.7') delete item.mm_state
  return item
}

function mmeItem({ imsi, state }: Phone, isOn: boolean): Record<string, unknown> {
  const name = isOn
    ? `mme-ue-info.${state === 'idle' ? 'ecm-idle' : 'attached-connected'}.json.txt`
    : 'mme-ue-info.after-detach.json.txt'
  const mm_state = isOn || state === 'cut' ? 'registered' : state
  return { ...recordedItem(name), supi: imsi, mm_state }
}

function amfItem({ imsi, state }: Phone, isOn: boolean): Record<string, unknown> {
  const name = `amf-ue-info.${isOn ? 'registered-one-pdu' : 'after-deregistration'}.json.txt`
  return { ...recordedItem(name), supi: `imsi-${imsi}`, mm_state: isOn ? 'registered' : state }
}

/** Its entry in the SMF's `/pdu-info`. */
export function pduItem({ imsi, technology }: Phone): Record<string, unknown> {
  const name = technology === 'lte' ? 'attached-4g' : '5g-one-pdu'
  return { ...recordedItem(`smf-pdu-info.${name}.json.txt`), supi: `imsi-${imsi}` }
}
