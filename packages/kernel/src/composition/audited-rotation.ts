import { type Principal, systemPrincipal } from '@steeple/contracts'
import { type RotationOptions, type RotationReport, rotateVault } from '@steeple/secrets'
import type { Mutations } from '../mutation/mutations.ts'

/** Who rotates, and where it is written down. */
export interface AuditedRotation extends RotationOptions {
  readonly mutations: Mutations
  readonly principal?: Principal
}

/**
 * As `rotateVault`, with an entry in the audit trail: which key is in use, which are gone, which had to stay. One that
 * fails or is broken off has an entry too, as far as the store takes it. Nothing to finish: no entry.
 */
export async function rotateVaultAudited(options: AuditedRotation): Promise<RotationReport> {
  const { mutations, vault, principal = systemPrincipal('vault') } = options
  const entry = { principal, action: 'vault.rotate', target: 'vault' }
  const before = vault.keyId
  const hadReplaced = vault.keyring.replaced.length > 0
  let report: RotationReport
  try {
    report = await rotateVault(options)
  } catch (error) {
    const detail = { from: before, to: vault.keyId, reason: 'broken off; run svc vault rotate again' }
    await mutations.refuse({ ...entry, outcome: 'failed', detail }).catch(() => undefined)
    throw error
  }
  const { keyId, resealed, retired, kept } = report
  if (keyId === before && !hadReplaced) return report
  await mutations.run({
    ...entry,
    owner: 'kernel',
    work: async (tx) => {
      tx.audit({ detail: { from: before, to: keyId, resealed, retired: [...retired], kept: kept.length } })
      return { status: 204 }
    },
  })
  return report
}
