import {
  defineError,
  type ErrorFactory,
  loginFailed,
  networkOf,
  type Request,
  type Tx,
} from '@steeple/contracts'
import { judgeCredentials, type LoginBody, refuseLogin } from './login.ts'
import type { People } from './people.ts'
import { findUser, type UserRow } from './user-store.ts'

/** What a person gives once more before their own ways in are changed. */
export type OwnProofBody = Pick<LoginBody, 'password' | 'code'>

/** The properties of `OwnProofBody` in the schema of a body. */
export const OWN_PROOF = {
  password: { type: 'string', minLength: 1, maxLength: 256 },
  code: { type: 'string', minLength: 6, maxLength: 32 },
} as const

/** A person who has proven to be who is logged in. */
export interface OwnProof {
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
  const user = principal.kind === 'user' ? await findUser(context.db, principal.id) : undefined
  if (user === undefined) throw personNeeded()
  return user
}

/**
 * Judges password and code of who is logged in as a login does, and counts failures as its. Throws `person_needed`,
 * `login_failed` and `rate_limited`.
 */
export async function proveOwner(
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
      const now = await findUser(tx, user.id)
      const isSame = now?.password_hash === user.password_hash
      if (now === undefined || !isSame || !(await proof.claim(tx, nowMs))) throw loginFailed()
      await lockout.succeeded(tx, attempt, nowMs)
      return now
    },
  }
}
