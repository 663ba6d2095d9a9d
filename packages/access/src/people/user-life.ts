import { randomUUID } from 'node:crypto'
import { type Context, defineError, type ErrorFactory, type Role, type Tx } from '@steeple/contracts'
import { endCertificatesOf, endSessionsOf } from '../derived/end-derived.ts'
import { removePasskeysOf } from '../passkeys/passkey-store.ts'
import { endTokensOf } from '../token-owner.ts'
import { endInvitationsOf, removeInvitationsBy } from './invitation-store.ts'
import { forgetNetworks } from './lockout.ts'
import { drawPassword, hashPassword } from './password.ts'
import type { People } from './people.ts'
import { drawSecondFactor } from './second-factor.ts'
import { removeSecondFactor } from './second-factor-store.ts'
import { userRecord } from './user-record.ts'
import { findUserByName, mustFindUser, nameKey, USERS, type UserRow } from './user-store.ts'

export const userExists: ErrorFactory = defineError(
  'user_exists',
  409,
  'there is a user %s already; take another name',
)

interface UserWish {
  readonly name: string
  readonly roles: readonly Role[]
  /** One is drawn when it is absent. */
  readonly password?: string | undefined
  /** JSON of the principal that makes it. */
  readonly createdBy: string
}

/** A user who is drawn and not stored yet. */
interface NewUser {
  readonly id: string
  /** For the authenticator. */
  readonly totpUri: string
  /** Stores it; gives the one answer that shows its credentials. Throws `user_exists`. */
  store(tx: Tx): Promise<object>
}

type CredentialParts = Pick<People, 'vault' | 'gate' | 'identity'> & {
  readonly context: Pick<Context, 'clock'>
}

/** Draws a user: id, hash of the password, second factor. Takes as long as scrypt does, so it is for outside of a transaction. */
export async function drawUser(people: CredentialParts, wish: UserWish): Promise<NewUser> {
  const id = randomUUID()
  const { password_hash, factor, shown } = await drawCredentials(people, id, wish.name, wish.password)
  const row: UserRow = {
    id,
    name: wish.name,
    name_key: nameKey(wish.name),
    roles: JSON.stringify(wish.roles),
    password_hash,
    created_at_ms: people.context.clock.nowMs(),
    created_by: wish.createdBy,
    last_login_at_ms: null,
  }
  return {
    id,
    totpUri: shown.totp_uri,
    store: async (tx) => {
      if ((await findUserByName(tx, row.name)) !== undefined) throw userExists(row.name)
      await USERS.insert(tx, row)
      await factor.store(tx, row.created_at_ms)
      return { ...(await userRecord(tx, row)), ...shown }
    },
  }
}

/** Other credentials of a user. What it gives puts them in the place of every way in, and gives the one answer that shows them. */
export async function redrawUser(
  people: CredentialParts,
  { id, name }: UserRow,
): Promise<(tx: Tx) => Promise<object>> {
  const { password_hash, factor, shown } = await drawCredentials(people, id, name)
  return async (tx) => {
    const user = { ...(await mustFindUser(tx, id)), password_hash }
    const nowMs = people.context.clock.nowMs()
    await endCredentials(tx, id, nowMs)
    await USERS.put(tx, user)
    await factor.store(tx, nowMs)
    return { ...(await userRecord(tx, user)), ...shown }
  }
}

/** Draws password (unless there is one) and second factor of a user. `shown` is to be shown once. */
async function drawCredentials(people: CredentialParts, userId: string, name: string, chosen?: string) {
  const password = chosen ?? drawPassword()
  const password_hash = await people.gate.run({ network: userId, isKnown: true }, () =>
    hashPassword(password, people.gate.cost),
  )
  const factor = drawSecondFactor(people.vault, userId, people.identity.name, name)
  const shown = { ...(chosen === undefined ? { password } : {}), ...factor.shown }
  return { password_hash, factor, shown }
}

/**
 * Ends every way in that a user has, every session, and what lets others in by their word (links, invitations, bootstrap
 * tokens); the user stays, and so do tokens for programs.
 */
async function endCredentials(tx: Tx, userId: string, nowMs: number): Promise<void> {
  await removePasskeysOf(tx, userId)
  await endCertificatesOf(tx, userId, nowMs)
  await endSessionsOf(tx, userId, nowMs)
  await removeInvitationsBy(tx, userId)
  await endTokensOf(tx, userId, nowMs, 'bootstrap')
  await removeSecondFactor(tx, userId)
}

/** Removes a user and all that hangs on it; says how many tokens that were. */
export async function eraseUser(tx: Tx, userId: string, nowMs: number): Promise<number> {
  const user = await USERS.find(tx, { id: userId })
  // Another invitation of the same name would let them in again.
  if (user !== undefined) await endInvitationsOf(tx, { name: user.name }, nowMs)
  const tokens = await endTokensOf(tx, userId, nowMs)
  await endCredentials(tx, userId, nowMs)
  await forgetNetworks(tx, userId)
  await USERS.remove(tx, { id: userId })
  return tokens
}
