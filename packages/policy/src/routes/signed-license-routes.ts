import {
  type Context,
  invalidTransition,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeIdentityRef,
  objectSchema,
  ok,
  ownRoutesRef,
  type Request,
  type Route,
  recordSchema,
  route,
  sectionOf,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { isCountryCode } from '../bundle/country-codes.ts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { keepLicense, principalText, type SignedLicenseRow, takenLicense } from '../store.ts'
import type { TxControl } from '../tx/tx-control.ts'
import { changePolicy } from './policy-routes.ts'
import { type SignedLicense, signedLicense } from './signed-license.ts'

const PATH = '/v1/policy/license/signed'
const MOST_CHARACTERS = 65_536
const TEXTS = {
  license: {
    type: 'string',
    maxLength: MOST_CHARACTERS,
    description: 'JSON: node, country, issued_at, reference, holder, expires_at, allow_list.',
  },
  signature: {
    type: 'string',
    maxLength: 2_000,
    description: 'The text of its signature, Ed25519, as svc policy license sign writes it.',
  },
} as const
const NULLABLE = { type: ['string', 'null'] }
const TAKEN = recordSchema({
  license: { ...TEXTS.license, ...NULLABLE },
  signature: { ...TEXTS.signature, ...NULLABLE },
  signed_by: { ...NULLABLE, description: 'Whose key it was by policy.license_keys.' },
  issued_at: NULLABLE_TIMESTAMP_SCHEMA,
  taken_at: NULLABLE_TIMESTAMP_SCHEMA,
})
const NONE = { license: null, signature: null, signed_by: null, issued_at: null, taken_at: null }

/** What a box may transmit by a licence that somebody has signed whom its operator trusts. */
export function signedLicenseRoutes(
  context: Context,
  policy: CurrentPolicy,
  control: TxControl,
): readonly Route[] {
  const { clock, db } = context
  const take = async (request: Request<unknown, unknown, SignedLicense>) => {
    const { country, node, sha256, signedBy, issuedAtMs, ...license } = signedLicense(
      request.body,
      sectionOf(context.settings, 'policy').license_keys ?? [],
    )
    const own = context.use(nodeIdentityRef).nodeId
    if (node !== own) throw validationFailed(`the licence is for the box ${node}; this one is ${own}`)
    await inCountry(context, request, country)
    return await request.mutate('policy', async (tx) => {
      const before = await takenLicense(tx)
      if (before !== undefined && issuedAtMs < before.issued_at_ms)
        throw invalidTransition(
          `the licence is of ${license.issued_at}, older than the one of ${timestampFromMs(before.issued_at_ms)} that this box has taken`,
        )
      const nowMs = clock.nowMs()
      const { reference, holder, expires_at, allow_list } = license
      await changePolicy({ policy, control }, tx, {
        before: await policy.read(tx),
        patch: { spectrum: { allow_list, license: { acknowledged: true, reference, holder, expires_at } } },
        author: { by: `licence:${signedBy}`, nowMs },
        detail: { signed_by: signedBy, sha256, by: principalText(request.principal) },
      })
      const row = {
        ...request.body,
        ...{ signed_by: signedBy, issued_at_ms: issuedAtMs, taken_at_ms: nowMs },
      }
      await keepLicense(tx, row)
      return ok(shown(row))
    })
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      role: 'viewer',
      summary: 'Show the signed licence that this box has taken',
      description:
        'Its text and signature, so that anybody can check it; null while it has none. The rules may have been changed since.',
      schema: { response: TAKEN },
      errors: ['store_corrupt'],
      handle: async () => {
        const row = await takenLicense(db)
        return ok(row === undefined ? NONE : shown(row))
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      role: 'operator',
      summary: 'Take allow-list and licence from a signed licence for this box',
      description:
        'Of one whose key is in policy.license_keys. It is acknowledged by that, and replaces the allow-list. It names the country too: ' +
        'where none is set yet, an admin sets it by that. One for another country or box, and one older than the one before, are ' +
        'refused. Nothing is armed.',
      schema: { body: objectSchema(TEXTS, ['license', 'signature']), response: TAKEN },
      errors: ['validation_failed', 'invalid_transition', 'store_corrupt'],
      audit: 'policy.license_take',
      handle: take,
    }),
  ]
}

/** The box stands where the licence says. Where nobody has said so yet, the licence does. */
async function inCountry(
  context: Context,
  { principal, signal }: Pick<Request<unknown, unknown, unknown>, 'principal' | 'signal'>,
  country: string,
): Promise<void> {
  const now = context.settings.server.country
  if (now === country) return
  if (isCountryCode(now))
    throw validationFailed(
      `the licence is for ${country}, and this box is set to stand in ${now} (server.country); set the country first if it has moved`,
    )
  const body = { settings: { 'server.country': country } }
  await context.use(ownRoutesRef).ask(principal, { method: 'PUT', path: '/v1/settings', body }, signal)
}

function shown({
  issued_at_ms,
  taken_at_ms,
  license,
  signature,
  signed_by,
}: Omit<SignedLicenseRow, 'id'>): object {
  return {
    ...{ license, signature, signed_by },
    issued_at: timestampFromMs(issued_at_ms),
    taken_at: timestampFromMs(taken_at_ms),
  }
}
