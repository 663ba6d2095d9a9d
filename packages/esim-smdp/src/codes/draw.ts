import { randomBytes } from 'node:crypto'
import { base32 } from './activation.ts'

/** 26 characters of 5 bits: 130. */
const MATCHING_CHARACTERS = 26
const TOKEN_CHARACTERS = 20

/** A matching id: the one secret of an activation code. */
export function drawMatchingId(): string {
  return base32(randomBytes(MATCHING_CHARACTERS))
}

/** A code's own id, `e-` and 20 random letters and digits: no secret, it opens nothing. */
export function drawToken(): string {
  return `e-${base32(randomBytes(TOKEN_CHARACTERS)).toLowerCase()}`
}
