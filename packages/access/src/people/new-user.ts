import { randomUUID } from 'node:crypto'
import { type Context, defineError, type ErrorFactory, type Role, type Tx } from '@steeple/contracts'
import { drawPassword, hashPassword } from './password.ts'
import type { People } from './people.ts'
import { drawSecondFactor, type NewFactor } from './second-factor.ts'
import { findUserByName, insertUser, nameKey, type UserRow } from './user-store.ts'

export const userExists: ErrorFactory = defineError(
  'user_exists',
  409,
  'there is a user %s already; take another name',
)

export interface UserWish {
  readonly name: string
  readonly roles: readonly Role[]
  /** One is drawn when it is absent. */
  readonly password?: string | undefined
  /** JSON of the principal that makes it. */
  readonly createdBy: string
}

/** A user who is drawn and not stored yet. */
export interface NewUser {
  readonly row: UserRow
  readonly factor: NewFactor
  /** What is to be shown once: the password if it was drawn here, the authenticator's URI, the recovery codes. */
  readonly shown: CredentialsShown
}

/** The credentials of a user, shown once. */
export interface CredentialsShown {
  /** Undefined when its user has chosen it. */
  readonly password?: string
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
}

export type CredentialParts = Pick<People, 'vault' | 'gate' | 'identity'> & {
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
  return { row, factor, shown }
}

/** Draws password (unless there is one) and second factor of a user. */
export async function drawCredentials(
  people: CredentialParts,
  userId: string,
  name: string,
  chosen?: string,
): Promise<{ readonly password_hash: string; readonly factor: NewFactor; readonly shown: CredentialsShown }> {
  const password = chosen ?? drawPassword()
  const password_hash = await people.gate.run({ network: userId, isKnown: true }, () =>
    hashPassword(password, people.gate.cost),
  )
  const factor = drawSecondFactor(people.vault, userId, people.identity.name, name)
  const shown = { ...(chosen === undefined ? { password } : {}), ...factor.shown }
  return { password_hash, factor, shown }
}

/** Stores a user. Throws `user_exists`. */
export async function storeUser(tx: Tx, { row, factor }: NewUser): Promise<void> {
  if ((await findUserByName(tx, row.name)) !== undefined) throw userExists(row.name)
  await insertUser(tx, row)
  await factor.store(tx, row.created_at_ms)
}
