import { createHash } from 'node:crypto'

/** As many digits as an IMSI has. TS 23.003 §2.2. */
const LIKE_AN_IMSI = /\d{14,}/

/** A name that somebody else chose, as it is stored: one that may hold an IMSI as its hash. */
export function storableName(name: string): string {
  if (!LIKE_AN_IMSI.test(name)) return name
  return `sha256:${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}
