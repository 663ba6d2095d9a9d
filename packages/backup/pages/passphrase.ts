/** What the service asks for at least. */
export const LEAST_CHARACTERS = 12

/** How hard a passphrase is to guess, from 0 to 1, and in a word. */
export interface Strength {
  readonly share: number
  readonly word: 'short' | 'weak' | 'fair' | 'strong'
}

const ALPHABETS: readonly (readonly [RegExp, number])[] = [
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/\d/, 10],
  [/[^A-Za-z\d]/, 33],
]
/** Guessing costs a whole scrypt each: 2^70 of them nobody makes. */
const STRONG_BITS = 70
const FAIR_BITS = 50

/** How hard it is to guess: the bits that its characters would have if they were drawn, less for what repeats. */
export function strengthOf(passphrase: string): Strength {
  const alphabet = ALPHABETS.reduce((sum, [part, size]) => sum + (part.test(passphrase) ? size : 0), 0)
  const differing = new Set(passphrase).size
  // A character that comes again, or follows the one before it in the alphabet, adds little.
  const runs = [...passphrase].filter((character, at) => {
    const step = character.charCodeAt(0) - passphrase.charCodeAt(at - 1)
    return at > 0 && Math.abs(step) <= 1
  }).length
  const counted = Math.min(passphrase.length - runs, 2 * differing)
  const bits = alphabet === 0 ? 0 : counted * Math.log2(alphabet)
  const share = Math.min(1, bits / STRONG_BITS)
  if (passphrase.length < LEAST_CHARACTERS) return { share: Math.min(share, 0.2), word: 'short' }
  return { share, word: bits >= STRONG_BITS ? 'strong' : bits >= FAIR_BITS ? 'fair' : 'weak' }
}

/** Without those that look like others. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 5
const GROUP_LETTERS = 5

/** A passphrase of 123 bits, in groups to write down. */
export function drawPassphrase(): string {
  const letter = (): string => {
    // Drawn again where the octet is of the incomplete last round, so that all are as likely.
    for (;;) {
      const [octet = 0] = crypto.getRandomValues(new Uint8Array(1))
      const limit = 256 - (256 % LETTERS.length)
      if (octet < limit) return LETTERS[octet % LETTERS.length] ?? ''
    }
  }
  const group = (): string => Array.from({ length: GROUP_LETTERS }, letter).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

/** The header that a passphrase goes in: its UTF-8, an octet for each character, as headers are. */
export function passphraseHeader(passphrase: string): Readonly<Record<string, string>> {
  if (passphrase === '') return {}
  const octets = new TextEncoder().encode(passphrase)
  return { 'x-backup-passphrase': String.fromCharCode(...octets) }
}
