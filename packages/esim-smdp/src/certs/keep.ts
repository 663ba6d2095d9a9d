import {
  type Context,
  defineError,
  type ErrorFactory,
  type MutationTx,
  systemPrincipal,
  type Vault,
} from '@steeple/contracts'
import { CERTS, DROPPED, REVOKED, type RevokedRow } from '../store/rows.ts'
import { certRecord, type HeldCertificate, type NewCertificate, sealedCertificate } from './held.ts'
import { hostOf, newHierarchy } from './hierarchy.ts'
import { idsInUse } from './sets.ts'
import type { HeldCertificates } from './store.ts'

/** No certificate has that id. */
export const esimCertNotFound: ErrorFactory = defineError(
  'esim_cert_not_found',
  404,
  'there is no certificate %s; GET /v1/esim/certs has the ids',
)
/** There are certificates already, or others depend on it. */
export const esimCertConflict: ErrorFactory = defineError('esim_cert_conflict', 409, '%s')

/**
 * Whether a lab gets test certificates when they are first needed: it has none, none is imported from a folder, and nobody has
 * removed one. Never while a radio may transmit: phones of people would be offered what they cannot take.
 */
export function isMadeForLab({ context, certs }: CertParts): boolean {
  const { config, settings } = context
  return settings.server.mode === 'lab' && config.certs_dir === '' && certs.all().length === 0
}

/** Makes them, on both curves, where `isMadeForLab`. */
export async function makeLabCertificates(parts: CertParts): Promise<void> {
  const { context, certs } = parts
  if (!isMadeForLab(parts)) return
  const host = hostOf(context.config.smdp_address)
  await context.mutate(systemPrincipal('esim-smdp'), 'esim_cert.init', host, async (tx) => {
    // Another instance may have been faster.
    const known = [await CERTS.select(tx, 'limit 1'), await DROPPED.select(tx, 'limit 1')].flat()
    if (known.length > 0) return
    const made = (['P-256', 'brainpoolP256r1'] as const).flatMap((curve) =>
      newHierarchy(curve, host, context.clock.nowMs()),
    )
    await keepCertificates(tx, parts, made)
  })
  await certs.reload()
}

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

/** Ends every session whose profile is not out: what was believed when it began may not be any more. */
const UNDER_WAY = "delete from esim_smdp_session where step in ('initiated', 'authenticated')"
/** A list may have hundreds; the audit trail names the first ones. */
const NAMED = 50

/** Takes certificates back, for whoever shows them, and says so in the audit trail. `ids`: `revocationId`. */
export async function keepRevocations(
  tx: MutationTx,
  { context }: CertParts,
  ids: readonly string[],
  source: RevokedRow['source'],
): Promise<void> {
  if (ids.length === 0) return
  const atMs = context.clock.nowMs()
  for (const id of ids) await REVOKED.put(tx, { id, source, at_ms: atMs })
  await tx.run(UNDER_WAY)
  tx.audit({ detail: { revoked: ids.length, revoked_serials: ids.slice(0, NAMED) } })
}
