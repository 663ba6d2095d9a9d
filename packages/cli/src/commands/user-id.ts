import type { Json, RestClient } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'

/** More people than a box has. */
const MOST_USERS = 10_000

/** The person of that name; capitals make no other one. Throws `user_not_found`. */
export async function userNamed(client: RestClient, name: string): Promise<Json> {
  return await named(client, name, {
    path: '/v1/users',
    key: 'users',
    code: 'user_not_found',
    what: 'user',
    hint: 'svc user list has the names',
  })
}

/** The invitation that is open for that name. Throws `invitation_not_found`. */
export async function invitationFor(client: RestClient, name: string): Promise<Json> {
  const path = '/v1/users/invitations'
  return await named(client, name, {
    path,
    key: 'invitations',
    code: 'invitation_not_found',
    what: 'open invitation for',
    hint: 'who has accepted one is a user: svc user remove',
  })
}

interface Named {
  readonly path: string
  readonly key: string
  readonly code: string
  readonly what: string
  readonly hint: string
}

async function named(
  client: RestClient,
  name: string,
  { path, key, code, what, hint }: Named,
): Promise<Json> {
  const { rows } = await client.list(path, key, MOST_USERS)
  const found = rows.find((row) => String(row.name).toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  throw failure(code, `there is no ${what} ${JSON.stringify(name)}`, { hint })
}

/** The path of the person of that name. Throws `user_not_found`. */
export async function pathOfUser(client: RestClient, name: string): Promise<string> {
  return `/v1/users/${encodeURIComponent(String((await userNamed(client, name)).id))}`
}
