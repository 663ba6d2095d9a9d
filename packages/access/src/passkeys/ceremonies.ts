import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { type Clock, messageOf, type Reader, type Tx, validationFailed } from '@steeple/contracts'
import { CHALLENGE_LIFE_MS, type Challenges, challengeSha256 } from './challenge.ts'
import { countUse, isChallengeUsed, PASSKEYS, type PasskeyRow, useChallenge } from './passkey-store.ts'
import type { RelyingParty } from './relying-party.ts'

/** COSE algorithms in order of preference: EdDSA, ES256, RS256 (Windows Hello). RFC 9053 §2, RFC 8812 §2. */
const ALGORITHMS = [-8, -7, -257]
/** What people read in the browser's dialogue. */
const SERVICE_NAME = 'Steeple'

/** Whose passkey it is to be. */
interface Owner {
  readonly id: string
  readonly name: string
}

/** The public part of a passkey that was made. */
type MadePasskey = Pick<PasskeyRow, 'id' | 'public_key' | 'counter' | 'transports'>

/**
 * What `navigator.credentials.create` takes, as JSON: a passkey that the browser can find by itself and that asks who is
 * there. No attestation: which device it is on is nobody's business, and every make is as good.
 */
export async function creationOptions(
  party: RelyingParty,
  owner: Owner,
  challenge: Uint8Array,
  known: readonly PasskeyRow[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: SERVICE_NAME,
    rpID: party.id,
    userName: owner.name,
    userDisplayName: owner.name,
    userID: Uint8Array.from(Buffer.from(owner.id)),
    challenge: Uint8Array.from(challenge),
    timeout: CHALLENGE_LIFE_MS,
    attestationType: 'none',
    // Written by `madePasskey`.
    excludeCredentials: known.map(({ id, transports }) => ({
      id,
      transports: JSON.parse(transports) as string[],
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
}

/** What `navigator.credentials.get` takes, as JSON. It names no passkey, so it tells nobody who has one. */
export async function requestOptions(
  party: RelyingParty,
  challenge: Uint8Array,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: Uint8Array.from(challenge),
    timeout: CHALLENGE_LIFE_MS,
    userVerification: 'required',
  })
}

/** Checks what the browser made. W3C WebAuthn Level 3 §7.1. Throws `validation_failed` with the reason. */
export async function madePasskey(
  response: RegistrationResponseJSON,
  challenge: string,
  party: RelyingParty,
): Promise<MadePasskey> {
  try {
    if (isFramed(response.response.clientDataJSON))
      throw new Error('it was made within a page of another origin')
    await refuseAttestation(response)
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (registrationInfo === undefined) throw new Error('its signature does not hold')
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential
    return {
      id,
      public_key: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: JSON.stringify(transports.slice(0, MOST_TRANSPORTS)),
    }
  } catch (cause) {
    const message = `is no passkey that can be taken: ${messageOf(cause)}`
    throw validationFailed(`/response ${message}`, { details: [{ pointer: '/response', message }], cause })
  }
}

const MOST_TRANSPORTS = 8

/**
 * Takes no statement of a maker. None was asked for, and the library would fetch revocation lists from where the
 * certificates in it say. What a device says of its own key alone (`packed` without `x5c`) is as good as none.
 */
async function refuseAttestation(response: RegistrationResponseJSON): Promise<void> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.response.attestationObject))
  const format = attestation.get('fmt')
  const isOwn = format === 'packed' && attestation.get('attStmt').get('x5c') === undefined
  if (format !== 'none' && !isOwn)
    throw new Error(`it has an attestation (${format}), and none was asked for`)
}

/**
 * How often the authenticator has signed, by its own count, when the response holds; undefined when it does not: another
 * challenge, origin or host name, nobody verified, a wrong signature. W3C WebAuthn Level 3 §7.2.
 *
 * What the count says is the caller's to judge: the library would look at it before the signature, and a stranger could
 * have a passkey taken for a copy.
 */
async function signedCount(
  response: AuthenticationResponseJSON,
  challenge: string,
  party: RelyingParty,
  passkey: PasskeyRow,
): Promise<number | undefined> {
  if (isFramed(response.response.clientDataJSON)) return undefined
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: passkey.id,
        publicKey: Uint8Array.from(Buffer.from(passkey.public_key, 'base64url')),
        counter: 0,
      },
    })
    return verified ? authenticationInfo.newCounter : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether a count says that there are two authenticators with one key: it has not grown. Those that do not count say 0 for
 * ever. W3C WebAuthn Level 3 §6.1.1.
 */
export function isCopied(storedCount: number, signed: number): boolean {
  return (storedCount > 0 || signed > 0) && signed <= storedCount
}

/** The challenge that a browser says it has signed; undefined when there is none. W3C WebAuthn Level 3 §5.8.1. */
export function challengeIn(clientDataJson: string): string | undefined {
  const { challenge } = clientData(clientDataJson)
  return typeof challenge === 'string' ? challenge : undefined
}

/** Whether the page that asked stood within one of another origin: the console never does. W3C WebAuthn Level 3 §7.1 step 10, §7.2 step 14. */
function isFramed(clientDataJson: string): boolean {
  const { crossOrigin, topOrigin } = clientData(clientDataJson)
  return topOrigin !== undefined || (crossOrigin !== undefined && crossOrigin !== false)
}

function clientData(json: string): { readonly [name: string]: unknown } {
  try {
    const data: unknown = JSON.parse(Buffer.from(json, 'base64url').toString())
    return typeof data === 'object' && data !== null ? { ...data } : {}
  } catch {
    return {}
  }
}

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
interface LoginParts {
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
  const passkey = await PASSKEYS.find(parts.reader, { id: response.id })
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
