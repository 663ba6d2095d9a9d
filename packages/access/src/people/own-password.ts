import { objectSchema, type Route, route } from '@steeple/contracts'
import { endDerived, endSessionsOf } from '../derived/end-derived.ts'
import { sessionOfCredential } from './jwt.ts'
import { OWN_PROOF, type OwnProofBody, proveOwner } from './own-account.ts'
import { hashPassword } from './password.ts'
import type { People } from './people.ts'
import { drawRecoveryCodes } from './second-factor.ts'
import { countRecoveryCodes } from './second-factor-store.ts'
import { findSession, putSession } from './session-store.ts'
import { NEW_PASSWORD_SCHEMA, RECOVERY_CODES_SCHEMA } from './user-record.ts'
import { putUser } from './user-store.ts'

const PATH = '/v1/auth/recovery-codes'

/** The own recovery codes: how many are left, and others in their place. */
export function ownRecoveryRoutes(people: People): readonly Route[] {
  return [leftRoute(people), drawRoute(people)]
}

function leftRoute({ context }: People): Route {
  return route({
    method: 'GET',
    path: PATH,
    role: 'viewer',
    summary: 'Show how many of your recovery codes are left',
    description: 'The codes themselves were shown once, when they were made.',
    schema: {
      response: objectSchema(
        {
          left: {
            type: ['integer', 'null'],
            minimum: 0,
            description:
              'Of ten: those that were not used yet. null for the credential of a program, which has none.',
          },
        },
        ['left'],
      ),
    },
    handle: async ({ principal: { kind, id } }) => ({
      body: { left: kind === 'user' ? await countRecoveryCodes(context.db, id) : null },
    }),
  })
}

function drawRoute(people: People): Route {
  return route<unknown, unknown, OwnProofBody>({
    method: 'POST',
    path: PATH,
    role: 'viewer',
    summary: 'Replace your recovery codes; the old ones stop working',
    description:
      'Takes password and code as a login does, and counts failures as its. The answer shows the new codes once; authenticator, ' +
      'password and sessions stay.',
    example: { password: 'correct horse battery staple', code: '123456' },
    schema: {
      body: objectSchema(OWN_PROOF, ['password', 'code']),
      response: objectSchema({ recovery_codes: RECOVERY_CODES_SCHEMA }, ['recovery_codes']),
    },
    audit: 'user.recovery_codes',
    errors: ['login_failed', 'rate_limited', 'person_needed'],
    handle: async (request) => {
      const { user, claim } = await proveOwner(people, request)
      const { codes, store } = drawRecoveryCodes(user.id)
      return request.mutate(user.id, async (tx) => {
        await claim(tx)
        await store(tx)
        tx.audit({ detail: { name: user.name } })
        return { body: { recovery_codes: codes }, sealed: true }
      })
    },
  })
}

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
