import {
  type Context,
  defineError,
  type ErrorFactory,
  objectSchema,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  type Reader,
  type Role,
  type Route,
  route,
} from '@steeple/contracts'
import { endDerived } from '../derived/end-derived.ts'
import { newestFirst } from '../newest-store.ts'
import { ID_PARAMS, type IdParams, requireGivable } from '../route-parts.ts'
import { createdByText } from '../token-owner.ts'
import type { People } from './people.ts'
import { drawSecondFactor } from './second-factor.ts'
import { sessionsOf } from './session-store.ts'
import { drawUser, eraseUser, redrawUser } from './user-life.ts'
import {
  NEW_FACTOR_SCHEMA,
  NEW_PASSWORD_SCHEMA,
  NEW_USER_SCHEMA,
  USER_NAME_SCHEMA,
  USER_ROLES_SCHEMA,
  USER_SCHEMA,
  userRecord,
} from './user-record.ts'
import { isLastAdmin, mustFindUser, USERS, type UserRow } from './user-store.ts'

/** The last administrator among the users: without one, only the environment's token is left. */
const lastAdmin: ErrorFactory = defineError(
  'last_admin',
  409,
  '%s is the only user with the role admin; give it to another first, or repeat with force=true',
)

interface NewUserBody {
  readonly name: string
  readonly roles: readonly Role[]
  readonly password?: string
}
interface Force {
  readonly force?: boolean
}

const FORCE_QUERY = objectSchema({
  force: { type: 'boolean', description: 'Also when nobody is left then who is an administrator.' },
})

/** The routes under `/v1/users`, but for invitations. */
export function userRoutes(people: People): readonly Route[] {
  return [
    listRoute(people.context),
    addRoute(people),
    removeRoute(people),
    rolesRoute(people),
    resetRoute(people),
    totpRoute(people),
  ]
}

function listRoute({ db }: Context): Route {
  return route({
    method: 'GET',
    path: '/v1/users',
    role: 'admin',
    summary: 'List the people who may log in, newest first',
    description: 'Names, roles, second factors and last log-in.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('users', USER_SCHEMA) },
    paged: true,
    handle: async (request) => ({ body: await userPage(db, request.page()) }),
  })
}

async function userPage(reader: Reader, page: Page): Promise<object> {
  const rows = await newestFirst(USERS, reader, page)
  const record = (row: UserRow): Promise<object> => userRecord(reader, row)
  return pageFrom(page, 'users', rows, record, (row) => [row.created_at_ms, row.id])
}

function addRoute(people: People): Route {
  return route<unknown, unknown, NewUserBody>({
    method: 'POST',
    path: '/v1/users',
    role: 'admin',
    summary: 'Add a person who may log in',
    description:
      'The answer shows the URI for the authenticator, ten recovery codes, and the password unless one was given; nothing of it is shown again.',
    example: { name: 'ada', roles: ['operator'] },
    schema: {
      body: objectSchema(
        { name: USER_NAME_SCHEMA, roles: USER_ROLES_SCHEMA, password: NEW_PASSWORD_SCHEMA },
        ['name', 'roles'],
      ),
      response: NEW_USER_SCHEMA,
      status: 201,
    },
    audit: 'user.create',
    errors: ['user_exists', 'rate_limited'],
    handle: async (request) => {
      const { name, roles, password } = request.body
      requireGivable(roles, request.principal)
      const createdBy = createdByText(request.principal)
      const user = await drawUser(people, { name, roles, password, createdBy })
      return request.mutate(user.id, async (tx) => {
        const body = await user.store(tx)
        tx.audit({ detail: { name, roles } })
        return { status: 201, body, sealed: true }
      })
    },
  })
}

