import { ERROR_CATALOGUE, type ErrorCode, type ErrorFactory } from '@steeple/contracts'

/** Codes whose message is written where they are thrown. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['validation_failed', 'something in the request breaks a rule of the operation; details names each'],
  ['capacity_exceeded', 'there is no room for more of this; the message says of what'],
  [
    'invalid_transition',
    'the lifecycle is not in the state that the request begins with; the message names both',
  ],
  ['node_state_conflict', 'the node is in a state that does not allow this'],
  ['peer_exists', 'another peer has this name or key'],
  ['plmn_mismatch', 'the IMSI belongs to another network than this one'],
  [
    'plugin_state_conflict',
    'the plugin is in a state that does not allow this; the message has step and reason',
  ],
  [
    'settings_fixed',
    'a variable or a flag decides the setting, or the service may not write the configuration file',
  ],
  ['sim_state_conflict', 'the SIM is in a state from which this cannot be done'],
  ['sim_swap_cooldown', 'this subscriber got another SIM a short time ago; the policy says how long to wait'],
  ['tx_gate_closed', 'a condition of transmitting is not met; details names each'],
  ['tx_not_armed', 'this needs TX to be armed first'],
  ['not_ready', 'not yet, or not for the moment; try again, after Retry-After where it is there'],
  [
    'southbound_unavailable',
    'the core, its subscriber database or the radio does not answer; the message says which',
  ],
  ['rate_limited', 'too much in too short a time; Retry-After says when to try again'],
])
/** More than any message has values. */
const VALUES: readonly string[] = ['…', '…', '…', '…']

/** Every code that an answer can carry, by status, with what it means: the service's and those of `plugins`. */
export function errorCodes(plugins: readonly ErrorCode[]): readonly ErrorCode[] {
  const own = ERROR_CATALOGUE.map((factory) => ({
    code: factory.code,
    status: factory.status,
    meaning: MEANINGS.get(factory.code) ?? meaningOf(factory),
  }))
  const theirs = new Map(plugins.map((one) => [one.code, one]))
  return [...own, ...theirs.values()].sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
}

function meaningOf(factory: ErrorFactory): string {
  return factory(...VALUES).message
}
