import { type ComponentHealth, isServiceError } from '@steeple/contracts'
import type { EsimParts } from './parts.ts'

/** Whether a code that is issued now could be used. */
export function esimHealth(parts: EsimParts): ComponentHealth {
  const part = { name: 'smdp', kind: 'feature' } as const
  const { enabled, smdp_address } = parts.context.config
  if (!enabled) return { ...part, status: 'ok', detail: 'eSIM is off (esim.enabled)' }
  if (smdp_address === '') return { ...part, status: 'degraded', detail: 'esim.smdp_address is empty' }
  const sets = parts.certs.identities()
  if (sets.length === 0 && parts.isMadeForLab())
    return {
      ...part,
      status: 'ok',
      detail: `${smdp_address}: test certificates are made with the first code`,
    }
  if (sets.length === 0)
    return { ...part, status: 'degraded', detail: 'there is no complete and valid set of certificates' }
  try {
    parts.checkTemplates()
  } catch (error) {
    const detail = isServiceError(error) ? error.message : 'the profile template cannot be used'
    return { ...part, status: 'degraded', detail }
  }
  const curves = [...new Set(sets.map(({ curve }) => curve))].join(', ')
  return { ...part, status: 'ok', detail: `${smdp_address}: ${sets.length} sets of certificates (${curves})` }
}
