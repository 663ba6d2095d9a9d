import { isDeepStrictEqual } from 'node:util'
import { isRecord, type Tx } from '@steeple/contracts'
import { type BoxReport, digestOf, readDocument } from '../document.ts'
import type { State, Values } from '../state.ts'
import { type DocumentRow, type ReportRow, ROLLOUTS, type RolloutRow } from '../store.ts'
import { advanced, BEGINNING, type Candidate, type Rollout } from './rollout.ts'

/** A box, what its groups say, what it was told before, and what it has told. */
export interface Planned {
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
  // Written by the route, from its schema.
  const report = told === undefined ? undefined : (JSON.parse(told.report) as BoxReport)
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
