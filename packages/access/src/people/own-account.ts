import {
  defineError,
  type ErrorFactory,
  loginFailed,
  networkOf,
  objectSchema,
  type Request,
  type Route,
  route,
  type Tx,
} from '@steeple/contracts'
import { endDerived, endSessionsOf } from '../derived/end-derived.ts'
import { sessionOfCredential } from './jwt.ts'
import { judgeCredentials, type LoginBody, refuseLogin } from './login.ts'
import { hashPassword } from './password.ts'
import type { People } from './people.ts'
import { drawRecoveryCodes } from './second-factor.ts'
import { countRecoveryCodes } from './second-factor-store.ts'
import { SESSIONS } from './session-store.ts'
import { NEW_PASSWORD_SCHEMA, RECOVERY_CODES_SCHEMA } from './user-record.ts'
import { USERS, type UserRow } from './user-store.ts'

/** What a person gives once more before their own ways in are changed. */
type OwnProofBody = Pick<LoginBody, 'password' | 'code'>

/** The properties of `OwnProofBody` in the schema of a body. */
const OWN_PROOF = {
  password: { type: 'string', minLength: 1, maxLength: 256 },
  code: { type: 'string', minLength: 6, maxLength: 32 },
} as const

/** A person who has proven to be who is logged in. */
interface OwnProof {
  readonly user: UserRow
  readonly network: string
  /** Uses the proof up, in the transaction of the change. Throws `login_failed` when it was used meanwhile; gives the user as stored. */
  claim(tx: Tx): Promise<UserRow>
}

/** A credential that is not that of a person. */
const personNeeded: ErrorFactory = defineError(
  'person_needed',
  409,
  'a token has no password and no recovery codes; log in as a person first',
)

async function personOf(
  { context }: Pick<People, 'context'>,
  { principal }: Pick<Request, 'principal'>,
): Promise<UserRow> {
  const user = principal.kind === 'user' ? await USERS.find(context.db, { id: principal.id }) : undefined
  if (user === undefined) throw personNeeded()
  return user
}

/**
 * Judges password and code of who is logged in as a login does, and counts failures as its. Throws `person_needed`,
 * `login_failed` and `rate_limited`.
 */
async function proveOwner(
  people: People,
  request: Request<unknown, unknown, OwnProofBody>,
): Promise<OwnProof> {
  const { context, lockout } = people
  const user = await personOf(people, request)
  const network = networkOf(request.peerAddress)
  const attempt = { name: user.name, network, userId: user.id }
  const { password, code } = request.body
  const { proof, locks } = await judgeCredentials(people, user, attempt, password, code)
  if (proof === undefined) return refuseLogin(people, request, attempt, locks)
  return {
    user,
    network,
    claim: async (tx) => {
      const nowMs = context.clock.nowMs()
      const now = await USERS.find(tx, { id: user.id })
      const isSame = now?.password_hash === user.password_hash
      if (now === undefined || !isSame || !(await proof.claim(tx, nowMs))) throw loginFailed()
      await lockout.succeeded(tx, attempt, nowMs)
      return now
    },
  }
}

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
        await USERS.put(tx, { ...(await claim(tx)), password_hash })
        const nowMs = people.context.clock.nowMs()
        const own = current === undefined ? undefined : await SESSIONS.find(tx, { id: current })
        // Whoever has just proven to be the owner stays, also where a link of another session has let them in.
        if (own !== undefined) await SESSIONS.put(tx, { ...own, parent: null })
        await endSessionsOf(tx, user.id, nowMs, own?.id)
        if (own !== undefined) await endDerived(tx, `session:${own.id}`, nowMs)
        tx.audit({ detail: { name: user.name } })
        tx.afterCommit(people.forget)
        return { status: 204 }
      })
    },
  })
}
