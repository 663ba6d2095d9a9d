import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { loginFailed, type Reply, type Request, systemPrincipal } from '@steeple/contracts'
import type { Attempt } from '../people/lockout.ts'
import { refuseLogin } from '../people/login.ts'
import { networkOf } from '../people/network-of.ts'
import type { People } from '../people/people.ts'
import { findUser } from '../people/user-store.ts'
import type { Challenges } from './challenge.ts'
import { type Assertion, judgeAssertion } from './passkey-login.ts'
import { disablePasskey, findPasskey } from './passkey-store.ts'
import type { RelyingParty } from './relying-party.ts'

/**
 * Opens a session for who has the passkey. Whatever is wrong, the answer is `login_failed`; failures count as those of
 * passwords do, by the passkey in the place of a name. Throws `rate_limited` while passkey or network are locked.
 */
export async function logInByPasskey(
  people: People,
  challenges: Challenges,
  request: Request<unknown, unknown, { readonly response: AuthenticationResponseJSON }>,
  party: RelyingParty,
): Promise<Reply> {
  const { context, lockout, sessions } = people
  const { db, clock } = context
  const { response } = request.body
  const known = await findPasskey(db, response.id)
  // Counted apart: failures with passwords from behind the same address lock no passkey, which nobody can guess.
  const network = `passkey ${networkOf(request.peerAddress)}`
  const attempt: Attempt = { name: response.id, network, userId: known?.user_id }
  await lockout.refuse(attempt)
  const { locks } = await lockout.begin(attempt)
  const found = await judgeAssertion({ reader: db, clock, challenges }, party, response)
  if (found.kind === 'copied') await disable(people, found)
  const user = found.kind === 'good' ? await findUser(db, found.passkey.user_id) : undefined
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
