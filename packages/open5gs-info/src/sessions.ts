import { isIPv4, isIPv6 } from 'node:net'
import type { Imsi, Technology } from '@steeple/contracts'
import { apnIn, imsiOf, listOf, numberIn } from './entries.ts'
import { recordOf } from './pages.ts'

/** A session as the SMF lists it. */
export interface PduSession {
  readonly technology: Technology
  /** EPS bearer identity of its default bearer, or PDU session identity. 0: it has no bearer (yet, or any more). */
  readonly id: number
  readonly apn: string
  readonly ipv4: string | undefined
  /** A whole address of the phone's /64. */
  readonly ipv6: string | undefined
  /** Whether octets can flow without a service request; only known in 5G. */
  readonly isActive: boolean | undefined
}

/** The sessions of a phone. */
export interface PduEntry {
  readonly imsi: Imsi
  readonly sessions: readonly PduSession[]
}

/** An entry of the SMF's `/pdu-info`, of both generations; undefined for one without an IMSI. */
export function smfPdu(item: unknown): PduEntry | undefined {
  const { supi, pdu } = recordOf(item)
  const imsi = imsiOf(supi)
  if (imsi === undefined) return undefined
  return { imsi, sessions: listOf(pdu).flatMap((one) => sessionIn(recordOf(one)) ?? []) }
}

/** One of LTE can have a PDU session identity besides, for a later handover to 5G: the name of its network tells. */
function sessionIn(fields: Readonly<Record<string, unknown>>): PduSession | undefined {
  const { ebi, psi, apn, dnn, ipv4, ipv6, pdu_state } = fields
  const isNr = dnn !== undefined
  const name = apnIn(isNr ? dnn : apn)
  if (name === undefined) return undefined
  return {
    technology: isNr ? 'nr' : 'lte',
    id: numberIn(isNr ? psi : ebi) ?? 0,
    apn: name,
    ipv4: typeof ipv4 === 'string' && isIPv4(ipv4) ? ipv4 : undefined,
    // An address with a zone is one of a machine's own links, and no phone's.
    ipv6: typeof ipv6 === 'string' && isIPv6(ipv6) && !ipv6.includes('%') ? ipv6 : undefined,
    isActive: pdu_state === 'active' ? true : pdu_state === 'inactive' ? false : undefined,
  }
}
