import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import {
  capacityExceeded,
  fieldRefused,
  type JsonSchema,
  loginFailed,
  NULLABLE_TIMESTAMP_SCHEMA,
  networkOf,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type Principal,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  systemPrincipal,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { LOGGED_IN_SCHEMA } from '../people/auth-routes.ts'
import type { Attempt } from '../people/lockout.ts'
import { refuseLogin } from '../people/login.ts'
import type { People } from '../people/people.ts'
import { mustFindUser, USERS } from '../people/user-store.ts'
import { ID_PARAMS, ID_SCHEMA, type IdParams, requireSameOrigin } from '../route-parts.ts'
import {
  type Assertion,
  challengeIn,
  creationOptions,
  judgeAssertion,
  madePasskey,
  requestOptions,
} from './ceremonies.ts'
import { type Challenges, challengeSha256, createChallenges } from './challenge.ts'
import { disablePasskey, PASSKEYS, type PasskeyRow, passkeysOf, useChallenge } from './passkey-store.ts'
import { passkeyNotFound, passkeyUnavailable, type RelyingParty, relyingPartyOf } from './relying-party.ts'

/** base64url of at most so many characters. */
const octets = (maxLength: number): JsonSchema => ({
  type: 'string',
  pattern: '^[A-Za-z0-9_-]+$',
  maxLength,
})
/** W3C WebAuthn Level 3 §4: an id has at most 1,023 octets. */
const PASSKEY_ID: JsonSchema = octets(1_364)
const CLIENT_DATA = octets(8_192)
/** Browsers add what they like around what is looked at: extensions, copies of the key, how the device is attached. */
const around = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema => ({
  type: 'object',
  properties,
  required: [...required],
  maxProperties: 32,
})
const responseSchema = (inner: JsonSchema): JsonSchema =>
  around({ id: PASSKEY_ID, rawId: PASSKEY_ID, type: { const: 'public-key' }, response: inner }, [
    'id',
    'rawId',
    'type',
    'response',
  ])

/** The body of `POST /v1/auth/passkey/register/verify`. */
const MADE_BODY: JsonSchema = objectSchema(
  {
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: PLAIN_TEXT_PATTERN,
      description: 'What to know the passkey by in the list.',
    },
    response: {
      ...responseSchema(
        around(
          {
            clientDataJSON: CLIENT_DATA,
            attestationObject: octets(16_384),
            transports: { type: 'array', maxItems: 16, items: { type: 'string', maxLength: 32 } },
          },
          ['clientDataJSON', 'attestationObject'],
        ),
      ),
      description: 'What the credential of navigator.credentials.create gives with toJSON().',
    },
  },
  ['response'],
)

/** The body of `POST /v1/auth/passkey/verify`. */
const SIGNED_BODY: JsonSchema = objectSchema(
  {
    response: {
      ...responseSchema(
        around(
          {
            clientDataJSON: CLIENT_DATA,
            authenticatorData: octets(8_192),
            signature: octets(2_048),
            userHandle: { type: ['string', 'null'], maxLength: 128 },
          },
          ['clientDataJSON', 'authenticatorData', 'signature'],
        ),
      ),
      description: 'What the credential of navigator.credentials.get gives with toJSON().',
    },
  },
  ['response'],
)

const OPTIONS_SCHEMA: JsonSchema = recordSchema({
  options: {
    type: 'object',
    additionalProperties: true,
    description:
      'As PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON takes them; good for five minutes, once.',
  },
})

const PASSKEY_SCHEMA: JsonSchema = recordSchema({
  id: { type: 'string' },
  label: { type: 'string' },
  host_name: { type: 'string', description: 'The name of this box for which it works.' },
  created_at: TIMESTAMP_SCHEMA,
  last_used_at: NULLABLE_TIMESTAMP_SCHEMA,
  disabled_at: {
    ...NULLABLE_TIMESTAMP_SCHEMA,
    description:
      'When it was disabled, because its signature counter showed a copy. It does not work since then.',
  },
})

/** A list of passkeys; short, so it has no pages. */
const PASSKEYS_SCHEMA: JsonSchema = recordSchema({
  passkeys: { type: 'array', items: PASSKEY_SCHEMA },
  next_cursor: { type: 'null' },
})

function passkeyRecord(row: PasskeyRow): object {
  return {
    id: row.id,
    label: row.label,
    host_name: row.rp_id,
    created_at: timestampFromMs(row.created_at_ms),
    last_used_at: timestampOrNull(row.last_used_at_ms),
    disabled_at: timestampOrNull(row.disabled_at_ms),
  }
}

interface UserPasskeyParams extends IdParams {
  readonly passkey: string
}

