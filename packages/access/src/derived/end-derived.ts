import type { Tx } from '@steeple/contracts'
import {
  type CertificateRow,
  certificatesOf,
  certificatesUnder,
  revokeCertificate,
} from '../certificates/certificate-store.ts'
import { removeLinksUnder } from '../links/link-store.ts'
import { removeInvitationsUnder } from '../people/invitation-store.ts'
import { SESSIONS, sessionsOf, sessionsOver, sessionsUnder } from '../people/session-store.ts'
import { removeToken, tokensUnder } from '../token-store.ts'

/** Ends all that was derived from a credential, and what was derived from that. */
export async function endDerived(tx: Tx, source: string, nowMs: number): Promise<void> {
  await removeLinksUnder(tx, source)
  await removeInvitationsUnder(tx, source)
  for (const { id } of await sessionsUnder(tx, source)) await endSession(tx, id, nowMs)
  for (const { id } of await tokensUnder(tx, source)) await endToken(tx, id, nowMs)
  for (const row of await certificatesUnder(tx, source)) await endCertificate(tx, row, nowMs)
}

/** Ends a session, with what was derived from it; false when there was none. */
export async function endSession(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const isThere = await SESSIONS.remove(tx, { id })
  await endDerived(tx, `session:${id}`, nowMs)
  return isThere
}

/** Removes a token, with what was derived from it; false when there was none. */
export async function endToken(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const isThere = await removeToken(tx, id)
  await endDerived(tx, `token:${id}`, nowMs)
  return isThere
}

/** Revokes a certificate, with what was derived from it. */
export async function endCertificate(tx: Tx, row: CertificateRow, nowMs: number): Promise<void> {
  await revokeCertificate(tx, row, nowMs)
  await endDerived(tx, `certificate:${row.serial}`, nowMs)
}

/** Revokes all certificates of a user. */
export async function endCertificatesOf(tx: Tx, userId: string, nowMs: number): Promise<void> {
  for (const row of await certificatesOf(tx, userId)) await endCertificate(tx, row, nowMs)
}

/** Ends every session of a user, except one if it is named. */
export async function endSessionsOf(tx: Tx, userId: string, nowMs: number, exceptId = ''): Promise<void> {
  for (const { id } of await sessionsOf(tx, userId)) if (id !== exceptId) await endSession(tx, id, nowMs)
}

/** Sessions of one transaction: others wait for it. */
const OVER_AT_ONCE = 500

/** Ends the sessions that are over by their age, or for want of use. */
export async function endOverSessions(tx: Tx, nowMs: number, idleMs: number): Promise<void> {
  for (const { id } of await sessionsOver(tx, nowMs, idleMs, OVER_AT_ONCE)) await endSession(tx, id, nowMs)
}
