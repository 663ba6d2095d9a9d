import { closedItemsRef, loginFailed, networkOf, type Reply, type Request } from '@steeple/contracts'
import type { Attempt } from './lockout.ts'
import { checkPassword, hashPassword } from './password.ts'
import type { People } from './people.ts'
import { type FactorProof, proofOf } from './second-factor.ts'
import { findUserByName, USERS, type UserRow } from './user-store.ts'

/** The body of `POST /v1/auth/login`. */
export interface LoginBody {
  readonly username: string
  readonly password: string
  /** Six digits of the authenticator, or a recovery code. */
  readonly code: string
}

/** The id of no user. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

/**
 * Logs somebody in by password and code.
 *
 * Whatever is wrong, the answer is the same `login_failed` after the same work: look-up, scrypt, code, one entry of the
 * audit trail. Throws `rate_limited` while name or network are locked, before any of it.
 */
export async function login(people: People, request: Request<unknown, unknown, LoginBody>): Promise<Reply> {
  const { context, lockout, sessions } = people
  const { username, password, code } = request.body
  const user = await findUserByName(context.db, username)
  const attempt: Attempt = { name: username, network: networkOf(request.peerAddress), userId: user?.id }
  const found = await judgeCredentials(people, user, attempt, password, code)
  if (user === undefined || found.proof === undefined)
    return refuseLogin(people, request, attempt, found.locks)
  if (request.signal.aborted) {
    await lockout.takeBack(attempt)
    // Who has left meanwhile keeps the code: nobody would get what it opens.
    request.signal.throwIfAborted()
  }
  const { proof, newHash } = found
  return sessions.open(request, {
    user,
    method: proof.kind === 'totp' ? 'password' : 'recovery',
    claim: async (tx) => {
      const nowMs = context.clock.nowMs()
      // It may have been reset while its password was checked.
      const now = await USERS.find(tx, { id: user.id })
      const isSame = now?.password_hash === user.password_hash
      if (now === undefined || !isSame || !(await proof.claim(tx, nowMs))) throw loginFailed()
      await lockout.succeeded(tx, attempt, nowMs)
      if (newHash !== undefined) await USERS.put(tx, { ...now, password_hash: newHash })
    },
  })
}

/** What is known of a try to log in. */
interface Judgement {
  /** Undefined unless password and code are right. */
  readonly proof: FactorProof | undefined
  /** The password's hash at the present cost, where the stored one has another. */
  readonly newHash: string | undefined
  /** What the attempt locks by failing. */
  readonly locks: 'name' | 'network' | undefined
}

/**
 * Whether password and code are right, after the same work for right and wrong ones. Throws `rate_limited` while name or
 * network are locked, and when too many wait.
 */
export async function judgeCredentials(
  { context, lockout, gate, vault }: People,
  user: UserRow | undefined,
  attempt: Attempt,
  password: string,
  code: string,
): Promise<Judgement> {
  const { isKnown } = await lockout.refuse(attempt)
  const visitor = { network: attempt.network, isKnown }
  return gate.run(visitor, async () => {
    const { locks } = await lockout.begin(attempt)
    const { isRight, isOutdated } = await checkPassword(password, user?.password_hash, gate.cost)
    const at = { nowMs: context.clock.nowMs(), closed: context.use(closedItemsRef) }
    const proof = await proofOf(context.db, vault, user?.id ?? NOBODY, code, at)
    if (!isRight || proof === undefined) return { proof: undefined, newHash: undefined, locks }
    return { proof, newHash: isOutdated ? await hashPassword(password, gate.cost) : undefined, locks }
  })
}

/** Answers and audits the failure, and the lock that it closes. Throws `login_failed`. */
export function refuseLogin(
  { failures }: People,
  request: Pick<Request, 'mutate'>,
  { network, userId }: Attempt,
  locks: Judgement['locks'],
): Promise<never> {
  // What was typed as a name may be a password: the trail names users that there are.
  return failures.refuse(request, { target: userId ?? 'nobody', network, locks, error: loginFailed() })
}