/** Listing and removing passkeys: one's own, and as an administrator those of others. */
function passkeyListRoutes(people: People): readonly Route[] {
  const { db } = people.context
  const listOf = async (userId: string) => ({
    body: { passkeys: (await passkeysOf(db, userId)).map(passkeyRecord), next_cursor: null },
  })
  return [
    route({
      method: 'GET',
      path: '/v1/auth/passkeys',
      role: 'viewer',
      summary: 'List your own passkeys, oldest first',
      description: 'Names and times only. Public keys are not shown.',
      schema: { response: PASSKEYS_SCHEMA },
      handle: ({ principal }) => listOf(principal.kind === 'user' ? principal.id : ''),
    }),
    route<IdParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/auth/passkeys/:id',
      role: 'viewer',
      summary: 'Remove one of your own passkeys, at once',
      description: 'Your other ways in stay.',
      schema: { params: recordSchema({ id: PASSKEY_ID }), status: 204 },
      audit: 'passkey.remove',
      errors: ['passkey_not_found'],
      handle: (request) =>
        request.mutate(request.principal.id, async (tx) => {
          const { kind, id } = request.principal
          tx.audit({ detail: await removeOf(tx, kind === 'user' ? id : '', request.params.id) })
          return { status: 204 }
        }),
    }),
    route<IdParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/users/:id/passkeys',
      role: 'admin',
      summary: 'List the passkeys of a user, oldest first',
      description: 'Names and times only. Public keys are not shown.',
      schema: { params: ID_PARAMS, response: PASSKEYS_SCHEMA },
      errors: ['user_not_found'],
      handle: async ({ params }) => {
        await mustFindUser(db, params.id)
        return listOf(params.id)
      },
    }),
    route<UserPasskeyParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/users/:id/passkeys/:passkey',
      role: 'admin',
      summary: 'Remove a passkey of a user, at once',
      description: "For a passkey that is lost. The person's other ways in stay.",
      schema: { params: recordSchema({ id: ID_SCHEMA, passkey: PASSKEY_ID }), status: 204 },
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
  const row = await PASSKEYS.find(tx, { id })
  if (row?.user_id !== userId) throw passkeyNotFound(id)
  await PASSKEYS.remove(tx, { id })
  return { passkey: id, label: row.label, host_name: row.rp_id }
}

interface MadeBody {
  readonly label?: string
  readonly response: RegistrationResponseJSON
}

/** A device and a spare each, for every name of the box. */
const MOST_PASSKEYS = 20
/** What a browser answers has below 10 KiB. */
const BODY_BYTES = 65_536
const UNAVAILABLE =
  'Browsers make no passkeys at an address without a host name, or without TLS: 409 passkey_unavailable says so and what works.'

/** The routes of passkeys: W3C WebAuthn Level 3 §7. */
export function passkeyRoutes(people: People): readonly Route[] {
  const challenges = createChallenges(people.vault, people.context.clock)
  return [
    loginOptionsRoute(challenges),
    loginRoute(people, challenges),
    registerOptionsRoute(people, challenges),
    registerRoute(people, challenges),
    ...passkeyListRoutes(people),
  ]
}

function loginOptionsRoute(challenges: Challenges): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/passkey/options',
    role: 'public',
    summary: 'Get what the browser needs to log in with a passkey',
    description: `The browser offers the passkeys that it has for this host name. The answer does not show who has one. ${UNAVAILABLE}`,
    schema: { body: objectSchema({}), response: OPTIONS_SCHEMA },
    audit: { none: 'asks for a challenge; nothing is stored' },
    errors: ['passkey_unavailable', 'forbidden'],
    handle: async (request) => {
      const party = partyOf(request)
      const challenge = challenges.draw({ purpose: 'login', party, userId: '' })
      return { body: { options: await requestOptions(party, challenge) } }
    },
  })
}

function loginRoute(people: People, challenges: Challenges): Route {
  return route<unknown, unknown, { readonly response: AuthenticationResponseJSON }>({
    method: 'POST',
    path: '/v1/auth/passkey/verify',
    role: 'public',
    summary: 'Log in with a passkey, without a password',
    description:
      'Answers as POST /v1/auth/login. The authenticator must verify the person. A passkey with a signature counter ' +
      'that shows a copy is disabled.',
    schema: { body: SIGNED_BODY, response: LOGGED_IN_SCHEMA },
    bodyLimit: BODY_BYTES,
    audit: 'auth.login',
    errors: ['login_failed', 'rate_limited', 'passkey_unavailable', 'forbidden'],
    handle: (request) => logInByPasskey(people, challenges, request, partyOf(request)),
  })
}

function registerOptionsRoute(people: People, challenges: Challenges): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/passkey/register/options',
    role: 'viewer',
    summary: 'Get what the browser needs to make a passkey for yourself',
    description: UNAVAILABLE,
    schema: { body: objectSchema({}), response: OPTIONS_SCHEMA },
    audit: { none: 'asks for a challenge; nothing is stored' },
    errors: ['passkey_unavailable', 'capacity_exceeded', 'forbidden'],
    handle: async (request) => {
      const owner = personOf(request.principal)
      const party = partyOf(request)
      const known = await passkeysOf(people.context.db, owner.id)
      refuseMore(known)
      const challenge = challenges.draw({ purpose: 'register', party, userId: owner.id })
      const here = known.filter(({ rp_id }) => rp_id === party.id)
      return { body: { options: await creationOptions(party, owner, challenge, here) } }
    },
  })
}

