import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Secrets } from '../secrets/open-secrets.ts'

/** The key of the audit trail's seal, derived from the node's keys; the same after each start. */
export function auditKeyOf(secrets: Secrets): KeyObject {
  return createSecretKey(
    new Uint8Array(hkdfSync('sha256', secrets.jwtKey, '', 'steeple audit checkpoint', 32)),
  )
}
