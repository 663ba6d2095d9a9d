import { objectSchema, type Route, route, type Tx, userNotFound } from '@steeple/contracts'
import type { People } from '../people/people.ts'
import { findUser } from '../people/user-store.ts'
import { UUID_PATTERN } from '../people/uuid.ts'
import { passkeyNotFound } from './passkey-errors.ts'
import { PASSKEY_ID, PASSKEYS_SCHEMA, passkeyRecord } from './passkey-record.ts'
import { findPasskey, passkeysOf, removePasskey } from './passkey-store.ts'

interface PasskeyParams {
  readonly id: string
}
interface UserPasskeyParams extends PasskeyParams {
  readonly passkey: string
}

const USER_ID = { type: 'string', pattern: UUID_PATTERN }

/** Listing and removing passkeys: one's own, and as an administrator those of others. */
export function passkeyListRoutes(people: People): readonly Route[] {
  const { db } = people.context
  const listOf = async (userId: string) => ({
    body: { passkeys: (await passkeysOf(db, userId)).map(passkeyRecord), next_cursor: null },
  })
  return [
    route({
      method: 'GET',
      path: '/v1/auth/passkeys',
      role: 'viewer',
      summary: "List one's own passkeys, oldest first",
      description: 'Names and times only. Public keys are not shown.',
      schema: { response: PASSKEYS_SCHEMA },
      handle: ({ principal }) => listOf(principal.kind === 'user' ? principal.id : ''),
    }),
    route<PasskeyParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/auth/passkeys/:id',
      role: 'viewer',
      summary: "Remove a passkey of one's own; it opens nothing from then on",
      description: 'Your other ways in stay.',
      schema: { params: objectSchema({ id: PASSKEY_ID }, ['id']), status: 204 },
      audit: 'passkey.remove',
      errors: ['passkey_not_found'],
      handle: (request) =>
        request.mutate(request.principal.id, async (tx) => {
          const { kind, id } = request.principal
          tx.audit({ detail: await removeOf(tx, kind === 'user' ? id : '', request.params.id) })
          return { status: 204 }
        }),
    }),
    route<PasskeyParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/users/:id/passkeys',
      role: 'admin',
      summary: 'List the passkeys of a user, oldest first',
      description: 'Names and times only. Public keys are not shown.',
      schema: { params: objectSchema({ id: USER_ID }, ['id']), response: PASSKEYS_SCHEMA },
      errors: ['user_not_found'],
      handle: async ({ params }) => {
        if ((await findUser(db, params.id)) === undefined) throw userNotFound(params.id)
        return listOf(params.id)
      },
    }),
    route<UserPasskeyParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/users/:id/passkeys/:passkey',
      role: 'admin',
      summary: 'Remove a passkey of a user; it opens nothing from then on',
      description: "For a passkey that is lost. The person's other ways in stay.",
      schema: { params: objectSchema({ id: USER_ID, passkey: PASSKEY_ID }, ['id', 'passkey']), status: 204 },
      audit: 'passkey.remove',
      errors: ['passkey_not_found'],
      handle: (request) =>
        request.mutate(request.params.id, async (tx) => {
          tx.audit({ detail: await removeOf(tx, request.params.id, request.params.passkey) })
          return { status: 204 }
        }),
    }),
  ]
}

async function removeOf(tx: Tx, userId: string, id: string): Promise<Readonly<Record<string, unknown>>> {
  const row = await findPasskey(tx, id)
  if (row?.user_id !== userId) throw passkeyNotFound(id)
  await removePasskey(tx, id)
  return { passkey: id, label: row.label, host_name: row.rp_id }
}
