import {
  createPause,
  lifecycleRef,
  nodeIdentityRef,
  type RecordedSimMove,
  simRegisterRef,
  type Tx,
} from '@steeple/contracts'
import type { ComplianceParts } from './parts.ts'
import { addMoves, type MoveRow, STANDINGS, type StandingRow } from './store.ts'

/** SIMs of one transaction: other writers wait for it. */
const PAGE = 250

/**
 * Compares what the record knows with what is: at the first load that writes down who stands where, later what has happened
 * while this plugin was not there. Moves that come meanwhile are recorded as ever; both see one transaction at a time.
 */
export async function compareAll(parts: ComplianceParts, signal: AbortSignal): Promise<void> {
  await compareNode(parts)
  const { context } = parts
  const pause = createPause()
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; await pause()) {
    const from: string = after
    after = await context.db.write((tx) => comparePage(parts, tx, from))
  }
}

/** Gives the last hash that was looked at; undefined at the end. */
async function comparePage(parts: ComplianceParts, tx: Tx, after: string): Promise<string | undefined> {
  const states = await parts.context.use(simRegisterRef).states(tx, after, PAGE)
  const last = states.at(-1)
  if (last === undefined) return undefined
  const known = await knownBetween(tx, after, last.imsi)
  const rows = states.flatMap((state) => differenceOf(parts, state, known.get(state.imsi)))
  await note(parts, tx, rows)
  return states.length < PAGE ? undefined : last.imsi
}

async function knownBetween(tx: Tx, after: string, upTo: string): Promise<ReadonlyMap<string, StandingRow>> {
  const rest = 'where subject > :after and subject <= :up_to'
  const rows = await STANDINGS.select(tx, rest, { after, up_to: upTo })
  return new Map(rows.map((row) => [row.subject, row]))
}

function differenceOf(
  { context }: ComplianceParts,
  {
    imsi,
    to,
    reason = null,
  }: Omit<RecordedSimMove, 'from' | 'reason'> & { readonly reason?: string | undefined | null },
  known: StandingRow | undefined,
): readonly Omit<MoveRow, 'seq'>[] {
  if (known?.state === to && known.reason === reason) return []
  return [
    {
      at_ms: context.clock.nowMs(),
      kind: 'sim',
      subject: imsi,
      from_state: known?.state ?? null,
      to_state: to,
      reason,
      how: known === undefined ? 'snapshot' : 'found',
    },
  ]
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
    await note(parts, tx, [
      {
        at_ms: context.clock.nowMs(),
        kind: 'lifecycle',
        subject,
        from_state: before?.state ?? null,
        to_state: state,
        reason: null,
        how: before === undefined ? 'snapshot' : 'found',
      },
    ])
  })
}

async function note(parts: ComplianceParts, tx: Tx, rows: readonly Omit<MoveRow, 'seq'>[]): Promise<void> {
  if (rows.length === 0) return
  await addMoves(tx, rows)
  tx.afterCommit(() => {
    for (const { how } of rows) parts.count.moved(how, 1)
  })
}
