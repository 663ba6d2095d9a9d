import {
  type JsonSchema,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import { endSession } from '../derived/end-derived.ts'
import { requireSameOrigin } from '../route-parts.ts'
import { type LoginBody, login } from './login.ts'
import type { People } from './people.ts'
import { refreshTokenOf } from './sessions.ts'
import { principalOf, USERS } from './user-store.ts'

/** What every login and refresh answers. */
export const LOGGED_IN_SCHEMA: JsonSchema = recordSchema({
  token: { type: 'string', description: 'A JWT for Authorization: Bearer. Good for 15 minutes.' },
  token_type: { type: 'string', description: 'Bearer.' },
  expires_at: { ...TIMESTAMP_SCHEMA, description: 'When the token ends; refresh it before.' },
  roles: { type: 'array', items: { type: 'string' } },
})

const LOGIN_BODY = recordSchema({
  username: { type: 'string', minLength: 1, maxLength: 128, pattern: PLAIN_TEXT_PATTERN },
  password: { type: 'string', minLength: 1, maxLength: 256 },
  code: {
    type: 'string',
    minLength: 6,
    maxLength: 32,
    description: 'The six digits that the authenticator shows, or a recovery code. Each is taken once.',
  },
})

/** Logging in and out, and going on. */
export function authRoutes(people: People): readonly Route[] {
  return [loginRoute(people), refreshRoute(people), logoutRoute(people)]
}

function loginRoute(people: People): Route {
  return route<unknown, unknown, LoginBody>({
    method: 'POST',
    path: '/v1/auth/login',
    role: 'public',
    summary: 'Log in with a password and a code',
    description:
      'Sets the cookie for POST /v1/auth/refresh, which no script can read. Every failure answers the same. Five within 15 minutes ' +
      'lock the name (but not where its user has logged in from before) and the address; the answer is 429 then.',
    example: { username: 'ada', password: 'correct horse battery staple', code: '123456' },
    schema: { body: LOGIN_BODY, response: LOGGED_IN_SCHEMA },
    audit: 'auth.login',
    errors: ['login_failed', 'rate_limited', 'forbidden'],
    handle: (request) => {
      requireSameOrigin(request)
      return login(people, request)
    },
  })
}

function refreshRoute({ sessions }: People): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/refresh',
    role: 'public',
    summary: 'Exchange the refresh cookie for a new JWT and a new cookie',
    description:
      'Each cookie works once. A used cookie that comes again was copied, and ends the session. Two windows of one ' +
      'browser must take turns.',
    schema: { body: objectSchema({}), response: LOGGED_IN_SCHEMA },
    audit: { none: 'a session that goes on; the end of one is audited' },
    errors: ['unauthenticated', 'forbidden'],
    handle: async (request) => {
      requireSameOrigin(request)
      return sessions.refresh(request, refreshTokenOf(request))
    },
  })
}

function logoutRoute({ context, sessions, forget }: People): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/logout',
    role: 'public',
    summary: 'End the session of the refresh cookie; its JWT stops working at once',
    description: 'Takes the refresh cookie away. A request without one is answered the same.',
    schema: { body: objectSchema({}), status: 204 },
    audit: 'auth.logout',
    errors: ['forbidden'],
    handle: async (request) => {
      requireSameOrigin(request)
      const farewell = { status: 204, headers: { 'Set-Cookie': sessions.farewell } }
      const session = await sessions.of(refreshTokenOf(request))
      const user = session === undefined ? undefined : await USERS.find(context.db, { id: session.user_id })
      if (session === undefined || user === undefined) return farewell
      return request.mutate(session.id, async (tx) => {
        await endSession(tx, session.id, context.clock.nowMs())
        tx.audit({ principal: principalOf(user), detail: { user: user.name } })
        tx.afterCommit(forget)
        return farewell
      })
    },
  })
}
