import { setTimeout as delay } from 'node:timers/promises'
import {
  lifecycleRef,
  type MoveRecorder,
  nodeIdentityRef,
  restAfter,
  simRegisterRef,
  type Tx,
} from '@steeple/contracts'
import type { ComplianceParts } from './parts.ts'
import { addMoves, type MoveRow, STANDINGS, type StandingRow } from './store.ts'

/** SIMs of one transaction: other writers wait for it. */
const PAGE = 250
/** Rest for each part of work, while all is as it was: a sixteenth of a core, with the check of the store after a start. */
const RESTS = 15
/** A page that waited for other writers is not rested for at length, ms. */
const LONGEST_REST_MS = 500

/**
 * Compares what the record knows with what is: at the first load that writes down who stands where, later what has happened
 * while this plugin was not there. Moves that come meanwhile are recorded as ever; both see one transaction at a time.
 */
export async function compareAll(parts: ComplianceParts, signal: AbortSignal): Promise<void> {
  await compareNode(parts)
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
    const from: string = after
    const begunMs = performance.now()
    const page = await parts.context.db.write((tx) => comparePage(parts, tx, from))
    after = page.last
    if (after === undefined) return
    const owedMs = Math.min(RESTS * (performance.now() - begunMs), LONGEST_REST_MS)
    const restMs = page.isChanged ? 0 : restAfter(owedMs)
    // The end of this copy ends the rest.
    await delay(restMs, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

interface Page {
  /** The last hash that was looked at; undefined at the end. */
  readonly last: string | undefined
  readonly isChanged: boolean
}

async function comparePage(parts: ComplianceParts, tx: Tx, after: string): Promise<Page> {
  const states = await parts.context.use(simRegisterRef).states(tx, after, PAGE)
  const last = states.at(-1)
  if (last === undefined) return { last, isChanged: false }
  const known = await knownBetween(tx, after, last.imsi)
  const rows = states.flatMap(({ imsi, to, reason = null }): Noted | readonly [] => {
    const before = known.get(imsi)
    if (before?.state === to && before.reason === reason) return []
    return { kind: 'sim', subject: imsi, to_state: to, reason, ...since(before) }
  })
  await note(parts, tx, rows)
  return { last: states.length < PAGE ? undefined : last.imsi, isChanged: rows.length > 0 }
}

async function knownBetween(tx: Tx, after: string, upTo: string): Promise<ReadonlyMap<string, StandingRow>> {
  const rest = 'where subject > :after and subject <= :up_to'
  const rows = await STANDINGS.select(tx, rest, { after, up_to: upTo })
  return new Map(rows.map((row) => [row.subject, row]))
}

/** A move as it is told of here; a reason that nobody gave is none. */
type Noted = Pick<MoveRow, 'kind' | 'subject' | 'to_state' | 'how'> & {
  readonly from_state: string | null | undefined
  readonly reason?: string | null | undefined
}

/** Writes moves down as of now, and counts them. */
async function note({ context, count }: ComplianceParts, tx: Tx, moves: readonly Noted[]): Promise<void> {
  if (moves.length === 0) return
  const at_ms = context.clock.nowMs()
  await addMoves(
    tx,
    moves.map(({ from_state = null, reason = null, ...move }) => ({ ...move, at_ms, from_state, reason })),
  )
  tx.afterCommit(() => {
    for (const { how } of moves) count.moves.inc({ how })
  })
}

/** Writes moves down in the transactions that make them. */
export function moveRecorder(parts: ComplianceParts): MoveRecorder {
  const { db } = parts.context
  return {
    simsMoved: async (tx, moves) =>
      await note(
        parts,
        db.join(tx),
        moves.map(({ imsi, from, to, reason }) => ({
          kind: 'sim',
          subject: imsi,
          from_state: from,
          to_state: to,
          reason,
          how: 'move',
        })),
      ),
    nodeMoved: async (tx, { nodeId, from, to }) =>
      await note(parts, db.join(tx), [
        { kind: 'lifecycle', subject: nodeId, from_state: from, to_state: to, how: 'move' },
      ]),
  }
}

/** What was known before, and so how the difference was learnt. */
function since(before: StandingRow | undefined): Pick<Noted, 'from_state' | 'how'> {
  return { from_state: before?.state, how: before === undefined ? 'snapshot' : 'found' }
}

/** The state is read before: a move that comes in between has changed what is known, and then the record is right. */
async function compareNode(parts: ComplianceParts): Promise<void> {
  const { context } = parts
  const { nodeId: subject } = context.use(nodeIdentityRef)
  const before = await STANDINGS.find(context.db, { subject })
  const state = await context.maybe(lifecycleRef)?.state()
  if (state === undefined || before?.state === state) return
  await context.db.write(async (tx) => {
    const now = await STANDINGS.find(tx, { subject })
    if (now?.state !== before?.state) return
    await note(parts, tx, [{ kind: 'lifecycle', subject, to_state: state, ...since(before) }])
  })
}
