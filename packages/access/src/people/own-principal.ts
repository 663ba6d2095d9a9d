import { objectSchema, type Route, route, timestampOrNull } from '@steeple/contracts'

const SCHEMA = objectSchema(
  {
    kind: { type: 'string', description: 'user, token, admin-env or cli; more may come.' },
    name: { type: 'string' },
    roles: { type: 'array', items: { type: 'string' }, description: 'With all that they include.' },
    expires_at: { type: ['string', 'null'], description: 'When the credential ends; null when it does not.' },
  },
  ['kind', 'name', 'roles', 'expires_at'],
)

/** `GET /v1/auth/me`: as whom a credential speaks. */
export function ownPrincipalRoute(): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/me',
    role: 'viewer',
    summary: 'Say as whom the credential of this request speaks, and what it may do',
    description: 'Kind, name and roles of the credential, with everything that these roles include.',
    schema: { response: SCHEMA },
    handle: async ({ principal: { kind, name, roles, expiresAtMs } }) => ({
      body: { kind, name, roles: [...roles].sort(), expires_at: timestampOrNull(expiresAtMs ?? null) },
    }),
  })
}
