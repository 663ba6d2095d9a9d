import type { Tx } from '@steeple/contracts'
import { endCertificatesOf, endSessionsOf } from '../derived/end-derived.ts'
import { removePasskeysOf } from '../passkeys/passkey-store.ts'
import { endTokensOf } from '../token-owner.ts'
import { endInvitationsOf, removeInvitationsBy } from './invitation-store.ts'
import { forgetNetworks } from './lockout.ts'
import { removeSecondFactor } from './second-factor-store.ts'
import { findUser, removeUserRow } from './user-store.ts'

/**
 * Ends every way in that a user has, every session, and what lets others in by their word (links, invitations, bootstrap
 * tokens); the user stays, and so do tokens for programs.
 */
export async function endCredentials(tx: Tx, userId: string, nowMs: number): Promise<void> {
  await removePasskeysOf(tx, userId)
  await endCertificatesOf(tx, userId, nowMs)
  await endSessionsOf(tx, userId, nowMs)
  await removeInvitationsBy(tx, userId)
  await endTokensOf(tx, userId, nowMs, 'bootstrap')
  await removeSecondFactor(tx, userId)
}

/** Removes a user and all that hangs on it; says how many tokens that were. */
export async function eraseUser(tx: Tx, userId: string, nowMs: number): Promise<number> {
  const user = await findUser(tx, userId)
  // Another invitation of the same name would let them in again.
  if (user !== undefined) await endInvitationsOf(tx, { name: user.name }, nowMs)
  const tokens = await endTokensOf(tx, userId, nowMs)
  await endCredentials(tx, userId, nowMs)
  await forgetNetworks(tx, userId)
  await removeUserRow(tx, userId)
  return tokens
}
