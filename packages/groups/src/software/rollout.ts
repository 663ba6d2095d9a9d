import { hash } from 'node:crypto'

/** How far a build is let out: to one box, to a tenth of them, to all. `stopped`: a box did not stay with it, and no other one gets it. */
export const STAGES = ['one', 'tenth', 'all', 'stopped'] as const
export type Stage = (typeof STAGES)[number]

/** A build on its way to boxes. */
export interface Rollout {
  readonly stage: Stage
  /** Node ids of those that are to have it, for good. */
  readonly given: readonly string[]
  /** Since when all of the stage are well with it; null while they are not. */
  readonly wellSinceMs: number | null
  /** The box that did not stay with it. */
  readonly stoppedBy: string | null
}
export const BEGINNING: Rollout = { stage: 'one', given: [], wellSinceMs: null, stoppedBy: null }

/** A box whose groups name the build. */
export interface Candidate {
  readonly node: string
  /** Without stages: its turn is now. */
  readonly isAtOnce: boolean
  /** Whether its admin permits builds. */
  readonly isPermitted: boolean
  /** When it has told of itself last, ms since the epoch. */
  readonly toldAtMs: number | undefined
  /** What it has told of this build. */
  readonly standing: 'well' | 'refused' | 'under_way'
}

/** When, and how patiently. */
export interface Pace {
  readonly nowMs: number
  /** How long all of a stage must be well. */
  readonly settleMs: number
}

/** One that may be away now is not chosen as the first. */
const HEARD_MS = 3_600_000
/** One that is silent for so long is not waited for. */
const AWAY_MS = 86_400_000
const TENTH = 10

/** What becomes of a roll-out by what boxes have told: stopped, the next stage, more boxes. */
export function advanced(
  build: string,
  before: Rollout,
  candidates: readonly Candidate[],
  pace: Pace,
): Rollout {
  if (before.stage === 'stopped') return before
  const own = candidates.filter(({ node }) => before.given.includes(node))
  const failed = own.find(({ standing }) => standing === 'refused')
  if (failed !== undefined) return { ...before, stage: 'stopped', wellSinceMs: null, stoppedBy: failed.node }
  const judged = judgedStage(before, own, candidates, pace)
  return { ...judged, given: givenIn(build, judged, candidates, pace.nowMs) }
}

function judgedStage(
  before: Rollout,
  own: readonly Candidate[],
  candidates: readonly Candidate[],
  { nowMs, settleMs }: Pace,
): Rollout {
  if (before.stage === 'all') return before
  const heard = own.filter(({ toldAtMs }) => toldAtMs !== undefined && nowMs - toldAtMs < AWAY_MS)
  const isFull = own.length >= sizeOf(before.stage, candidates)
  const isWell = isFull && heard.length > 0 && heard.every(({ standing }) => standing === 'well')
  if (!isWell) return { ...before, wellSinceMs: null }
  const wellSinceMs = before.wellSinceMs ?? nowMs
  if (nowMs - wellSinceMs < settleMs) return { ...before, wellSinceMs }
  return { ...before, stage: before.stage === 'one' ? 'tenth' : 'all', wellSinceMs: null }
}

/** How many boxes a stage has. */
export function sizeOf(stage: Stage, candidates: readonly Candidate[]): number {
  if (stage === 'all') return candidates.length
  const willing = candidates.filter(({ isPermitted }) => isPermitted).length
  return stage === 'one' ? Math.min(1, willing) : Math.ceil(willing / TENTH)
}

function givenIn(
  build: string,
  { stage, given }: Rollout,
  candidates: readonly Candidate[],
  nowMs: number,
): readonly string[] {
  const others = candidates.filter(({ node }) => !given.includes(node))
  if (stage === 'all') return [...given, ...others.map(({ node }) => node)]
  const chosen = others.filter(({ isAtOnce }) => isAtOnce)
  const room = sizeOf(stage, candidates) - (candidates.length - others.length) - chosen.length
  const ready = others.filter(
    ({ isAtOnce, isPermitted, toldAtMs }) =>
      !isAtOnce && isPermitted && toldAtMs !== undefined && nowMs - toldAtMs < HEARD_MS,
  )
  // Another order for each build, so that it is not always the same box that tries first.
  const inOrder = ready.map(({ node }) => ({ node, place: hash('sha256', `${build} ${node}`) }))
  const next = inOrder.toSorted((a, b) => (a.place < b.place ? -1 : 1)).slice(0, Math.max(0, room))
  return [...given, ...[...chosen, ...next].map(({ node }) => node)]
}
