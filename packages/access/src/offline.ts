import {
  type Clock,
  type MutationTx,
  type NodeIdentity,
  type Principal,
  type Reader,
  type Reply,
  type Role,
  userNotFound,
  type Vault,
  validationFailed,
} from '@steeple/contracts'
import { createPasswordGate } from './people/password.ts'
import { drawUser, redrawUser } from './people/user-life.ts'
import {
  LEAST_PASSWORD_CHARS,
  MOST_NAME_CHARS,
  MOST_PASSWORD_CHARS,
  USER_NAME_PATTERN,
} from './people/user-record.ts'
import { findUserByName, USERS } from './people/user-store.ts'
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
  const createdBy = createdByText(place.principal)
  const user = await drawUser(partsOf(place), { name, roles, password, createdBy })
  return place.mutate('user.create', user.id, async (tx) => {
    const body = await user.store(tx)
    tx.audit({ detail: { name, roles } })
    return { status: 201, body }
  })
}

/** Gives a person other credentials, as `POST /v1/users/{id}/reset` does. Throws `user_not_found`. */
export async function resetPerson(place: PeoplePlace, name: string): Promise<Reply> {
  const known = await findUserByName(place.reader, name)
  if (known === undefined) throw userNotFound(name)
  const store = await redrawUser(partsOf(place), known)
  return place.mutate('user.reset', known.id, async (tx) => {
    if ((await USERS.find(tx, { id: known.id })) === undefined) throw userNotFound(name)
    const body = await store(tx)
    tx.audit({ detail: { name: known.name } })
    return { body }
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
