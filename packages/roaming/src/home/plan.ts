import {
  chunksOf,
  type ImsiHash,
  keysetPages,
  type MutationTx,
  msFromDuration,
  type OtherBox,
  type Outcome,
  type Principal,
  type Reconciler,
  type SimWanted,
  simProvisioningRef,
  systemPrincipal,
} from '@steeple/contracts'
import { ALL, BOX_RESOURCE, indProblem, othersOf, PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { freeInd, seqToBegin } from '../sqn.ts'
import {
  AT_ONCE_MS,
  allBoxes,
  CALLS,
  COUNTS,
  callersOf,
  countsOf,
  type Known,
  knownHashes,
  knownOf,
  LEASES,
  type LeaseRow,
  type LeaseState,
  leasesOf,
  REACHES,
  type Reach,
  type ReachRow,
} from '../store.ts'

/** All are looked at so often, beside each that changes. */
const RESYNC_MS = 600_000
/** SIMs that are read at once, and changed in one mutation. */
const CHUNK = 200
const DAY_MS = 86_400_000
/** Who changes leases by itself. */
export const BY: Principal = systemPrincipal('roaming')

/** How long a lease holds by itself. */
export function leaseMs(text: string): number {
  return msFromDuration(text) ?? DAY_MS
}

/** Makes leases of what SIMs, reaches, permits and members say. */
export function planReconciler(parts: RoamingParts): Reconciler {
  return {
    resource: PLAN_RESOURCE,
    resyncMs: RESYNC_MS,
    batch: CHUNK,
    urgentConcurrency: 1,
    keys: async () => [ALL],
    reconcile: async (keys, signal): Promise<Outcome> => {
      const others = await othersOf(parts)
      // Of a mesh that is not known yet nobody is known to be out.
      if (others === undefined) return { state: 'converged' }
      const places = { permitted: await permittedOf(parts, others), others }
      if (keys.includes(ALL)) await planAll(parts, places, signal)
      const single = keys.filter((key) => key !== ALL)
      if (single.length > 0) await planHashes(parts, places, single)
      return { state: 'converged' }
    },
  }
}

/** The members, and those of them that a SIM may reach. */
interface Places {
  readonly others: ReadonlyMap<string, OtherBox>
  readonly permitted: ReadonlyMap<string, OtherBox>
}

async function permittedOf(
  parts: RoamingParts,
  others: Places['others'],
): Promise<ReadonlyMap<string, OtherBox>> {
  if (indProblem(parts) !== undefined) return new Map()
  const permitted = (await allBoxes(parts.context.db)).filter(({ permitted_at_ms: at }) => at !== null)
  // In their order, whatever that of the members is: who comes first gets an IND where they are scarce.
  return new Map(
    permitted.flatMap(({ node_id }): [string, OtherBox][] => {
      const box = others.get(node_id)
      return box === undefined ? [] : [[node_id, box]]
    }),
  )
}

async function planAll(parts: RoamingParts, places: Places, signal: AbortSignal): Promise<void> {
  const { context } = parts
  const hashes = new Set(await knownHashes(context.db))
  for (const chunk of chunksOf([...hashes], CHUNK)) {
    signal.throwIfAborted()
    await planHashes(parts, places, chunk)
  }
  if (context.config.default_reach !== 'mesh' || places.permitted.size === 0) return
  const sims = context.use(simProvisioningRef)
  const pages = keysetPages(
    (after) => sims.list(after, CHUNK),
    ({ imsi }) => imsi,
  )
  for await (const page of pages) {
    signal.throwIfAborted()
    const fresh = page.filter(({ imsi, wanted }) => wanted === 'open' && !hashes.has(imsi))
    await plan(parts, places, fresh)
  }
}

async function planHashes(parts: RoamingParts, places: Places, hashes: readonly string[]): Promise<void> {
  // An event's subject that is no hash is none of a SIM.
  const imsis = hashes as readonly ImsiHash[]
  const found: Planned[] = [...(await parts.context.use(simProvisioningRef).among(imsis))]
  const known = new Set<string>(found.map(({ imsi }) => imsi))
  for (const imsi of imsis) {
    if (known.has(imsi)) continue
    await forget(parts, places, imsi)
    found.push({ imsi, wanted: 'absent', generation: 0, issuedAtMs: 0, isErased: true })
  }
  await plan(parts, places, found)
}

/** A SIM as it should be; `isErased`: it is no more. */
type Planned = SimWanted & { readonly isErased?: boolean }

/** Nothing is kept of a SIM that is no more, once the members that had it have heard. */
async function forget({ context }: RoamingParts, { others }: Places, hash: string): Promise<void> {
  const all = await leasesOf(context.db, hash)
  const heard = all.filter(
    ({ node_id, wanted, told_revision, revision }) =>
      (wanted === 'erased' && told_revision === revision) || !others.has(node_id),
  )
  await context.db.write(async (tx) => {
    await REACHES.remove(tx, { hash })
    for (const node_id of await callersOf(tx, hash)) await CALLS.remove(tx, { hash, node_id })
    for (const { node_id } of heard) {
      await LEASES.remove(tx, { hash, node_id })
      for (const { visit } of await countsOf(tx, hash, node_id)) await COUNTS.remove(tx, { node_id, visit })
    }
  })
}

/** What is to change for one SIM. */
interface Step {
  readonly before: LeaseRow | undefined
  readonly after: LeaseRow
}

const ACTIONS = [
  { kind: 'grant', action: 'roaming.grant' },
  { kind: 'end', action: 'roaming.end' },
  { kind: 'change', action: 'roaming.change' },
] as const

/** Brings the leases of these SIMs to what they should be: what changes is audited, and the boxes are told. */
async function plan(parts: RoamingParts, { permitted }: Places, sims: readonly Planned[]): Promise<void> {
  const { context } = parts
  const kept = await knownOf(
    context.db,
    sims.map(({ imsi }) => imsi),
  )
  const dated = sims.flatMap((sim) => stepsOf(parts, permitted, sim, kept))
  if (dated.length === 0) return
  for (const { kind, action } of ACTIONS) {
    const steps = dated.filter((step) => kindOf(step) === kind)
    for (const node of new Set(steps.map(({ after }) => after.node_id))) {
      const ofNode = steps.filter(({ after }) => after.node_id === node)
      const write = async (tx: MutationTx): Promise<void> => {
        for (const { after } of ofNode) await LEASES.put(tx, after)
        tx.audit({ detail: { sims: ofNode.map(({ after }) => after.hash) } })
        tx.event({ type: action, subject: node, data: { sims: ofNode.length } })
        tx.dirty(BOX_RESOURCE, node, true)
      }
      await context.mutate(BY, action, node, write)
    }
  }
}

function kindOf({ before, after }: Step): (typeof ACTIONS)[number]['kind'] {
  if (isOver(after)) return 'end'
  return before === undefined || isOver(before) ? 'grant' : 'change'
}

function isOver({ wanted }: Pick<LeaseRow, 'wanted'>): boolean {
  return wanted === 'ended' || wanted === 'erased'
}

function stepsOf(
  parts: RoamingParts,
  places: Places['permitted'],
  sim: Planned,
  kept: Known,
): readonly Step[] {
  const { context } = parts
  const chosen = kept.reach.get(sim.imsi)
  const leases = kept.leases.get(sim.imsi) ?? []
  const called = kept.called.get(sim.imsi) ?? []
  const reached = reachedBoxes(chosen, context.config.default_reach, { places, called })
  const given = new Set(leases.map(({ ind }) => ind))
  const steps: Step[] = []
  for (const lease of leases) {
    const wanted = reached.has(lease.node_id) || sim.isErased === true ? stateOf(sim) : 'ended'
    const after = changed(parts, lease, leases, sim, wanted)
    if (after !== undefined) steps.push({ before: lease, after })
  }
  if (sim.wanted !== 'open') return steps
  for (const node_id of reached) {
    if (leases.some((lease) => lease.node_id === node_id)) continue
    const ind = freeInd(given, node_id)
    // GET …/reach says that this box has none.
    if (ind === undefined) break
    given.add(ind)
    steps.push({ before: undefined, after: newLease(parts, sim, leases, { node_id, ind }) })
  }
  return steps
}

/** The boxes that the reach of a SIM has. */
export function reachedBoxes(
  chosen: Pick<ReachRow, 'reach' | 'boxes'> | undefined,
  byDefault: Reach,
  { places, called }: { readonly places: ReadonlyMap<string, unknown>; readonly called: readonly string[] },
): ReadonlySet<string> {
  const reach = chosen?.reach ?? byDefault
  if (reach === 'mesh') return new Set(places.keys())
  const named: Readonly<Record<typeof reach, readonly string[]>> = {
    home: [],
    boxes: boxesIn(chosen),
    on_demand: called,
  }
  return new Set(named[reach].filter((id) => places.has(id)))
}

/** The boxes that a reach names. */
export function boxesIn(chosen: Pick<ReachRow, 'boxes'> | undefined): readonly string[] {
  // Written from a list of ids alone.
  return chosen === undefined ? [] : (JSON.parse(chosen.boxes) as readonly string[])
}

function stateOf({ wanted, isErased = false }: Planned): LeaseState {
  if (isErased) return 'erased'
  return wanted === 'absent' ? 'ended' : wanted
}

/** The lease after a change; undefined when it holds already. */
function changed(
  parts: RoamingParts,
  lease: LeaseRow,
  all: readonly LeaseRow[],
  sim: SimWanted,
  wanted: LeaseState,
): LeaseRow | undefined {
  // What has ended hears of no change.
  if (
    lease.wanted === wanted &&
    (wanted === 'ended' || wanted === 'erased' || lease.generation === sim.generation)
  )
    return undefined
  const nowMs = parts.context.clock.nowMs()
  const isBack = isOver(lease) && wanted === 'open'
  return {
    ...lease,
    wanted,
    generation: sim.generation,
    revision: lease.revision + 1,
    renew_at_ms: AT_ONCE_MS,
    needs_keys: wanted === 'open' ? 1 : lease.needs_keys,
    seq: isBack ? beginning(parts, sim, all, lease.seq) : lease.seq,
    granted_at_ms: isBack ? nowMs : lease.granted_at_ms,
  }
}

function newLease(
  parts: RoamingParts,
  sim: SimWanted,
  all: readonly LeaseRow[],
  { node_id, ind }: Pick<LeaseRow, 'node_id' | 'ind'>,
): LeaseRow {
  const nowMs = parts.context.clock.nowMs()
  return {
    hash: sim.imsi,
    node_id,
    ind,
    seq: beginning(parts, sim, all, 0),
    revision: 1,
    told_revision: 0,
    wanted: 'open',
    generation: sim.generation,
    needs_keys: 1,
    granted_at_ms: nowMs,
    until_ms: null,
    renew_at_ms: AT_ONCE_MS,
    problem: null,
    visit: null,
    up_bytes: 0,
    down_bytes: 0,
  }
}

function beginning(
  { context }: RoamingParts,
  { issuedAtMs }: SimWanted,
  all: readonly LeaseRow[],
  aboveOwn: number,
): number {
  const highest = Math.max(0, ...all.map(({ seq }) => seq))
  return seqToBegin({ issuedAtMs, nowMs: context.clock.nowMs(), aboveOwn, highest })
}
