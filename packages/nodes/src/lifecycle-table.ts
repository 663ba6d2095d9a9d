import type { LifecycleState } from '@steeple/contracts'

/** What a transition may need. `mesh` ones can be skipped by force; nothing else can. */
type Prerequisite = 'certificate' | 'tx_armed' | 'mesh_joined' | 'routes_exchanged'

/** Which prerequisites hold now. */
export type Facts = Readonly<Record<Prerequisite, boolean>>

/** One line of the specification's table, as a request may ask for it. */
export interface Transition {
  readonly from: LifecycleState
  readonly to: LifecycleState
  readonly needs: readonly Prerequisite[]
}

/**
 * The transitions that may be requested. Specification, "Node lifecycle"; the inverse ones are contract section 4.
 *
 * Each re-validates everything that its target stands on, so nothing on air is reached with a closed TX gate.
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'provision', to: 'register', needs: ['certificate'] },
  { from: 'register', to: 'on_air', needs: ['tx_armed'] },
  { from: 'on_air', to: 'peer', needs: ['tx_armed', 'mesh_joined'] },
  { from: 'peer', to: 'breakout', needs: ['tx_armed', 'mesh_joined', 'routes_exchanged'] },
  { from: 'on_air', to: 'register', needs: [] },
  { from: 'peer', to: 'on_air', needs: ['tx_armed'] },
]

const FORCEABLE: ReadonlySet<Prerequisite> = new Set(['mesh_joined', 'routes_exchanged'])

/** What to do about each missing prerequisite. */
const REMEDY: Readonly<Record<Prerequisite, string>> = {
  certificate: 'the node has no valid certificate of the mesh CA (enroll it)',
  tx_armed: 'TX is not armed (POST /v1/tx/arm; no force passes the TX gate)',
  mesh_joined: 'the node has not joined a mesh (an admin may force it)',
  routes_exchanged: 'no routes are exchanged with a peer (an admin may force it)',
}

/** What a request comes to: a move, forced when a missing prerequisite was skipped, or a refusal and why. */
export type Decision =
  | { readonly isAllowed: true; readonly isForced: boolean }
  | { readonly isAllowed: false; readonly reason: string }

/** Decides a requested transition. `from` must be the current state and the pair one of `TRANSITIONS`. */
export function decide(
  current: LifecycleState,
  request: { readonly from: LifecycleState; readonly to: LifecycleState; readonly force: boolean },
  facts: Facts,
): Decision {
  const [from, to] = [spelling(request.from), spelling(request.to)]
  if (request.from !== current) {
    return {
      isAllowed: false,
      reason: `the node is in ${spelling(current)}, not in ${from}; it cannot move to ${to}`,
    }
  }
  const transition = TRANSITIONS.find((line) => line.from === request.from && line.to === request.to)
  if (transition === undefined) {
    return { isAllowed: false, reason: `there is no transition from ${from} to ${to}; ${waysFrom(current)}` }
  }
  const missing = transition.needs.filter((need) => !facts[need])
  const blocking = request.force ? missing.filter((need) => !FORCEABLE.has(need)) : missing
  if (blocking.length > 0) {
    const reasons = blocking.map((need) => REMEDY[need]).join('; ')
    return { isAllowed: false, reason: `from ${from} to ${to}: ${reasons}` }
  }
  return { isAllowed: true, isForced: missing.length > 0 }
}

function waysFrom(state: LifecycleState): string {
  const targets = TRANSITIONS.filter((line) => line.from === state).map((line) => spelling(line.to))
  return targets.length === 0
    ? `none may be requested from ${spelling(state)}`
    : `possible from ${spelling(state)}: ${targets.join(', ')}`
}

/** The spellings that requests may use. */
export const SPELLINGS: readonly string[] = ['provision', 'register', 'on-air', 'on_air', 'peer', 'breakout']

/** A state as answers spell it: `on-air`, the rest as stored. */
export function spelling(state: LifecycleState): string {
  return state === 'on_air' ? 'on-air' : state
}

const STATES: ReadonlyMap<string, LifecycleState> = new Map<string, LifecycleState>([
  ['provision', 'provision'],
  ['register', 'register'],
  ['on-air', 'on_air'],
  ['on_air', 'on_air'],
  ['peer', 'peer'],
  ['breakout', 'breakout'],
])

/** The state of a spelling; undefined for any other text. */
export function stateFrom(text: string): LifecycleState | undefined {
  return STATES.get(text)
}

/** The status that `GET /v1/status` and the node record show for a state. */
export type NodeStatus = 'bootstrap' | 'registered' | 'on-air' | 'peered' | 'degraded'

const STATUS: Readonly<Record<LifecycleState, NodeStatus>> = {
  provision: 'bootstrap',
  register: 'registered',
  on_air: 'on-air',
  peer: 'peered',
  breakout: 'peered',
}

/** Contract section 4: the state's status, unless the degraded overlay lies over it. */
export function statusOf(state: LifecycleState, isDegraded: boolean): NodeStatus {
  return isDegraded ? 'degraded' : STATUS[state]
}

/** Where an armed TX gate takes a state by itself. */
export function afterArming(state: LifecycleState, hasCertificate: boolean): LifecycleState {
  if (state === 'register' || (state === 'provision' && hasCertificate)) return 'on_air'
  return state
}

/** Where a disarmed TX gate takes a state by itself: nothing stays on air. */
export function afterDisarming(state: LifecycleState): LifecycleState {
  return state === 'provision' ? 'provision' : 'register'
}

/** What the mesh is seen to be. */
export interface MeshFacts {
  readonly isJoined: boolean
  readonly hasRoutes: boolean
}

/**
 * The next step of a node that follows the mesh by itself; undefined where it is right. Specification, "Node lifecycle":
 * mesh join, route exchange, mesh left. A state that was forced is not gone back from.
 */
export function towardsMesh(
  state: LifecycleState,
  { isJoined, hasRoutes }: MeshFacts,
  isForced: boolean,
): { readonly to: LifecycleState; readonly why: string } | undefined {
  if (state === 'on_air' && isJoined) return { to: 'peer', why: 'the node is in a mesh' }
  if (state === 'peer' && isJoined && hasRoutes) {
    return { to: 'breakout', why: 'routes are exchanged and phones are let out' }
  }
  if (isForced) return undefined
  if (state === 'breakout' && !(isJoined && hasRoutes)) {
    return { to: 'peer', why: 'no routes are exchanged, or phones are not let out' }
  }
  if (state === 'peer' && !isJoined) return { to: 'on_air', why: 'the node is in no mesh' }
  return undefined
}
