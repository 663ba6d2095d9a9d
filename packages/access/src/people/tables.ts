import type { TableSpec } from '@steeple/contracts'
import { CERTIFICATE_TABLES } from '../certificates/certificate-store.ts'
import { LINK_TABLES } from '../links/link-store.ts'
import { PASSKEY_TABLES } from '../passkeys/passkey-store.ts'
import { INVITATION_TABLES } from './invitation-store.ts'
import { LOCKOUT_TABLES } from './lockout.ts'
import { SECOND_FACTOR_TABLES } from './second-factor-store.ts'
import { SESSION_TABLES } from './session-store.ts'
import { USER_TABLES } from './user-store.ts'

/** The tables of people, for the integrity scan. */
export const PEOPLE_TABLES: readonly TableSpec[] = [
  ...USER_TABLES,
  ...SECOND_FACTOR_TABLES,
  ...SESSION_TABLES,
  ...INVITATION_TABLES,
  ...LOCKOUT_TABLES,
  ...CERTIFICATE_TABLES,
  ...PASSKEY_TABLES,
  ...LINK_TABLES,
]