function removeRoute({ context, forget }: People): Route {
  return route<IdParams, Force, unknown>({
    method: 'DELETE',
    path: '/v1/users/:id',
    role: 'admin',
    summary: 'Remove a person; all sessions, credentials and tokens stop working at once',
    description: 'The audit trail keeps the name. The last admin can be removed only with force=true.',
    schema: { params: ID_PARAMS, query: FORCE_QUERY, status: 204 },
    audit: 'user.remove',
    errors: ['user_not_found', 'last_admin'],
    handle: (request) =>
      request.mutate(request.params.id, async (tx) => {
        const user = await mustFindUser(tx, request.params.id)
        if (request.query.force !== true && (await isLastAdmin(tx, user))) throw lastAdmin(user.name)
        const tokens = await eraseUser(tx, user.id, context.clock.nowMs())
        tx.audit({ detail: { name: user.name, tokens } })
        tx.afterCommit(forget)
        return { status: 204 }
      }),
  })
}

function rolesRoute({ forget }: People): Route {
  return route<IdParams, Force, { readonly roles: readonly Role[] }>({
    method: 'POST',
    path: '/v1/users/:id/roles',
    role: 'admin',
    summary: 'Set the roles of a person; a removed role ends at once, for tokens also',
    description: 'Replaces all roles. Nobody gives roles that they lack.',
    example: { roles: ['viewer'] },
    schema: {
      params: ID_PARAMS,
      query: FORCE_QUERY,
      body: objectSchema({ roles: USER_ROLES_SCHEMA }, ['roles']),
      response: USER_SCHEMA,
    },
    audit: 'user.roles',
    errors: ['user_not_found', 'last_admin'],
    handle: (request) => {
      const { roles } = request.body
      requireGivable(roles, request.principal)
      return request.mutate(request.params.id, async (tx) => {
        const user = await mustFindUser(tx, request.params.id)
        const endsAdmin = !roles.includes('admin') && (await isLastAdmin(tx, user))
        if (request.query.force !== true && endsAdmin) throw lastAdmin(user.name)
        const changed: UserRow = { ...user, roles: JSON.stringify(roles) }
        await USERS.put(tx, changed)
        tx.audit({ detail: { name: user.name, roles, before: JSON.parse(user.roles) } })
        tx.afterCommit(forget)
        return { body: await userRecord(tx, changed) }
      })
    },
  })
}

function resetRoute(people: People): Route {
  return route<IdParams, unknown, unknown>({
    method: 'POST',
    path: '/v1/users/:id/reset',
    role: 'admin',
    summary: 'Replace password, authenticator and recovery codes of a person, and end every other access',
    description:
      'Sessions, passkeys, certificates, links, invitations and unused bootstrap tokens end, with all that they have opened; tokens stay (GET /v1/tokens has their user_id). The answer shows the new credentials once.',
    schema: { params: ID_PARAMS, body: objectSchema({}), response: NEW_USER_SCHEMA },
    audit: 'user.reset',
    errors: ['user_not_found', 'rate_limited'],
    handle: async (request) => {
      const { id } = request.params
      const user = await mustFindUser(people.context.db, id)
      const store = await redrawUser(people, user)
      return request.mutate(id, async (tx) => {
        const body = await store(tx)
        tx.audit({ detail: { name: user.name } })
        tx.afterCommit(people.forget)
        return { body, sealed: true }
      })
    },
  })
}

function totpRoute(people: People): Route {
  return route<IdParams, unknown, unknown>({
    method: 'POST',
    path: '/v1/users/:id/totp',
    role: 'admin',
    summary: 'Replace authenticator and recovery codes of a person',
    description:
      'The old ones stop working. The answer shows the new ones once. Sessions continue, except those that links have ' +
      'opened; links end.',
    schema: { params: ID_PARAMS, body: objectSchema({}), response: NEW_FACTOR_SCHEMA },
    audit: 'user.totp',
    errors: ['user_not_found'],
    handle: (request) => {
      const { id } = request.params
      return request.mutate(id, async (tx) => {
        const { name } = await mustFindUser(tx, id)
        const factor = drawSecondFactor(people.vault, id, people.identity.name, name)
        const nowMs = people.context.clock.nowMs()
        await factor.store(tx, nowMs)
        for (const session of await sessionsOf(tx, id)) await endDerived(tx, `session:${session.id}`, nowMs)
        tx.audit({ detail: { name } })
        tx.afterCommit(people.forget)
        return { body: { id, ...factor.shown }, sealed: true }
      })
    },
  })
}
