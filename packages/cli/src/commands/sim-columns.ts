import { isObject, type Json } from '../client/rest-client.ts'
import { usageError } from '../command-error.ts'
import type { Column } from '../output/table.ts'

/** States of a SIM. Contract section 6. */
export const SIM_STATES: readonly string[] = ['issued', 'in-use', 'suspended', 'expired', 'revoked']

const HASH = /^[0-9a-f]{12}$/

/** The path of the SIM with a hash. */
export function simPath(hash: string): string {
  return `/v1/sims/${simHash(hash)}`
}

/**
 * The hash of a SIM as it was typed. Anything else is refused before it is sent, and not repeated: it may be an IMSI, and an
 * address is written to logs.
 */
export function simHash(hash: string): string {
  if (HASH.test(hash)) return hash
  throw usageError(
    'a SIM is named by its hash, 12 of 0-9 a-f; svc sim find TEXT, or svc sim find - and an IMSI, shows it',
  )
}

/** How SIMs are shown to people. */
export const SIM_COLUMNS: readonly Column<Json>[] = [
  { title: 'SIM', value: (row) => row.imsi_sha256_12, fit: 'whole' },
  { title: 'STATE', value: (row) => row.state, fit: 'whole' },
  { title: 'ATTACHED', value: (row) => words(row.attached) },
  { title: 'LABEL', value: (row) => row.label },
  {
    title: 'ICCID',
    value: (row) => (typeof row.iccid_last4 === 'string' ? `…${row.iccid_last4}` : undefined),
  },
  { title: 'PROFILE', value: (row) => row.profile, usual: 'default' },
  {
    title: 'EXPIRES',
    value: (row) => (typeof row.expires_at === 'string' ? row.expires_at.slice(0, 10) : null),
    fit: 'whole',
  },
  {
    title: 'PROVISIONING',
    value: (row) => (isObject(row.provisioning) ? row.provisioning.status : undefined),
    usual: 'synced',
  },
]

function words(attached: unknown): string {
  if (attached === true) return 'yes'
  return attached === false ? 'no' : 'unknown'
}
