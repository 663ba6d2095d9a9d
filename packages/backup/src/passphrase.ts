import { validationFailed } from '@steeple/contracts'

/** Contract section 10. */
const SHORTEST = 12

/** The header that a passphrase comes in. */
export const PASSPHRASE_HEADER = 'X-Backup-Passphrase'

/**
 * The octets of a passphrase that came in a header, where each character stands for one octet (RFC 9110 §5.5): what a client
 * sends as UTF-8 stays what it was. Undefined when there is none. Throws `validation_failed` for one that is too short.
 */
export function passphraseOf(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined
  return longEnough(Buffer.from(header, 'latin1'), `/${PASSPHRASE_HEADER}`)
}

/** The octets of a passphrase that was written down. Throws `validation_failed` for one that is too short. */
export function passphraseFrom(text: string): Buffer {
  return longEnough(Buffer.from(text.trim(), 'utf8'), '/backup/passphrase')
}

function longEnough(octets: Buffer, pointer: string): Buffer {
  if (octets.toString('utf8').length >= SHORTEST) return octets
  const message = `must have at least ${SHORTEST} characters`
  throw validationFailed(`the passphrase ${message}`, { details: [{ pointer, message }] })
}
