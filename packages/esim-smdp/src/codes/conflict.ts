import { defineError, type ErrorFactory } from '@steeple/contracts'
import type { CodeRow } from '../store/rows.ts'
import { ESIM_CODE } from './restored.ts'

/** The SIM cannot have a code now. */
export const esimCodeConflict: ErrorFactory = defineError('esim_code_conflict', 409, '%s')
/** Something that codes need is not configured. */
export const esimNotReady: ErrorFactory = defineError('esim_not_ready', 409, '%s')

/** A restore has closed the code: somebody may have got the profile by it. */
export function closedConflict({ token, hash }: Pick<CodeRow, 'token' | 'hash'>): Error {
  return esimCodeConflict(
    `code ${token} of SIM ${hash} was closed by a restore, since it may have been used after the backup; if nobody has used it, let it be used again (svc reopen ${ESIM_CODE} ${token}), else issue a new SIM with replaces`,
  )
}
