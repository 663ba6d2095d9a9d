import type { BatchRow } from '../store/batch-store.ts'
import type { SimRow } from '../store/sim-row.ts'

/** What the manifest of a batch says. No secrets, hashes only. */
export interface Manifest {
  readonly batch_id: string
  readonly created_at: string
  readonly plmn: string
  readonly profile: string
  readonly label: string | null
  readonly sims: readonly {
    readonly imsi_sha256_12: string
    readonly iccid_last4: string | null
    readonly expires_at: string
  }[]
}

/** The manifest of a batch; its SIMs in the order of `rows`. */
export function manifestOf(batch: BatchRow, rows: readonly SimRow[]): Manifest {
  return {
    batch_id: batch.id,
    created_at: new Date(batch.created_at_ms).toISOString(),
    plmn: batch.plmn,
    profile: batch.profile,
    label: batch.label,
    sims: rows.map((row) => ({
      imsi_sha256_12: row.hash,
      iccid_last4: row.iccid_last4,
      expires_at: new Date(row.expires_at_ms).toISOString(),
    })),
  }
}
