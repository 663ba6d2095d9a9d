import { defineError, type ErrorFactory } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import type { CodeRow } from '../store/rows.ts'
import { ESIM_CODE } from './restored.ts'

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
      'no set of certificates is complete and valid; svc esim certs import adds one, svc esim certs init makes one for a lab',
    )
  const phones = parts.phones()
  if (phones?.status === 'down') throw esimNotReady(`no phone could download it: ${phones.detail}`)
  // Says what is wrong with the template now and not to the first phone.
  parts.checkTemplates()
}

export const esimDisabled: ErrorFactory = defineError('esim_disabled', 409, 'eSIM is off; set esim.enabled')
/** No code has this token. */
export const esimCodeNotFound: ErrorFactory = defineError(
  'esim_code_not_found',
  404,
  'there is no eSIM code %s; look for it in the list of codes',
)
/** The SIM cannot have a code now. */
export const esimCodeConflict: ErrorFactory = defineError('esim_code_conflict', 409, '%s')
/** Something that codes need is not configured. */
export const esimNotReady: ErrorFactory = defineError('esim_not_ready', 409, '%s')

/** A restore has closed the code: somebody may have got the profile by it. */
export function closedConflict({ token, hash }: Pick<CodeRow, 'token' | 'hash'>): Error {
  return esimCodeConflict(
    `a restore closed code ${token} of SIM ${hash}; if nobody used it since the backup: svc reopen ${ESIM_CODE} ${token}, else issue a SIM with replaces`,
  )
}
