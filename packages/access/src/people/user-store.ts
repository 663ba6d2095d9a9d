import {
  defineTable,
  expandRoles,
  type Principal,
  type Reader,
  type Role,
  type Table,
  userNotFound,
} from '@steeple/contracts'

/** A person as stored. Times are ms since the epoch. */
export interface UserRow {
  readonly id: string
  /** As it was written when the user was made. */
  readonly name: string
  /** `nameKey` of it; unique. */
  readonly name_key: string
  /** JSON list of roles. */
  readonly roles: string
  /** As `hashPassword` makes it. */
  readonly password_hash: string
  readonly created_at_ms: number
  /** JSON of the principal that made it: `{kind, id, name}`. */
  readonly created_by: string
  readonly last_login_at_ms: number | null
}

export const USERS: Table<UserRow> = defineTable(
  'access_user',
  ['id', 'name', 'name_key', 'roles', 'password_hash', 'created_at_ms', 'created_by', 'last_login_at_ms'],
  ['id'],
)

/** More people than one box ever has; a bound for the search of the last administrator. */
const MOST_USERS = 10_000

/** What two spellings of one name have in common. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}

/** The user of that name, in whatever case; checked. */
export async function findUserByName(reader: Reader, name: string): Promise<UserRow | undefined> {
  const rows = await USERS.select(reader, 'where name_key = :name_key', { name_key: nameKey(name) })
  return rows[0]
}

/** Throws `user_not_found`. */
export async function mustFindUser(reader: Reader, id: string): Promise<UserRow> {
  const user = await USERS.find(reader, { id })
  if (user === undefined) throw userNotFound(id)
  return user
}

/** Whether nobody but that user is an administrator. */
export async function isLastAdmin(reader: Reader, user: UserRow): Promise<boolean> {
  if (!rolesOfUser(user).includes('admin')) return false
  const all = await USERS.select(reader, 'limit :limit', { limit: MOST_USERS })
  return !all.some((other) => other.id !== user.id && rolesOfUser(other).includes('admin'))
}

/** The roles of a user as given, not expanded. */
export function rolesOfUser(row: UserRow): readonly Role[] {
  // The column is written by this package alone and its row is checksummed.
  return JSON.parse(row.roles) as readonly Role[]
}

/** Who a user is for the audit trail and for authorisation. */
export function principalOf(row: UserRow): Principal {
  return { kind: 'user', id: row.id, name: row.name, roles: expandRoles(rolesOfUser(row)) }
}
