import type { Reader } from '@steeple/contracts'
import { findUser, rolesOfUser } from '../people/user-store.ts'
import type { Holder } from './operator-certificates.ts'

/** The user with that id as a certificate stands for it; undefined when there is none. */
export async function findHolder(reader: Reader, userId: string): Promise<Holder | undefined> {
  const user = await findUser(reader, userId)
  return user === undefined ? undefined : { id: user.id, name: user.name, roles: rolesOfUser(user) }
}