function registerRoute(people: People, challenges: Challenges): Route {
  return route<unknown, unknown, MadeBody>({
    method: 'POST',
    path: '/v1/auth/passkey/register/verify',
    role: 'viewer',
    summary: 'Save the passkey that the browser has made',
    description:
      "The second half of a registration: checks the browser's answer against the challenge of POST /v1/auth/passkey/register (WebAuthn level 2, §7.1).",
    schema: { body: MADE_BODY, response: PASSKEY_SCHEMA, status: 201 },
    bodyLimit: BODY_BYTES,
    audit: 'passkey.create',
    errors: ['passkey_unavailable', 'capacity_exceeded', 'forbidden'],
    handle: (request) => register(people, challenges, request),
  })
}

async function register(
  { context }: People,
  challenges: Challenges,
  request: Request<unknown, unknown, MadeBody>,
): Promise<Reply> {
  const owner = personOf(request.principal)
  const party = partyOf(request)
  const { label = '', response } = request.body
  const text = challengeIn(response.response.clientDataJSON)
  const challenge = text === undefined ? undefined : challenges.known(text)
  if (text === undefined || challenge?.purpose !== 'register' || challenge.userId !== owner.id)
    throw staleChallenge()
  const made = await madePasskey(response, text, party)
  const row: PasskeyRow = {
    ...made,
    user_id: owner.id,
    rp_id: party.id,
    label,
    created_at_ms: context.clock.nowMs(),
    last_used_at_ms: null,
    disabled_at_ms: null,
  }
  return request.mutate(owner.id, async (tx) => {
    if (!(await useChallenge(tx, challengeSha256(text), challenge.expiresAtMs))) throw staleChallenge()
    refuseMore(await passkeysOf(tx, owner.id))
    if (!(await PASSKEYS.insertNew(tx, row)))
      throw fieldRefused('/response', 'is a passkey that is known already')
    tx.audit({ detail: { passkey: row.id, label, host_name: party.id } })
    return { status: 201, body: passkeyRecord(row) }
  })
}

function partyOf(request: Pick<Request, 'header'>): RelyingParty {
  requireSameOrigin(request)
  return relyingPartyOf(request.header('origin'), request.header('host'))
}

/** Passkeys are people's: a token or a certificate has a way in already. */
function personOf({ kind, id, name }: Principal): { readonly id: string; readonly name: string } {
  if (kind !== 'user')
    throw passkeyUnavailable('a passkey belongs to a person; log in with password and code first')
  return { id, name }
}

function refuseMore(known: readonly PasskeyRow[]): void {
  if (known.length >= MOST_PASSKEYS)
    throw capacityExceeded(`there are ${MOST_PASSKEYS} passkeys already; remove one first`)
}

function staleChallenge(): Error {
  return fieldRefused(
    '/response',
    'answers a challenge that is not open; ask POST /v1/auth/passkey/register/options again',
  )
}

/**
 * Opens a session for who has the passkey. Whatever is wrong, the answer is `login_failed`; failures count as those of
 * passwords do, by the passkey in the place of a name. Throws `rate_limited` while passkey or network are locked.
 */
async function logInByPasskey(
  people: People,
  challenges: Challenges,
  request: Request<unknown, unknown, { readonly response: AuthenticationResponseJSON }>,
  party: RelyingParty,
): Promise<Reply> {
  const { context, lockout, sessions } = people
  const { db, clock } = context
  const { response } = request.body
  const known = await PASSKEYS.find(db, { id: response.id })
  // Counted apart: failures with passwords from behind the same address lock no passkey, which nobody can guess.
  const network = `passkey ${networkOf(request.peerAddress)}`
  const attempt: Attempt = { name: response.id, network, userId: known?.user_id }
  await lockout.refuse(attempt)
  const { locks } = await lockout.begin(attempt)
  const found = await judgeAssertion({ reader: db, clock, challenges }, party, response)
  if (found.kind === 'copied') await disable(people, found)
  const user = found.kind === 'good' ? await USERS.find(db, { id: found.passkey.user_id }) : undefined
  if (found.kind !== 'good' || user === undefined) return refuseLogin(people, request, attempt, locks)
  return sessions.open(request, {
    user,
    method: 'passkey',
    claim: async (tx) => {
      if (!(await found.use(tx))) throw loginFailed()
      await lockout.succeeded(tx, attempt, clock.nowMs())
    },
  })
}

/** Both have the key, the owner and whoever copied it: neither gets in by it again. */
async function disable(
  { context }: People,
  { passkey, signed, use }: Extract<Assertion, { kind: 'copied' }>,
): Promise<void> {
  const principal = systemPrincipal('access')
  await context.mutate(principal, 'passkey.disable', passkey.user_id, async (tx) => {
    const isFirst = await use(tx)
    const isDisabled = isFirst && (await disablePasskey(tx, passkey.id, context.clock.nowMs()))
    tx.audit({ detail: { passkey: passkey.id, stored: passkey.counter, signed, disabled: isDisabled } })
  })
  context.log.warn({ user: passkey.user_id }, 'a passkey was copied and is disabled')
}
