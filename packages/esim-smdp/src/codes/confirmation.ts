import { createHash } from 'node:crypto'

/** What is kept of a confirmation code, and what a phone's hash is held against: its SHA-256. SGP.22 §3.1.3. */
export function confirmationDigest(code: string): Buffer {
  return createHash('sha256').update(code, 'utf8').digest()
}
