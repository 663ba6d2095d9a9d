import { randomBytes } from 'node:crypto'
import {
  forbidden,
  type ImsiHash,
  type MutationTx,
  ok,
  type Request,
  type Route,
  route,
  subscribersRef,
  sumOctets,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { openFrom, ownKey } from '../envelope.ts'
import { indProblem, type RoamingParts, VISITOR_RESOURCE } from '../parts.ts'
import {
  ENDED,
  type EndedRow,
  type KeyRow,
  MARKS,
  VISITORS,
  type VisitorRow,
  type VisitorState,
} from '../store.ts'
import { readCard, wipeCard } from '../visitor-card.ts'
import { ANSWER_SCHEMA, LEASES_SCHEMA, type LeaseResult, type ToldLease } from '../wire.ts'
import { toldStays } from './stays.ts'
import { baseOf, usageOfVisits } from './usage.ts'

interface Body {
  readonly stays_after: number
  readonly counted: readonly string[]
  readonly leases: readonly ToldLease[]
}

/** A lease, with what its envelope held sealed for this box; `problem`: why that cannot be used. */
interface OpenedLease {
  readonly told: ToldLease
  /** What the ledger has of the SIM in this hour. */
  readonly base: Pick<VisitorRow, 'base_up_bytes' | 'base_down_bytes'>
  readonly sealed: Uint8Array | undefined
  readonly problem: string | undefined
}

/** `POST /v1/roaming/leases`: the home of SIMs tells how their leases here are to be. */
export function leasesRoute(parts: RoamingParts): Route {
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/roaming/leases',
    role: 'node',
    summary: 'Take leases of SIMs of another box',
    description:
      'A member of the mesh, for SIMs that it is the home of. The keys are sealed to this box. A lease that is not renewed ends by itself. ' +
      'Without leases it answers the key of this box and what its visitors have used.',
    example: { stays_after: 0, counted: [], leases: [] },
    schema: { body: LEASES_SCHEMA, response: ANSWER_SCHEMA },
    audit: 'roaming.visit',
    errors: ['forbidden', 'validation_failed'],
    handle: async (request) => {
      const { principal } = request
      if (principal.kind !== 'node' || principal.id === parts.node.nodeId)
        throw forbidden('node, another than this one')
      const key = await ownKey(parts)
      const { stays_after, counted, leases } = request.body
      if (counted.length > 0) await forgetCounted(parts, principal.id, new Set(counted))
      const results = leases.length === 0 ? [] : await take(parts, request, key)
      return ok({
        key: { id: key.id, x: key.x },
        results,
        usage: await usageOfVisits(parts, principal.id),
        stays: await toldStays(parts, principal.id, stays_after),
      })
    },
  })
}

async function take(
  parts: RoamingParts,
  request: Request<unknown, unknown, Body>,
  key: KeyRow,
): Promise<readonly LeaseResult[]> {
  const { principal, body } = request
  const renewed = await renew(parts, principal.id, body.leases)
  const rest = body.leases.filter(({ imsi_sha256_12: hash }) => !renewed.has(hash))
  const results: LeaseResult[] = [...renewed.values()]
  if (rest.length === 0) return results
  const closed = closedBecause(parts)
  const opened: OpenedLease[] = []
  for (const told of rest) opened.push(await open(parts, key, principal.id, told, closed))
  await request.mutate(principal.id, async (tx) => {
    const sims: Record<string, string[]> = {}
    for (const lease of opened) {
      const result = await takeOne(parts, tx, principal, lease)
      results.push(result)
      const word = result.status === 'taken' ? lease.told.state : result.status
      sims[word] = [...(sims[word] ?? []), lease.told.imsi_sha256_12]
    }
    tx.audit({ detail: { home: principal.name, ...sims } })
    return { body: {} }
  })
  return results
}

async function forgetCounted(
  { context }: RoamingParts,
  home: string,
  counted: ReadonlySet<string>,
): Promise<void> {
  await context.db.write(async (tx) => {
    for (const { hash, home_id, visit } of await ENDED.select(tx, 'where home_id = :home', { home }))
      if (counted.has(visit)) await ENDED.remove(tx, { hash, home_id })
  })
}

