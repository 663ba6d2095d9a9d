import type { Json, RestClient } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'

/** More people than a box has. */
const MOST_USERS = 10_000

/** The person of that name; capitals make no other one. Throws `user_not_found`. */
export async function userNamed(client: RestClient, name: string): Promise<Json> {
  const { rows } = await client.list('/v1/users', 'users', MOST_USERS)
  const found = rows.find((row) => String(row.name).toLowerCase() === name.toLowerCase())
  if (found === undefined)
    throw failure('user_not_found', `there is no user ${JSON.stringify(name)}`, {
      hint: 'svc user list has the names',
    })
  return found
}

/** The path of the person of that name. Throws `user_not_found`. */
export async function pathOfUser(client: RestClient, name: string): Promise<string> {
  return `/v1/users/${encodeURIComponent(String((await userNamed(client, name)).id))}`
}
