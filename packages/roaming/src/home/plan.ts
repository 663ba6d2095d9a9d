import {
  chunksOf,
  type ImsiHash,
  type MutationTx,
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
  allBoxes,
  CALLS,
  COUNTS,
  callersOf,
  countsOf,
  knownHashes,
  LEASES,
  type LeaseRow,
  type LeaseState,
  leasesOf,
  REACHES,
  type Reach,
  type ReachRow,
} from '../store.ts'

const RESYNC_MS = 60_000
/** SIMs that are read at once, and changed in one mutation. */
const CHUNK = 200
/** Who changes leases by itself. */
export const BY: Principal = systemPrincipal('roaming')

/** Makes leases of what SIMs, reaches, permits and members say. */
export function planReconciler(parts: RoamingParts): Reconciler {
  return {
    resource: PLAN_RESOURCE,
    resyncMs: RESYNC_MS,
    batch: CHUNK,
    urgentConcurrency: 1,
    keys: async () => [ALL],
    reconcile: async (keys, signal): Promise<Outcome> => {
      const places = await placesOf(parts)
      // Of a mesh that is not known yet nobody is known to be out.
      if (places === undefined) return { state: 'converged' }
      if (keys.includes(ALL)) await planAll(parts, places, signal)
      const single = keys.filter((key) => key !== ALL)
      if (single.length > 0) await planHashes(parts, places, single)
      return { state: 'converged' }
    },
  }
}

/** Boxes that a SIM may reach: permitted, and members. */
type Places = ReadonlyMap<string, OtherBox>

async function placesOf(parts: RoamingParts): Promise<Places | undefined> {
  const others = await othersOf(parts)
  if (others === undefined) return undefined
  if (indProblem(parts) !== undefined) return new Map()
  const permitted = (await allBoxes(parts.context.db)).filter(({ permitted_at_ms: at }) => at !== null)
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
  if (context.config.default_reach !== 'mesh' || places.size === 0) return
  const sims = context.use(simProvisioningRef)
  for (let after = ''; ; ) {
    signal.throwIfAborted()
    const page = await sims.list(after, CHUNK)
    const last = page.at(-1)
    if (last === undefined) return
    const fresh = page.filter(({ imsi, wanted }) => wanted === 'open' && !hashes.has(imsi))
    await plan(parts, places, fresh)
    after = last.imsi
  }
}

async function planHashes(parts: RoamingParts, places: Places, hashes: readonly string[]): Promise<void> {
  const sims = parts.context.use(simProvisioningRef)
  const found: SimWanted[] = []
  for (const hash of hashes) {
    // An event's subject that is no hash is none of a SIM.
    const imsi = hash as ImsiHash
    const sim = await sims.find(imsi)
    if (sim === undefined) await forget(parts, hash)
    found.push(sim ?? { imsi, wanted: 'absent', generation: 0, issuedAtMs: 0 })
  }
  await plan(parts, places, found)
}

/** Nothing is kept of a SIM that is no more, once the boxes that had it have heard. */
async function forget({ context }: RoamingParts, hash: string): Promise<void> {
  const all = await leasesOf(context.db, hash)
  const heard = all.filter(
    ({ wanted, told_revision, revision }) => wanted === 'ended' && told_revision === revision,
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
async function plan(parts: RoamingParts, places: Places, sims: readonly SimWanted[]): Promise<void> {
  const { context } = parts
  const dated: Step[] = []
  for (const sim of sims) dated.push(...(await stepsOf(parts, places, sim)))
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
  if (after.wanted === 'ended') return 'end'
  return before === undefined || before.wanted === 'ended' ? 'grant' : 'change'
}

async function stepsOf(parts: RoamingParts, places: Places, sim: SimWanted): Promise<readonly Step[]> {
  const { context } = parts
  const chosen = await REACHES.find(context.db, { hash: sim.imsi })
  const leases = await leasesOf(context.db, sim.imsi)
  const called = await callersOf(context.db, sim.imsi)
  const reached = reachedBoxes(chosen, context.config.default_reach, { places, called })
  const given = new Set(leases.map(({ ind }) => ind))
  const steps: Step[] = []
  for (const lease of leases) {
    const wanted = reached.has(lease.node_id) ? stateOf(sim) : 'ended'
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

function stateOf({ wanted }: SimWanted): LeaseState {
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
  if (lease.wanted === wanted && (wanted === 'ended' || lease.generation === sim.generation)) return undefined
  const nowMs = parts.context.clock.nowMs()
  const isBack = lease.wanted === 'ended'
  return {
    ...lease,
    wanted,
    generation: sim.generation,
    revision: lease.revision + 1,
    renew_at_ms: nowMs,
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
    renew_at_ms: nowMs,
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