/** Leases that hold as they are told go on: only their time and their share are others. By hash. */
async function renew(
  parts: RoamingParts,
  home: string,
  leases: readonly ToldLease[],
): Promise<ReadonlyMap<string, LeaseResult>> {
  if (closedBecause(parts) !== undefined) return new Map()
  return await parts.context.db.write(async (tx) => {
    const renewed = new Map<string, LeaseResult>()
    for (const told of leases) {
      const row = await VISITORS.find(tx, { hash: told.imsi_sha256_12 })
      const isSame =
        row?.home_id === home &&
        row.revision === told.revision &&
        row.wanted === told.state &&
        row.ind === told.ind &&
        told.sealed === null
      if (!isSame) continue
      await VISITORS.put(tx, { ...row, ...timesOf(parts, told), limit_bytes: limitOf(told, row.visit) })
      renewed.set(told.imsi_sha256_12, resultOf(told, 'taken'))
    }
    return renewed
  })
}

function resultOf(
  { imsi_sha256_12, revision }: ToldLease,
  status: LeaseResult['status'],
  more: Partial<LeaseResult> = {},
): LeaseResult {
  return { imsi_sha256_12, status, revision, ind: null, reason: null, ...more }
}

/** Octets of the visit after which it waits for news from home. */
function limitOf({ share_bytes, counted_visit, counted_bytes }: ToldLease, visit: string): number | null {
  if (share_bytes === null) return null
  return sumOctets(share_bytes, counted_visit === visit ? counted_bytes : 0)
}

/** Why this box takes no SIM of another one; undefined when it does. */
export function closedBecause(parts: RoamingParts): string | undefined {
  if (!parts.context.config.visitors) return 'this box takes no SIMs of others: roaming.visitors is false'
  return indProblem(parts)
}

/** Opens what is sealed to this box, and seals it with the vault. */
async function open(
  parts: RoamingParts,
  key: KeyRow,
  home: string,
  told: ToldLease,
  closed: string | undefined,
): Promise<OpenedLease> {
  const { vault, node } = parts
  const base = await baseOf(parts, told.imsi_sha256_12)
  const none = { told, base, sealed: undefined, problem: undefined }
  if (told.state !== 'open') return none
  if (closed !== undefined) return { ...none, problem: closed }
  if (told.sealed === null) return none
  const plain = await openFrom(vault, key, { home, visited: node.nodeId }, told.sealed)
  if (plain === undefined) return none
  const card = readCard(plain)
  try {
    if (card === undefined || imsiHash(card.imsi) !== told.imsi_sha256_12)
      return { ...none, problem: 'the envelope holds something else than this SIM' }
    return { ...none, sealed: vault.seal(plain, `roaming_visitor/${told.imsi_sha256_12}`) }
  } finally {
    if (card !== undefined) wipeCard(card)
    plain.fill(0)
  }
}

async function takeOne(
  parts: RoamingParts,
  tx: MutationTx,
  home: Request['principal'],
  { told, base, sealed, problem }: OpenedLease,
): Promise<LeaseResult> {
  const hash = told.imsi_sha256_12
  const result = (status: LeaseResult['status'], more?: Partial<LeaseResult>): LeaseResult =>
    resultOf(told, status, more)
  if (told.state === 'erased') return result(await eraseFor(tx, home.id, told))
  const row = await VISITORS.find(tx, { hash })
  const reason = problem ?? (await refusal(parts, hash, row, home.id))
  if (reason !== undefined) return result('refused', { reason })
  const mark = await MARKS.find(tx, { hash })
  if (row !== undefined && row.revision > told.revision) return result('newer', { revision: row.revision })
  if (mark !== undefined && mark.ind !== told.ind) return result('newer', { ind: mark.ind })
  if (told.state !== 'open') {
    if (row !== undefined) await close(parts, tx, row, { ...told, state: told.state })
    return result('taken')
  }
  if (sealed === undefined && (row === undefined || row.wanted === 'ended')) return result('needs_keys')
  const visit = await visitOf(parts, tx, row, { hash, home_id: home.id }, base)
  const card = { sealed: sealed ?? row?.sealed, markedSeq: mark?.seq ?? 0 }
  await VISITORS.put(tx, visitorFrom(parts, home, told, row, card, visit))
  tx.dirty(VISITOR_RESOURCE, hash)
  return result('taken')
}

