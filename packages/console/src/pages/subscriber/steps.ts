/** What somebody does to a SIM that the core has to follow. */
export type Move = 'suspend' | 'resume' | 'revoke'

/** How far it is. `away`: the core cannot be reached; the last three are ends. */
export type Step = 'asked' | 'away' | 'blocked' | 'off' | 'may' | 'failed'
const ENDS: readonly Step[] = ['off', 'may', 'failed']

/** What of a SIM says how far it is. */
interface Provisioned {
  readonly state: string
  readonly provisioning: { readonly status: string; readonly waits_for: string | null }
}

/** How far a move is by what the service says of its SIM. `isAway`: an outage of the core or of its database goes on. */
export function stepOf(move: Move, { provisioning }: Provisioned, isAway: boolean): Step {
  const { status, waits_for: waitsFor } = provisioning
  if (status === 'failed') return 'failed'
  if (move !== 'resume' && status === 'synced') return 'off'
  if (isAway || waitsFor === 'hss') return 'away'
  if (status === 'synced') return 'may'
  return move !== 'resume' && waitsFor === 'phone' ? 'blocked' : 'asked'
}

/** Whether nothing comes behind it. */
export function isEnd(step: Step): boolean {
  return ENDS.includes(step)
}

/** Whether somebody has done something else to the SIM since. */
export function isOvertaken(move: Move, { state }: Pick<Provisioned, 'state'>): boolean {
  if (move === 'resume') return state === 'suspended' || state === 'revoked'
  return state !== (move === 'suspend' ? 'suspended' : 'revoked')
}
