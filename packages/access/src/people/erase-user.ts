import type { Tx } from '@steeple/contracts'
import { revokeCertificatesOf } from '../certificates/certificate-store.ts'
import { removePasskeysOf } from '../passkeys/passkey-store.ts'
import { removeTokensOf } from '../token-owner.ts'
import { forgetNetworks } from './lockout.ts'
import { removeSecondFactor } from './second-factor-store.ts'
import { removeSessionsOf } from './session-store.ts'
import { removeUserRow } from './user-store.ts'

/** Ends every way in that a user has, and every session; the user stays. */
export async function endCredentials(tx: Tx, userId: string, nowMs: number): Promise<void> {
  await removePasskeysOf(tx, userId)
  await revokeCertificatesOf(tx, userId, nowMs)
  await removeSessionsOf(tx, userId)
  await removeSecondFactor(tx, userId)
}

/** Removes a user and all that hangs on it; says how many tokens that were. */
export async function eraseUser(tx: Tx, userId: string, nowMs: number): Promise<number> {
  await endCredentials(tx, userId, nowMs)
  await forgetNetworks(tx, userId)
  await removeUserRow(tx, userId)
  return removeTokensOf(tx, userId)
}