/** Blocks or ends a visitor. */
async function close(
  parts: RoamingParts,
  tx: MutationTx,
  row: VisitorRow,
  told: ToldLease & { readonly state: VisitorState },
): Promise<void> {
  const { revision, state: wanted } = told
  await VISITORS.put(tx, { ...row, ...timesOf(parts, told), revision, wanted })
  tx.dirty(VISITOR_RESOURCE, row.hash, true)
}

/** Keeps nothing of a SIM that its home has erased, once its phone is cut off; of one that is another's by now, only of that home. */
async function eraseFor(
  tx: MutationTx,
  home_id: string,
  { imsi_sha256_12: hash, revision }: ToldLease,
): Promise<LeaseResult['status']> {
  const row = await VISITORS.find(tx, { hash })
  if (row?.home_id === home_id) {
    await VISITORS.put(tx, { ...row, revision: Math.max(row.revision, revision), wanted: 'ended' })
    tx.dirty(VISITOR_RESOURCE, hash, true)
    return 'waits'
  }
  await ENDED.remove(tx, { hash, home_id })
  if (row === undefined) await MARKS.remove(tx, { hash })
  return 'taken'
}

type Visit = Pick<VisitorRow, 'visit' | 'since_ms' | 'base_up_bytes' | 'base_down_bytes'>

/** The visit that goes on, also one that has ended and of which the home has not counted all, or one that begins. */
async function visitOf(
  { context }: RoamingParts,
  tx: MutationTx,
  row: VisitorRow | undefined,
  key: Pick<EndedRow, 'hash' | 'home_id'>,
  base: OpenedLease['base'],
): Promise<Visit> {
  if (row !== undefined) return row
  const ended = await ENDED.find(tx, key)
  if (ended !== undefined) await ENDED.remove(tx, key)
  return ended ?? { visit: randomBytes(9).toString('base64url'), since_ms: context.clock.nowMs(), ...base }
}

/** Why a SIM is not taken; undefined when it is. */
async function refusal(
  { context }: RoamingParts,
  hash: string,
  row: VisitorRow | undefined,
  homeId: string,
): Promise<string | undefined> {
  if (row !== undefined && row.home_id !== homeId)
    return `${row.home_name} is the home of this SIM here; two boxes have issued the same IMSI`
  // A hash by its schema.
  const own = await context.maybe(subscribersRef)?.find(hash as ImsiHash)
  return own === undefined ? undefined : 'this box has a SIM of the same IMSI; revoke one of both'
}

function timesOf({ context }: RoamingParts, { valid_s }: ToldLease): Pick<VisitorRow, 'until_ms'> {
  return { until_ms: context.clock.nowMs() + valid_s * 1_000 }
}

/** The visitor of a lease that is open. */
function visitorFrom(
  parts: RoamingParts,
  home: Request['principal'],
  told: ToldLease,
  row: VisitorRow | undefined,
  {
    sealed = new Uint8Array(),
    markedSeq,
  }: { readonly sealed: Uint8Array | undefined; readonly markedSeq: number },
  { visit, since_ms, base_up_bytes, base_down_bytes }: Visit,
): VisitorRow {
  const same = {
    hash: told.imsi_sha256_12,
    home_id: home.id,
    home_name: home.name,
    revision: told.revision,
    wanted: 'open',
    ...timesOf(parts, told),
    sealed,
  } as const
  // Its HSS counts on.
  if (row !== undefined) return { ...row, ...same, limit_bytes: limitOf(told, row.visit) }
  return {
    ...same,
    ind: told.ind,
    seq: Math.max(told.seq, markedSeq + 1),
    since_ms,
    inserted_at_ms: null,
    done: null,
    visit,
    base_up_bytes,
    base_down_bytes,
    limit_bytes: limitOf(told, visit),
    is_over: 0,
  }
}
