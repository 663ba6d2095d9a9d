/** States of a SIM. Contract section 6; `revoked` is terminal. */
export type SimState = 'issued' | 'in-use' | 'suspended' | 'expired' | 'revoked'
/** Why a SIM is suspended. */
export type SuspendReason = 'operator' | 'quota' | 'policy'
/** What can move a SIM. */
export type SimAction = 'attach' | 'suspend' | 'resume' | 'expire' | 'unexpire' | 'revoke'

/** Every state, in the order of the contract. */
export const SIM_STATES: readonly SimState[] = ['issued', 'in-use', 'suspended', 'expired', 'revoked']

/**
 * `before`: the state that the suspension interrupted. `unexpired`: what it was when it expired. `same`: holds already,
 * nothing changes.
 */
type Target = SimState | 'before' | 'unexpired' | 'same'

/** The moves of contract section 6. What is missing here is refused. */
const MOVES: Readonly<Record<SimState, Readonly<Partial<Record<SimAction, Target>>>>> = {
  issued: { attach: 'in-use', suspend: 'suspended', resume: 'same', expire: 'expired', revoke: 'revoked' },
  'in-use': { attach: 'same', suspend: 'suspended', resume: 'same', expire: 'expired', revoke: 'revoked' },
  suspended: { suspend: 'same', resume: 'before', expire: 'expired', revoke: 'revoked' },
  expired: { expire: 'same', unexpire: 'unexpired', revoke: 'revoked' },
  revoked: { revoke: 'same' },
}

/** The part of a SIM that its state consists of. */
export interface SimStanding {
  readonly state: SimState
  /** The state that a suspension or the expiry interrupted; null while there is none. */
  readonly previous_state: SimState | null
  /** Of a SIM that is suspended, or was when it expired. */
  readonly suspend_reason: SuspendReason | null
}

/**
 * The standing after an action; the same object when it holds already, undefined when the table lacks the move.
 *
 * An operator's suspension replaces the reason of one by quota or policy, so that no new period lifts it.
 */
export function moved(
  standing: SimStanding,
  action: SimAction,
  reason: SuspendReason = 'operator',
): SimStanding | undefined {
  const target = MOVES[standing.state][action]
  if (target === undefined) return undefined
  if (target === 'same')
    return isHarder(standing, action, reason) ? { ...standing, suspend_reason: reason } : standing
  if (target === 'before')
    return { state: standing.previous_state ?? 'issued', previous_state: null, suspend_reason: null }
  if (target === 'suspended') return { state: target, previous_state: standing.state, suspend_reason: reason }
  if (target === 'expired') return expired(standing)
  if (target === 'unexpired') return unexpired(standing)
  return { state: target, previous_state: null, suspend_reason: null }
}

/** Keeps what it was: the clock may turn out to have been wrong. */
function expired({ state, previous_state, suspend_reason }: SimStanding): SimStanding {
  const interrupted = state === 'suspended' ? (previous_state ?? 'issued') : state
  return { state: 'expired', previous_state: interrupted, suspend_reason }
}

/** One that expired before its state was kept comes back suspended: it may have been. */
function unexpired({ previous_state, suspend_reason }: SimStanding): SimStanding {
  const reason = previous_state === null ? 'operator' : suspend_reason
  const interrupted = previous_state ?? 'issued'
  if (reason === null) return { state: interrupted, previous_state: null, suspend_reason: null }
  return { state: 'suspended', previous_state: interrupted, suspend_reason: reason }
}

function isHarder(standing: SimStanding, action: SimAction, reason: SuspendReason): boolean {
  return action === 'suspend' && reason === 'operator' && standing.suspend_reason !== 'operator'
}

/** What an HSS must hold of a SIM in a state. */
export function wantedInHss(state: SimState): 'open' | 'blocked' | 'absent' {
  if (state === 'issued' || state === 'in-use') return 'open'
  return state === 'suspended' ? 'blocked' : 'absent'
}
