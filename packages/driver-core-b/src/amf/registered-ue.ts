import { southboundUnavailable } from '@steeple/contracts'
import type { Registration, SmContext } from '@steeple/southbound'
import { formatPlmn, parseImsi, parsePlmn } from '@steeple/telecom'
import { fieldOf, parseJson, textOf } from '../sbi/json.ts'

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
