import type { Context, MutationTx, Vault } from '@steeple/contracts'
import { CERTS, DROPPED } from '../store/rows.ts'
import { type HeldCertificate, type NewCertificate, sealedCertificate } from './held.ts'
import { certRecord } from './record.ts'
import { idsInUse } from './sets.ts'
import type { HeldCertificates } from './store.ts'

/** What everything that changes certificates works with. */
export interface CertParts {
  readonly context: Pick<
    Context,
    'db' | 'clock' | 'log' | 'mutate' | 'metrics' | 'every' | 'on' | 'onSettings' | 'settings'
  > & {
    readonly config: { readonly certs_dir: string; readonly smdp_address: string; readonly enabled: boolean }
  }
  readonly vault: Vault
  readonly certs: HeldCertificates
}

/** Writes certificates, their keys sealed, and says in the audit trail which. Gives their records. */
export async function keepCertificates(
  tx: MutationTx,
  { vault, context, certs }: CertParts,
  kept: readonly NewCertificate[],
): Promise<readonly object[]> {
  const nowMs = context.clock.nowMs()
  const rows = kept.map((one) => sealedCertificate(one, vault, nowMs))
  for (const row of rows) {
    await CERTS.put(tx, row)
    await DROPPED.remove(tx, { id: row.id })
  }
  tx.audit({ detail: { certificates: rows.map(({ id, role, curve }) => ({ id, role, curve })) } })
  const added = kept.flatMap(({ certificate, key }, i): readonly HeldCertificate[] => {
    const row = rows[i]
    return row === undefined ? [] : [{ row, certificate, key }]
  })
  const ids = new Set(rows.map(({ id }) => id))
  const inUse = idsInUse([...certs.all().filter(({ row }) => !ids.has(row.id)), ...added], nowMs)
  return added.map((one) => certRecord(one, inUse))
}
