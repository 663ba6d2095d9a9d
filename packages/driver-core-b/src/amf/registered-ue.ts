import { type Imsi, southboundUnavailable } from '@steeple/contracts'
import { parseImsi } from '@steeple/telecom'
import { fieldOf, parseJson, textOf } from '../sbi/json.ts'

/** One registration of a subscriber, as the AMF's OAM service lists it. Two accesses make two. */
export interface Registration {
  readonly imsi: Imsi
  readonly isConnected: boolean
  readonly sessions: readonly PduSession[]
}

/** A PDU session; it may carry no traffic. */
export interface PduSession {
  /** The SMF's name for it, `urn:uuid:…`; stable for its life. */
  readonly ref: string
  readonly dnn: string
}

/**
 * The registrations in an answer of `registered-ue-context`: an array, or `null` for none.
 *
 * Subscribers without an IMSI are left out: they are not this network's. Throws `southbound_unavailable` for anything
 * that is no such list, since phones must not be taken for absent because their entry cannot be read.
 */
export function parseRegistrations(text: string): readonly Registration[] {
  const value = parseJson(text)
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
    return imsi === undefined ? [] : [{ imsi, isConnected: state === 'CONNECTED', sessions }]
  })
}

function sessionsOf(value: unknown): readonly PduSession[] | undefined {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) return undefined
  const sessions = value.map((entry: unknown) => ({
    ref: textOf(entry, 'SmContextRef'),
    dnn: textOf(entry, 'Dnn'),
  }))
  return sessions.toSorted((a, b) => (a.ref < b.ref ? -1 : 1))
}
