import type { SealedColumns, Vault } from '@steeple/contracts'

/** The columns that are sealed under the vault key; AAD `<table>/<key>`. */
const SEALED: readonly SealedColumns[] = [
  { table: 'esim_smdp_code', key: 'token', columns: ['matching_sealed', 'confirmation_sealed'] },
  { table: 'esim_smdp_call', key: 'id', columns: ['answer_sealed'] },
  { table: 'esim_smdp_progress', key: 'id', columns: ['result_sealed'] },
  { table: 'esim_smdp_cert', key: 'id', columns: ['key_sealed'] },
  { table: 'esim_smdp_key', key: 'id', columns: ['key_sealed'] },
]

/** Tells the vault which columns it seals, so that a rotation of its key finds them. */
export function registerSealed(vault: Vault): void {
  for (const columns of SEALED) vault.register(columns)
}
