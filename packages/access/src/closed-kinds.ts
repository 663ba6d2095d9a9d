/** Kinds of what a restore closes: see `ClosedItems`. */
export const BOOTSTRAP_TOKEN = 'bootstrap_token'
export const INVITATION = 'invitation'
/** By user: all that were not used. */
export const RECOVERY_CODE = 'recovery_code'
