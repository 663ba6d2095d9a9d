import {
  defineTable,
  expandRoles,
  type Principal,
  type Reader,
  type Role,
  type Table,
  type TableSpec,
  type Tx,
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

/** Position in the list of users: newest first. */
export interface UserPosition {
  readonly createdAtMs: number
  readonly id: string
}

const USERS: Table<UserRow> = defineTable(
  'access_user',
  ['id', 'name', 'name_key', 'roles', 'password_hash', 'created_at_ms', 'created_by', 'last_login_at_ms'],
  ['id'],
)

/** The table of users, for the integrity scan. */
export const USER_TABLES: readonly TableSpec[] = [USERS]

const NEWEST_FIRST = 'order by created_at_ms desc, id desc limit :limit'
const AFTER = 'where (created_at_ms, id) < (:created_at_ms, :after_id)'
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

/** The user with that id, checked. */
export function findUser(reader: Reader, id: string): Promise<UserRow | undefined> {
  return USERS.find(reader, { id })
}

export function insertUser(tx: Tx, row: UserRow): Promise<void> {
  return USERS.insert(tx, row)
}

export function putUser(tx: Tx, row: UserRow): Promise<void> {
  return USERS.put(tx, row)
}

/** Removes a user and nothing else: see `eraseUser`. */
export function removeUserRow(tx: Tx, id: string): Promise<boolean> {
  return USERS.remove(tx, { id })
}

/** At most `limit` users after `after`, newest first. */
export function listUsers(
  reader: Reader,
  limit: number,
  after: UserPosition | undefined,
): Promise<readonly UserRow[]> {
  if (after === undefined) return USERS.select(reader, NEWEST_FIRST, { limit })
  return USERS.select(reader, `${AFTER} ${NEWEST_FIRST}`, {
    limit,
    created_at_ms: after.createdAtMs,
    after_id: after.id,
  })
}

/** Whether nobody but that user is an administrator. */
export async function isLastAdmin(reader: Reader, user: UserRow): Promise<boolean> {
  if (!rolesOfUser(user).includes('admin')) return false
  const all = await listUsers(reader, MOST_USERS, undefined)
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
