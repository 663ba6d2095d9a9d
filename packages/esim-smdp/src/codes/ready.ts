import { esimDisabled } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { esimNotReady } from './conflict.ts'

/** Throws `esim_disabled` while eSIM is off. */
export function needEnabled({ context }: EsimParts): void {
  if (!context.config.enabled) throw esimDisabled()
}

/** Throws `esim_disabled`, and `esim_not_ready` while a code that is issued now could not be used. */
export async function needReady(parts: EsimParts): Promise<void> {
  needEnabled(parts)
  if (parts.context.config.smdp_address === '')
    throw esimNotReady(
      'esim.smdp_address is empty; set it to the host name under which phones reach this SM-DP+',
    )
  if (parts.certs.identities().length === 0) await parts.makeCertificates()
  if (parts.certs.identities().length === 0)
    throw esimNotReady(
      'there is no complete and valid set of certificates; make one for a lab with svc esim certs init, or import one with svc esim certs import',
    )
  const phones = parts.phones()
  if (phones?.status === 'down') throw esimNotReady(`no phone could download it: ${phones.detail}`)
  // Says what is wrong with the template now and not to the first phone.
  parts.checkTemplates()
}
