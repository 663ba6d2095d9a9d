import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Clock, Reader, Tx } from '@steeple/contracts'
import { challengeIn, isCopied, signedCount } from './ceremonies.ts'
import { type Challenges, challengeSha256 } from './challenge.ts'
import { countUse, findPasskey, isChallengeUsed, type PasskeyRow, useChallenge } from './passkey-store.ts'
import type { RelyingParty } from './relying-party.ts'

/** What came of a response to a challenge. `refused` says why in one word, for the audit trail alone. */
export type Assertion =
  | { readonly kind: 'refused'; readonly reason: string; readonly userId: string | undefined }
  /** Signed by the right key with a count that does not grow: two authenticators have it. */
  | {
      readonly kind: 'copied'
      readonly passkey: PasskeyRow
      readonly signed: number
      readonly use: (tx: Tx) => Promise<boolean>
    }
  | { readonly kind: 'good'; readonly passkey: PasskeyRow; readonly use: (tx: Tx) => Promise<boolean> }

/** What a response is judged by. */
export interface LoginParts {
  readonly reader: Reader
  readonly clock: Clock
  readonly challenges: Challenges
}

/**
 * Judges the response of a browser to a login challenge. Changes nothing: the challenge, and the count of what is good, are
 * used up by `use` inside the transaction that acts on it, which says false when another one was faster.
 */
export async function judgeAssertion(
  parts: LoginParts,
  party: RelyingParty,
  response: AuthenticationResponseJSON,
): Promise<Assertion> {
  const text = challengeIn(response.response.clientDataJSON)
  const challenge = text === undefined ? undefined : parts.challenges.known(text)
  if (text === undefined || challenge?.purpose !== 'login') return refused('challenge')
  if (challenge.party.id !== party.id || challenge.party.origin !== party.origin) return refused('origin')
  const passkey = await findPasskey(parts.reader, response.id)
  if (passkey === undefined) return refused('unknown')
  const { user_id: userId } = passkey
  if (passkey.disabled_at_ms !== null) return refused('disabled', userId)
  const { userHandle } = response.response
  const isOther = typeof userHandle === 'string' && Buffer.from(userHandle, 'base64url').toString() !== userId
  if (passkey.rp_id !== party.id || isOther) return refused('other', userId)
  const signed = await signedCount(response, text, party, passkey)
  if (signed === undefined) return refused('signature', userId)
  const sha256 = challengeSha256(text)
  // The same response a second time has the same count: that is a repeated request, and no copy.
  if (await isChallengeUsed(parts.reader, sha256, challenge.expiresAtMs)) return refused('used', userId)
  const useOnce = (tx: Tx): Promise<boolean> => useChallenge(tx, sha256, challenge.expiresAtMs)
  if (isCopied(passkey.counter, signed)) return { kind: 'copied', passkey, signed, use: useOnce }
  const nowMs = parts.clock.nowMs()
  return {
    kind: 'good',
    passkey,
    use: async (tx) => (await useOnce(tx)) && (await countUse(tx, passkey, signed, nowMs)),
  }
}

function refused(reason: string, userId?: string): Assertion {
  return { kind: 'refused', reason, userId }
}
