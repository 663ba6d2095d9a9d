import { objectSchema, type Route, route } from '@steeple/contracts'
import { endDerived, endSessionsOf } from '../derived/end-derived.ts'
import { sessionOfCredential } from './jwt.ts'
import { OWN_PROOF, type OwnProofBody, proveOwner } from './own-account.ts'
import { hashPassword } from './password.ts'
import type { People } from './people.ts'
import { findSession, putSession } from './session-store.ts'
import { NEW_PASSWORD_SCHEMA } from './user-record.ts'
import { putUser } from './user-store.ts'

type Body = OwnProofBody & { readonly new_password: string }

/** Changing the own password: as a login, it takes password and code, and counts its failures. */
export function ownPasswordRoute(people: People): Route {
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/auth/password',
    role: 'viewer',
    summary: 'Change your own password; your other sessions end',
    description:
      'Takes the current password and a second factor. Other sessions, and what was derived from them, end with the answer.',
    example: { password: 'the one before', code: '123456', new_password: 'correct horse battery staple' },
    schema: {
      body: objectSchema({ ...OWN_PROOF, new_password: NEW_PASSWORD_SCHEMA }, [
        'password',
        'code',
        'new_password',
      ]),
      status: 204,
    },
    audit: 'user.password',
    errors: ['login_failed', 'rate_limited', 'person_needed'],
    handle: async (request) => {
      const { user, network, claim } = await proveOwner(people, request)
      const password_hash = await people.gate.run({ network, isKnown: true }, () =>
        hashPassword(request.body.new_password, people.gate.cost),
      )
      const current = sessionOfCredential(request.header('authorization'))
      return request.mutate(user.id, async (tx) => {
        await putUser(tx, { ...(await claim(tx)), password_hash })
        const nowMs = people.context.clock.nowMs()
        const own = current === undefined ? undefined : await findSession(tx, current)
        // Whoever has just proven to be the owner stays, also where a link of another session has let them in.
        if (own !== undefined) await putSession(tx, { ...own, parent: null })
        await endSessionsOf(tx, user.id, nowMs, own?.id)
        if (own !== undefined) await endDerived(tx, `session:${own.id}`, nowMs)
        tx.audit({ detail: { name: user.name } })
        tx.afterCommit(people.forget)
        return { status: 204 }
      })
    },
  })
}
