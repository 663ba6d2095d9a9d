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
import { changeBundle } from '../bundle/change-bundle.ts'
import { isCountryCode } from '../bundle/country-codes.ts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { keepLicense, principalText, type SignedLicenseRow, takenLicense } from '../store.ts'
import type { TxControl } from '../tx/tx-control.ts'
import { changePolicy } from './policy-routes.ts'
import { type SignedLicense, signedLicense } from './signed-license.ts'

const PATH = '/v1/policy/license/signed'
const MOST_CHARACTERS = 65_536
/** Clocks of offices and boxes differ by so much. */
const AHEAD_MS = 86_400_000
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
  const keysNow = (): readonly string[] => sectionOf(context.settings, 'policy').license_keys ?? []
  const take = async (request: Request<unknown, unknown, SignedLicense>) => {
    const { country, node, sha256, signedBy, issuedAtMs, ...license } = signedLicense(request.body, keysNow())
    const own = context.use(nodeIdentityRef).nodeId
    if (node !== own) throw validationFailed(`the licence is for the box ${node}; this one is ${own}`)
    const nowMs = clock.nowMs()
    if (issuedAtMs > nowMs + AHEAD_MS)
      throw validationFailed(
        `the licence is of ${license.issued_at}, which is ahead of the clock of this box; sign it with the time of today`,
      )
    const { reference, holder, expires_at, allow_list } = license
    const patch = { spectrum: { allow_list, license: { acknowledged: true, reference, holder, expires_at } } }
    const author = { by: `licence:${signedBy}`, nowMs }
    // What is refused changes nothing: the country neither.
    refuseOlder(await takenLicense(db), request.body, issuedAtMs, keysNow())
    changeBundle(await policy.refresh(), patch, author)
    await inCountry(context, request, country)
    return await request.mutate('policy', async (tx) => {
      const before = await takenLicense(tx)
      refuseOlder(before, request.body, issuedAtMs, keysNow())
      // A hub that brings it once more says nothing new: what somebody has changed here since stays.
      if (before?.license === request.body.license && request.principal.kind === 'node')
        return ok(shown(before))
      await changePolicy({ policy, control }, tx, {
        before: await policy.read(tx),
        patch,
        author,
        detail: { signed_by: signedBy, sha256, by: principalText(request.principal) },
      })
      const row = { ...request.body, signed_by: signedBy, issued_at_ms: issuedAtMs, taken_at_ms: nowMs }
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
        'where none is set yet, an admin sets it by that. One for another country or box, and one that is not newer than the ' +
        'one before, are refused. Brought by the root of the mesh once more, it changes nothing. Nothing is armed.',
      schema: { body: objectSchema(TEXTS, ['license', 'signature']), response: TAKEN },
      errors: ['validation_failed', 'invalid_transition', 'store_corrupt'],
      audit: 'policy.license_take',
      handle: take,
    }),
  ]
}

/** Throws `invalid_transition` for one that was issued before the one that counts, or with it. */
function refuseOlder(
  before: SignedLicenseRow | undefined,
  { license }: SignedLicense,
  issuedAtMs: number,
  keys: readonly string[],
): void {
  if (before === undefined || before.license === license || !isTrusted(before, keys)) return
  const [at, now] = [before.issued_at_ms, issuedAtMs].map(timestampFromMs)
  if (issuedAtMs < before.issued_at_ms)
    throw invalidTransition(`the licence is of ${now}, older than the one of ${at} that this box has taken`)
  if (issuedAtMs === before.issued_at_ms)
    throw invalidTransition(
      `this box has taken another licence of the same time, ${at}; sign this one with a later issued_at`,
    )
}

/** Whether who has signed it is trusted still: the word of a key that was given up binds nobody. */
function isTrusted(row: SignedLicenseRow, keys: readonly string[]): boolean {
  try {
    signedLicense(row, keys)
    return true
  } catch {
    return false
  }
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

function shown({ license, signature, signed_by, ...at }: Omit<SignedLicenseRow, 'id'>): object {
  const [issued_at, taken_at] = [at.issued_at_ms, at.taken_at_ms].map(timestampFromMs)
  return { license, signature, signed_by, issued_at, taken_at }
}
