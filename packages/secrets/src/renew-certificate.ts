import { createPublicKey } from 'node:crypto'
import type { Clock } from '@steeple/contracts'
import { nodeNames } from './init-node.ts'
import type { Secrets } from './open-secrets.ts'

/** Whether half of the life of the node's certificate is over, or the clock stands before it. */
export function isRenewalDue(secrets: Secrets, nowMs: number): boolean {
  const { validFrom, validTo } = secrets.certificate()
  const fromMs = Date.parse(validFrom)
  const halfMs = (Date.parse(validTo) - fromMs) / 2
  return nowMs < fromMs || nowMs >= fromMs + halfMs
}

/**
 * Renews the node's own certificate under the same key when it is due, and says whether it did.
 *
 * Killed at any point it leaves the old or the new certificate, whole. Throws `secrets_invalid`.
 */
export async function renewNodeCertificate(secrets: Secrets, clock: Clock): Promise<boolean> {
  const nowMs = clock.nowMs()
  if (!isRenewalDue(secrets, nowMs)) return false
  const { issueCertificate } = await import('./x509.ts')
  const pem = await issueCertificate({
    caKeyPem: secrets.caKeyPem(),
    caPem: secrets.caPem,
    publicKey: createPublicKey(secrets.certificate().publicKey.export({ format: 'pem', type: 'spki' })),
    ...nodeNames(secrets.identity, nowMs),
  })
  secrets.adoptCertificate(pem)
  return true
}
