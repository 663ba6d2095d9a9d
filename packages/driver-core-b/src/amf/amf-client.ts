import { type Imsi, jsonIn, southboundUnavailable } from '@steeple/contracts'
import type { Registration, SmContext } from '@steeple/southbound'
import { formatPlmn, parseImsi, parsePlmn } from '@steeple/telecom'
import type { Caller, Service } from '../sbi/caller.ts'
import { fieldOf, textOf } from '../sbi/http-client.ts'

/** What is asked of the AMF. Everything throws `southbound_unavailable` when it cannot be asked. */
export interface AmfClient {
  /** Every registration, in the order of the IMSIs. */
  registrations(signal: AbortSignal): Promise<readonly Registration[]>
  /** Those of one subscriber; undefined when the AMF has no context of it, empty while it is still authenticating. */
  registrationsOf(imsi: Imsi, signal: AbortSignal): Promise<readonly Registration[] | undefined>
  /**
   * Has the AMF forget a subscriber and release its sessions. The phone is not told. False when there was none.
   */
  deregister(imsi: Imsi, signal: AbortSignal): Promise<boolean>
  /** Resolves when its OAM service answers. */
  ping(signal: AbortSignal): Promise<void>
}

const LIST = '/namf-oam/v1/registered-ue-context'
/** Only this reason makes the AMF release the sessions; the others leave the traffic flowing. */
const REASON = 'UE_INITIAL_REGISTRATION'

/** A client of the AMF at `url`, a base URL without a slash at its end. */
export function createAmfClient(caller: Caller, url: () => string): AmfClient {
  const oam: Service = { nfType: 'AMF', scope: 'namf-oam', url, file: 'amfcfg.yaml' }
  const callback: Service = { nfType: 'AMF', scope: 'namf-callback', url, file: 'amfcfg.yaml' }
  return {
    registrations: async (signal) => {
      const { status, text } = await caller.call(oam, { method: 'GET', path: LIST }, signal)
      if (status !== 200) throw unexpected(status)
      return parseRegistrations(text).toSorted((a, b) => (a.imsi < b.imsi ? -1 : 1))
    },
    registrationsOf: async (imsi, signal) => {
      const path = `${LIST}/imsi-${imsi}`
      const { status, text } = await caller.call(oam, { method: 'GET', path }, signal)
      if (status === 404 && text.includes('CONTEXT_NOT_FOUND')) return undefined
      if (status !== 200) throw unexpected(status)
      return parseRegistrations(text)
    },
    deregister: async (imsi, signal) => {
      const path = `/namf-callback/v1/deregistration/imsi-${imsi}`
      const json = { deregReason: REASON, accessType: '3GPP_ACCESS' }
      const { status, text } = await caller.call(callback, { method: 'POST', path, json }, signal)
      if (status === 204) return true
      if (status === 404 && text.includes('CONTEXT_NOT_FOUND')) return false
      throw southboundUnavailable(`the AMF does not take a deregistration: it answers ${status}`)
    },
    ping: async (signal) => {
      const { status } = await caller.call(oam, { method: 'GET', path: '/namf-oam/v1/' }, signal)
      if (status !== 200) throw unexpected(status)
    },
  }
}

function unexpected(status: number): Error {
  const hint = status === 404 ? '; list namf-oam under serviceNameList in amfcfg.yaml' : ''
  return southboundUnavailable(`the AMF answers ${status} to its OAM service${hint}`)
}

/**
 * The registrations in an answer of `registered-ue-context`: an array, or `null` for none.
 *
 * Subscribers without an IMSI are left out: they are not this network's. Throws `southbound_unavailable` for anything
 * that is no such list, since phones must not be taken for absent because their entry cannot be read.
 */
export function parseRegistrations(text: string): readonly Registration[] {
  const value = jsonIn(text)
  if (value === null) return []
  if (!Array.isArray(value))
    throw southboundUnavailable('the AMF answers something else than a list of phones')
  return value.flatMap((entry: unknown) => {
    const supi = textOf(entry, 'Supi')
    const state = textOf(entry, 'CmState')
    const sessions = sessionsOf(fieldOf(entry, 'PduSessions'))
    if (supi === '' || sessions === undefined)
      throw southboundUnavailable('the AMF lists a phone in a way that this driver does not know')
    const imsi = supi.startsWith('imsi-') ? parseImsi(supi.slice('imsi-'.length)) : undefined
    if (imsi === undefined) return []
    return [{ imsi, plmn: plmnOf(entry), isConnected: state === 'CONNECTED', sessions }]
  })
}

function sessionsOf(value: unknown): readonly SmContext[] | undefined {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) return undefined
  const sessions = value.map((entry: unknown) => ({
    ref: textOf(entry, 'SmContextRef'),
    dnn: textOf(entry, 'Dnn'),
  }))
  return sessions.toSorted((a, b) => (a.ref < b.ref ? -1 : 1))
}

/** The network of its last tracking area. */
function plmnOf(entry: unknown): string | undefined {
  const plmn = parsePlmn(`${textOf(entry, 'Mcc')}-${textOf(entry, 'Mnc')}`)
  return plmn === undefined ? undefined : formatPlmn(plmn)
}
