import { systemPrincipal } from '@steeple/contracts'
import { CERTS, DROPPED } from '../store/rows.ts'
import { hostOf, newHierarchy } from './hierarchy.ts'
import { type CertParts, keepCertificates } from './keep.ts'

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
