import type {
  Clock,
  MutationTx,
  NodeIdentity,
  Principal,
  Reader,
  Reply,
  Role,
  Vault,
} from '@steeple/contracts'
import { userNotFound, validationFailed } from '@steeple/contracts'
import { endCredentials } from './people/erase-user.ts'
import { drawCredentials, drawUser, storeUser } from './people/new-user.ts'
import { createPasswordGate } from './people/password-gate.ts'
import {
  LEAST_PASSWORD_CHARS,
  MOST_NAME_CHARS,
  MOST_PASSWORD_CHARS,
  newUserRecord,
  USER_NAME_PATTERN,
} from './people/user-record.ts'
import { findUser, findUserByName, putUser } from './people/user-store.ts'
import { createdByText, TOKEN_ROLES } from './token-owner.ts'

/** Where people are kept: the store of a node, without a running service. */
export interface PeoplePlace {
  readonly reader: Reader
  readonly vault: Vault
  readonly clock: Clock
  readonly identity: NodeIdentity
  /** Under whom the change stands in the audit trail. */
  readonly principal: Principal
  /** The mutation path: one transaction with its audit entry. */
  mutate(action: string, target: string, work: (tx: MutationTx) => Promise<Reply>): Promise<Reply>
}

export interface PersonWish {
  readonly name: string
  readonly roles: readonly string[]
  readonly password?: string | undefined
}

/**
 * Adds a person to the store of a node whose service does not run: the first one, or another administrator where every
 * other way in is lost. The answer is that of `POST /v1/users`. Throws `user_exists`, `validation_failed`.
 */
export async function addPerson(place: PeoplePlace, wish: PersonWish): Promise<Reply> {
  const { name, password } = wish
  const roles = givable(wish)
  const user = await drawUser(partsOf(place), {
    name,
    roles,
    password,
    createdBy: createdByText(place.principal),
  })
  return place.mutate('user.create', user.row.id, async (tx) => {
    await storeUser(tx, user)
    tx.audit({ detail: { name, roles } })
    return { status: 201, body: await newUserRecord(tx, user.row, user.shown) }
  })
}

/** Gives a person other credentials, as `POST /v1/users/{id}/reset` does. Throws `user_not_found`. */
export async function resetPerson(place: PeoplePlace, name: string): Promise<Reply> {
  const known = await findUserByName(place.reader, name)
  if (known === undefined) throw userNotFound(name)
  const { password_hash, factor, shown } = await drawCredentials(partsOf(place), known.id, known.name)
  return place.mutate('user.reset', known.id, async (tx) => {
    const user = await findUser(tx, known.id)
    if (user === undefined) throw userNotFound(name)
    const nowMs = place.clock.nowMs()
    await endCredentials(tx, user.id, nowMs)
    await putUser(tx, { ...user, password_hash })
    await factor.store(tx, nowMs)
    tx.audit({ detail: { name: user.name } })
    return { body: await newUserRecord(tx, user, shown) }
  })
}

function partsOf({ vault, clock, identity }: PeoplePlace): Parameters<typeof drawUser>[0] {
  return { vault, identity, context: { clock }, gate: createPasswordGate() }
}

/** The roles, once the wish is as the schema of the route has it, where there is no route. Throws `validation_failed`. */
function givable({ name, roles, password }: PersonWish): readonly Role[] {
  if (name.length > MOST_NAME_CHARS || !new RegExp(USER_NAME_PATTERN).test(name))
    throw validationFailed(`a name is 1 to ${MOST_NAME_CHARS} letters, digits and . _ @ -`)
  const known = TOKEN_ROLES.filter((role) => roles.includes(role))
  if (known.length !== roles.length || known.length === 0)
    throw validationFailed(`a role is one of ${TOKEN_ROLES.join(', ')}, each once`)
  const length = password?.length ?? LEAST_PASSWORD_CHARS
  if (length < LEAST_PASSWORD_CHARS || length > MOST_PASSWORD_CHARS)
    throw validationFailed(`a password has ${LEAST_PASSWORD_CHARS} to ${MOST_PASSWORD_CHARS} characters`)
  return known
}
