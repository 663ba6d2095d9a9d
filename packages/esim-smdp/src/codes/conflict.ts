import { defineError, type ErrorFactory } from '@steeple/contracts'

/** The SIM cannot have a code now. */
export const esimCodeConflict: ErrorFactory = defineError('esim_code_conflict', 409, '%s')
/** Something that codes need is not configured. */
export const esimNotReady: ErrorFactory = defineError('esim_not_ready', 409, '%s')
