import type { Vault } from '@steeple/contracts'
import type { CodeRow } from '../store/rows.ts'
import { activationCode } from './activation.ts'

/** The activation code of a code that is stored. Throws `store_corrupt`. */
export function activationOf(vault: Vault, row: CodeRow): string {
  const octets = vault.open(row.matching_sealed, `esim_smdp_code/${row.token}`)
  try {
    const matchingId = Buffer.from(octets).toString('ascii')
    return activationCode(row.smdp_address, matchingId, row.confirmation_sealed !== null)
  } finally {
    octets.fill(0)
  }
}
