import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isRecord, type Tx } from '@steeple/contracts'
import { type BoxReport, digestOf, readDocument, reportIn } from '../document.ts'
import type { State, Values } from '../state.ts'
import { type DocumentRow, type ReportRow, ROLLOUTS, type RolloutRow } from '../store.ts'

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

/** A box, what its groups say, what it was told before, and what it has told. */
interface Planned {
  readonly node: string
  readonly state: State
  readonly before: DocumentRow | undefined
  readonly told: ReportRow | undefined
}

const MINUTE_MS = 60_000
const SETTLE_MINUTES = 60

/** A roll-out as it is kept. */
export function rolloutOf(row: RolloutRow): Rollout {
  // Written by `keep`.
  const given = JSON.parse(row.given) as readonly string[]
  return { stage: row.stage, given, wellSinceMs: row.well_since_ms, stoppedBy: row.stopped_by }
}

/**
 * The states of boxes with the builds that they are to have now: of one whose turn has not come the build that it was told before. Roll-outs go
 * on by what boxes have told, and are forgotten when no group names their build.
 */
export async function stagedStates(
  tx: Tx,
  nowMs: number,
  planned: readonly Planned[],
): Promise<ReadonlyMap<string, State>> {
  const rows = new Map((await ROLLOUTS.select(tx, '')).map((row) => [row.build, row]))
  const builds = Map.groupBy(planned, ({ state }) => buildIn(state) ?? '')
  for (const build of rows.keys()) if (!builds.has(build)) await ROLLOUTS.remove(tx, { build })
  const states = new Map((builds.get('') ?? []).map(({ node, state }) => [node, state]))
  builds.delete('')
  for (const [build, boxes] of builds) {
    const row = rows.get(build)
    const before = row === undefined ? BEGINNING : rolloutOf(row)
    const settleMs = Math.max(...boxes.map(({ state }) => settleMsOf(state)))
    const after = advanced(build, before, boxes.map(candidateOf), { nowMs, settleMs })
    if (row === undefined || !isDeepStrictEqual(after, before)) await keep(tx, build, after)
    for (const box of boxes)
      states.set(box.node, after.given.includes(box.node) ? ownTerms(box.state) : heldBack(box))
  }
  return states
}

function settleMsOf({ software }: State): number {
  return Number(software?.settle_minutes ?? SETTLE_MINUTES) * MINUTE_MS
}

async function keep(tx: Tx, build: string, { stage, given, wellSinceMs, stoppedBy }: Rollout): Promise<void> {
  await ROLLOUTS.put(tx, {
    ...{ build, stage, given: JSON.stringify(given) },
    ...{ well_since_ms: wellSinceMs, stopped_by: stoppedBy },
  })
}

function buildIn({ software }: State): string | undefined {
  return typeof software?.build === 'string' ? software.build : undefined
}

/** What a box is told: how it is let out is the hub's. */
function ownTerms(state: State): State {
  const { at_once, settle_minutes, ...software } = state.software ?? {}
  return { ...state, software }
}

function heldBack({ state, before }: Planned): State {
  const { software, ...others } = state
  const told = before === undefined ? undefined : readDocument(before.document).state.software
  return told === undefined ? others : { ...others, software: told }
}

function candidateOf(box: Planned): Candidate {
  const { node, state, told } = box
  const report = reportIn(told?.report)
  return {
    node,
    isAtOnce: state.software?.at_once === true,
    isPermitted: report?.permitted.includes('software') ?? false,
    toldAtMs: told?.at_ms,
    standing: report === undefined ? 'under_way' : standingIn(report, box),
  }
}

/** What a report says of the build: nothing when it is of another document. */
function standingIn(report: BoxReport, { state, before }: Planned): Candidate['standing'] {
  if (before === undefined || report.digest !== digestOf(before.document)) return 'under_way'
  const toldOf: Values | undefined = readDocument(before.document).state.software
  const part = report.parts.find((one) => one.part === 'software')
  if (!isRecord(toldOf) || toldOf.build !== buildIn(state) || part === undefined) return 'under_way'
  if (part.status === 'refused') return 'refused'
  return part.status === 'applied' && part.drift.length === 0 ? 'well' : 'under_way'
}
