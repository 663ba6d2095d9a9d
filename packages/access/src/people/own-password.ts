import {
  defineError,
  type ErrorFactory,
  loginFailed,
  objectSchema,
  type Route,
  route,
} from '@steeple/contracts'
import { sessionOfCredential } from './jwt.ts'
import { judgeCredentials, type LoginBody, refuseLogin } from './login.ts'
import { networkOf } from './network-of.ts'
import { hashPassword } from './password.ts'
import type { People } from './people.ts'
import { removeSessionsOf } from './session-store.ts'
import { NEW_PASSWORD_SCHEMA } from './user-record.ts'
import { findUser, putUser } from './user-store.ts'

type Body = Pick<LoginBody, 'password' | 'code'> & { readonly new_password: string }

/** A credential that is not that of a person. */
const personNeeded: ErrorFactory = defineError(
  'person_needed',
  409,
  'only people who have logged in have a password; log in first',
)

/** Changing the own password: as a login, it takes password and code, and counts its failures. */
export function ownPasswordRoute(people: People): Route {
  const { context, lockout } = people
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/auth/password',
    role: 'viewer',
    summary: 'Change your own password; every other session of yours ends',
    example: { password: 'the one before', code: '123456', new_password: 'correct horse battery staple' },
    schema: {
      body: objectSchema(
        {
          password: { type: 'string', minLength: 1, maxLength: 256 },
          code: { type: 'string', minLength: 6, maxLength: 32 },
          new_password: NEW_PASSWORD_SCHEMA,
        },
        ['password', 'code', 'new_password'],
      ),
      status: 204,
    },
    audit: 'user.password',
    errors: ['login_failed', 'rate_limited', 'person_needed'],
    handle: async (request) => {
      const { principal, body } = request
      const user = principal.kind === 'user' ? await findUser(context.db, principal.id) : undefined
      if (user === undefined) throw personNeeded()
      const attempt = { name: user.name, network: networkOf(request.peerAddress), userId: user.id }
      const { proof, locks } = await judgeCredentials(people, user, attempt, body.password, body.code)
      if (proof === undefined) return refuseLogin(people, request, attempt, locks)
      const password_hash = await people.gate.run({ network: attempt.network, isKnown: true }, () =>
        hashPassword(body.new_password),
      )
      const current = sessionOfCredential(request.header('authorization'))
      return request.mutate(user.id, async (tx) => {
        const nowMs = context.clock.nowMs()
        const now = await findUser(tx, user.id)
        const isSame = now?.password_hash === user.password_hash
        if (now === undefined || !isSame || !(await proof.claim(tx, nowMs))) throw loginFailed()
        await lockout.succeeded(tx, attempt, nowMs)
        await putUser(tx, { ...now, password_hash })
        await removeSessionsOf(tx, user.id, current)
        tx.audit({ detail: { name: user.name } })
        tx.afterCommit(people.forget)
        return { status: 204 }
      })
    },
  })
}
