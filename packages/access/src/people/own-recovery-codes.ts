import { objectSchema, type Route, route } from '@steeple/contracts'
import { OWN_PROOF, type OwnProofBody, proveOwner } from './own-account.ts'
import type { People } from './people.ts'
import { drawRecoveryCodes } from './second-factor.ts'
import { countRecoveryCodes } from './second-factor-store.ts'
import { RECOVERY_CODES_SCHEMA } from './user-record.ts'

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
