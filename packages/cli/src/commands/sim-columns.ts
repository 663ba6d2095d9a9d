import type { CommandArgument, CommandList } from '@steeple/contracts'
import { usageError } from '../command-error.ts'

/** States of a SIM. Contract section 6. */
export const SIM_STATES: readonly string[] = ['issued', 'in-use', 'suspended', 'expired', 'revoked']

/**
 * The hash of a SIM as it is typed. Anything else is refused before it is sent, and not repeated: it may be an IMSI, and an address is
 * written to logs.
 */
export const SIM_ARGUMENT: CommandArgument & Required<Pick<CommandArgument, 'pattern' | 'refusal'>> = {
  to: 'path.imsi',
  pattern: '^[0-9a-f]{12}$',
  refusal:
    'a SIM is named by its hash, 12 of 0-9 a-f; svc sim find TEXT, or svc sim find - and an IMSI, shows it',
}

/** The same where a command is written by hand. */
export function simHash(hash: string): string {
  if (new RegExp(SIM_ARGUMENT.pattern).test(hash)) return hash
  throw usageError(SIM_ARGUMENT.refusal)
}

/** How SIMs are shown to people. */
export const SIM_COLUMNS: CommandList['columns'] = [
  { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
  { value: 'state', fit: 'whole' },
  { value: 'attached', words: { true: 'yes', false: 'no', null: 'unknown' } },
  'label',
  { title: 'ICCID', value: '…{iccid_last4}' },
  { value: 'profile', usual: 'default' },
  { title: 'EXPIRES', value: 'expires_at', as: 'day', fit: 'whole' },
  { title: 'PROVISIONING', value: 'provisioning.status', usual: 'synced' },
]
