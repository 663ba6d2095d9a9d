import { hash, randomBytes } from 'node:crypto'
import type { Clock, Vault } from '@steeple/contracts'
import type { RelyingParty } from './relying-party.ts'

/** What a browser is asked to sign, and for what. */
interface Challenge {
  readonly purpose: 'register' | 'login'
  readonly party: RelyingParty
  /** Whose passkey is to be registered; empty for a login, which tells nobody who has one. */
  readonly userId: string
  /** Ms since the epoch. */
  readonly expiresAtMs: number
}

/** Draws challenges and knows them again. */
export interface Challenges {
  /** The octets to sign. Nothing of them is stored: strangers may ask for as many as they like. */
  draw(wanted: Omit<Challenge, 'expiresAtMs'>): Uint8Array
  /** What a text in base64url was drawn for; undefined when it was not drawn here or is too old. */
  known(text: string): Challenge | undefined
}

/** A person needs seconds; W3C WebAuthn Level 3 §15.1 recommends 5 to 10 minutes. */
export const CHALLENGE_LIFE_MS = 300_000
/** Octets that nobody can know before. W3C WebAuthn Level 3 §13.4.3: at least 16. */
const NONCE_BYTES = 32
const MOST_CHARS = 4_096
/** Bound to this use by the vault: nothing else that it has sealed opens here. */
const AAD = 'access_passkey_challenge'

/** Challenges that carry, sealed, what they are for. That each serves once is the store's: see `useChallenge`. */
export function createChallenges(vault: Vault, clock: Clock): Challenges {
  return {
    draw: (wanted) => {
      const challenge: Challenge = { ...wanted, expiresAtMs: clock.nowMs() + CHALLENGE_LIFE_MS }
      const nonce = randomBytes(NONCE_BYTES).toString('base64url')
      return vault.seal(Buffer.from(JSON.stringify({ ...challenge, nonce })), AAD)
    },
    known: (text) => {
      if (text.length > MOST_CHARS || !/^[\w-]+$/.test(text)) return undefined
      const challenge = opened(vault, Buffer.from(text, 'base64url'))
      return challenge !== undefined && challenge.expiresAtMs > clock.nowMs() ? challenge : undefined
    },
  }
}

/** The name of a used challenge in the store. */
export function challengeSha256(text: string): string {
  return hash('sha256', text)
}

function opened(vault: Vault, sealed: Uint8Array): Challenge | undefined {
  try {
    // Sealed by `draw` alone.
    return JSON.parse(Buffer.from(vault.open(sealed, AAD)).toString()) as Challenge
  } catch {
    return undefined
  }
}
