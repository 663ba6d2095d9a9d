import {
  allListed,
  capacityExceeded,
  fieldRefused,
  forbidden,
  type MutationTx,
  type Principal,
  policyRef,
  quotaKeeperRef,
  type ReachWish,
  type Reader,
  type Reply,
  type Request,
  type Route,
  reachKeeperRef,
  route,
  type SimCard,
  type SimCredentials,
  type SimIssuer,
  simExists,
  simNotFound,
  simStateConflict,
  simSwapCooldown,
  type Vault,
} from '@steeple/contracts'
import { newAttachState } from '../attach/attach-state.ts'
import { BATCHES, batchDir } from '../batches.ts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { simRecord, unused } from '../record.ts'
import { openCard, openImsi, wipeCard } from '../secrets/card.ts'
import { homeKeysOf, homeNetworkKeys } from '../secrets/suci-info.ts'
import { noteMoves, transitionSim } from '../states/change.ts'
import { SIMS, type SimRow, simOf } from '../store/sim-store.ts'
import { addWords } from '../store/word-store.ts'
import { viewOf } from '../subscribers.ts'
import { type DrawnSims, drawSims, type IssuePlan, issuePlan } from './draw-sims.ts'
import { ISSUE_BODY, ISSUE_RESULT, type IssueBody } from './issue-schema.ts'

const HOUR_MS = 3_600_000
/** Specification, Limits: the cool-down while no policy is loaded. */
const DEFAULT_COOLDOWN_HOURS = 24

/**
 * Revokes the SIM whose place another takes, in the transaction that adds the other.
 * Throws `sim_not_found`, `sim_state_conflict` when it is revoked already, `sim_swap_cooldown`.
 */
async function swapOut(parts: SimsParts, tx: MutationTx, hash: string): Promise<void> {
  const row = await simOf(tx, hash)
  if (row.state === 'revoked') throw simStateConflict(`the SIM ${hash} is revoked; it cannot be replaced`)
  const hours = parts.context.maybe(policyRef)?.bundle().sim_swap_cooldown_hours ?? DEFAULT_COOLDOWN_HOURS
  const untilMs = (row.swapped_at_ms ?? Number.NEGATIVE_INFINITY) + hours * HOUR_MS
  if (untilMs > parts.context.clock.nowMs()) {
    const until = new Date(untilMs).toISOString()
    throw simSwapCooldown(
      `the subscriber of SIM ${hash} got it by a swap less than ${hours} h ago; the next swap is possible at ${until} (policy sim_swap_cooldown_hours)`,
    )
  }
  await transitionSim(parts, tx, hash, { action: 'revoke' })
}

/** Who issues, as a batch remembers it. */
function issuerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`
}

/**
 * Whether somebody may take a SIM out of service by replacing it: it is a revocation and needs the role of one, except
 * for a misprint at the desk, which is a SIM that the same principal has issued within the last hour.
 */
async function mayReplace({ context }: SimsParts, principal: Principal, replaced: SimRow): Promise<boolean> {
  if (principal.roles.has('sim:admin')) return true
  if (replaced.batch_id === null || replaced.issued_at_ms <= context.clock.nowMs() - HOUR_MS) return false
  const batch = await BATCHES.find(context.db, { id: replaced.batch_id })
  return batch?.issued_by === issuerOf(principal)
}

/** Who asks for SIMs, and the limits that it counts against. */
interface Asker {
  readonly principal: Principal
  take(limit: string, cost: number): Promise<void>
}

/** SIMs on their way into the store. */
interface Issue {
  readonly plan: IssuePlan
  readonly drawn: DrawnSims
  /** Makes them durable in a mutation, and gives what the audit says of it. Throws `forbidden`, and as `swapOut`. */
  issueIn(tx: MutationTx): Promise<Readonly<Record<string, unknown>>>
}

/**
 * Checks a body and draws its SIMs. Nothing is stored before `issueIn`.
 * Throws `validation_failed`, `plmn_mismatch`, `sim_exists`, `sim_not_found`, `capacity_exceeded`, `rate_limited`.
 */
async function prepareIssue(parts: SimsParts, body: IssueBody, asker: Asker): Promise<Issue> {
  const { context } = parts
  const replaced = body.replaces === undefined ? undefined : await simOf(context.db, body.replaces)
  const plan = issuePlan(body, {
    plmn: context.settings.plmn,
    policyApns: policyApns(parts),
    config: context.config,
    nowMs: context.clock.nowMs(),
    replaced,
  })
  checkCapacity(parts, plan.count)
  const reach = reachOf(parts, body)
  const isForbidden = replaced !== undefined && !(await mayReplace(parts, asker.principal, replaced))
  if (replaced !== undefined && !isForbidden) await asker.take('sim_revoke', 1)
  const drawn = await drawSims(parts, plan, { replaced, issuer: issuerOf(asker.principal) })
  return {
    plan,
    drawn,
    issueIn: async (tx) => {
      // In here the refusal is audited.
      if (isForbidden) throw forbidden('sim:admin')
      if (replaced !== undefined) await swapOut(parts, tx, replaced.hash)
      await addSims(parts, tx, drawn)
      await grantQuota(parts, tx, drawn.rows, replaced)
      await chooseReach(parts, tx, drawn.rows, reach, replaced)
      return {
        ...factsOf(plan, drawn),
        ids: drawn.rows.map(({ hash }) => hash),
        replaces: replaced?.hash ?? null,
        ...reach,
      }
    },
  }
}

/** `POST /v1/sims` */
export function issueRoute(parts: SimsParts): Route {
  return route<unknown, unknown, IssueBody | undefined>({
    method: 'POST',
    path: '/v1/sims',
    role: 'sim:issuer',
    example: { count: 10, label: 'harbour' },
    summary: 'Issue SIMs',
    description:
      'The answer means that the SIMs are durable; provisioning follows by itself and is shown per SIM. The limit ' +
      'sim_issue counts SIMs, not requests. With replaces it counts against sim_revoke as well and needs sim:admin, ' +
      'unless the same principal has issued the replaced SIM within the last hour.',
    schema: { body: ISSUE_BODY, response: ISSUE_RESULT, status: 201 },
    errors: [
      'validation_failed',
      'plmn_mismatch',
      'sim_exists',
      'sim_not_found',
      'sim_state_conflict',
      'sim_swap_cooldown',
      'capacity_exceeded',
      'forbidden',
      'node_state_conflict',
      'rate_limited',
    ],
    audit: 'sim.issue',
    rateLimit: { name: 'sim_issue', cost: (body: IssueBody | undefined) => body?.count ?? 1 },
    handle: (request) => issue(parts, request),
  })
}

/** Issues SIMs: their rows are durable before the answer. Their cards are made from the rows when they are exported. */
async function issue(
  parts: SimsParts,
  request: Request<unknown, unknown, IssueBody | undefined>,
): Promise<Reply> {
  const { plan, drawn, issueIn } = await prepareIssue(parts, request.body ?? {}, request)
  const { rows, batch } = drawn
  const [first] = rows
  const target = plan.count === 1 && first !== undefined ? first.hash : batch.id
  return await request.mutate(target, async (tx) => {
    tx.audit({ detail: await issueIn(tx) })
    tx.event({ type: 'sim.issue', subject: first?.hash ?? batch.id, data: factsOf(plan, drawn) })
    return {
      status: 201,
      body: {
        issued: rows.length,
        output_dir: batchDir(parts.context.settings.server.data_dir, batch.id),
        batch_id: batch.id,
        first: {
          imsi_sha256_12: first?.hash ?? '',
          expires_at: new Date(plan.expiresAtMs).toISOString(),
        },
        sims: rows.map((row) => simRecord(parts, row, newAttachState(parts), unused(row))),
      },
    }
  })
}

function factsOf({ profile }: IssuePlan, { rows, batch }: DrawnSims): Readonly<Record<string, unknown>> {
  return { batch_id: batch.id, count: rows.length, profile }
}

async function addSims(parts: SimsParts, tx: MutationTx, { rows, batch }: DrawnSims): Promise<void> {
  await BATCHES.insert(tx, batch)
  for (const row of rows) {
    if (!(await SIMS.insertNew(tx, row))) throw simExists(row.hash)
    await addWords(tx, row)
    if (row.hss_status !== 'synced') tx.dirty(SIM_RESOURCE, row.hash)
  }
  await noteMoves(
    parts,
    tx,
    rows.map((after) => ({ after })),
  )
}

/** Quotas begin with the SIMs; what replaces another one has its period and action. */
async function grantQuota(
  { context }: SimsParts,
  tx: MutationTx,
  rows: readonly SimRow[],
  replaced: SimRow | undefined,
): Promise<void> {
  const quotaBytes = rows[0]?.quota_bytes ?? null
  if (quotaBytes === null) return
  const imsis = rows.map(({ hash }) => hash)
  await context.maybe(quotaKeeperRef)?.granted(tx, imsis, quotaBytes, replaced?.hash)
}

/** Where the SIMs of a body are to work; undefined where it does not say. Throws `validation_failed`, `node_state_conflict`. */
function reachOf({ context }: SimsParts, { reach, boxes }: IssueBody): ReachWish | undefined {
  if (reach === undefined && boxes === undefined) return undefined
  if (reach === undefined) throw fieldRefused('/boxes', 'goes with the reach boxes')
  const keeper = context.maybe(reachKeeperRef)
  if (keeper === undefined)
    throw fieldRefused('/reach', 'needs other boxes: this service runs without roaming')
  const wish = { reach, ...(boxes === undefined ? {} : { boxes }) }
  keeper.check(wish)
  return wish
}

/** What replaces another SIM works where that did, unless something else is said. */
async function chooseReach(
  { context }: SimsParts,
  tx: MutationTx,
  rows: readonly SimRow[],
  wish: ReachWish | undefined,
  replaced: SimRow | undefined,
): Promise<void> {
  const imsis = rows.map(({ hash }) => hash)
  const keeper = context.maybe(reachKeeperRef)
  if (wish !== undefined) await keeper?.chooseIn(tx, imsis, wish)
  else if (replaced !== undefined) for (const imsi of imsis) await keeper?.copyIn(tx, replaced.hash, imsi)
}

/** The APNs of the policy in force. */
export function policyApns({ context }: SimsParts): readonly string[] {
  return context.maybe(policyRef)?.bundle().apns ?? context.settings.policy.apns
}

/** Throws `capacity_exceeded` when `count` more SIMs are too many. */
function checkCapacity({ context, counters }: SimsParts, count: number): void {
  const { max_sims } = context.config
  if (counters.total + count > max_sims)
    throw capacityExceeded(
      `this node keeps at most ${max_sims} SIMs (sims.max_sims) and has ${counters.total}; ${count} more do not fit`,
    )
}

/** The service that others issue SIMs by, and open what is sealed. */
export function simIssuer(parts: SimsParts): SimIssuer {
  const { context, vault, iccids } = parts
  return {
    bodySchema: ISSUE_BODY,
    prepare: async (body, asker) => {
      // The edge has checked it against `bodySchema`.
      const issue = await prepareIssue(parts, body as IssueBody, asker)
      const { rows, batch } = issue.drawn
      const byHash = new Map(rows.map((row) => [row.hash, row]))
      return {
        cards: rows.map(cardOf),
        batchId: batch.id,
        credentials: (imsi) => {
          const row = byHash.get(imsi)
          if (row === undefined) throw simNotFound(imsi)
          return credentialsOf(vault, row)
        },
        issueIn: async (tx) => {
          const detail = await issue.issueIn(context.db.join(tx))
          // The event of the mutation is the caller's; whoever listens for SIMs hears of these all the same.
          for (const { hash, profile } of rows)
            tx.tell({ type: 'sim.issue', subject: hash, data: { batch_id: batch.id, count: 1, profile } })
          return { detail }
        },
      }
    },
    credentials: async (imsi) => credentialsOf(vault, await simOf(context.db, imsi)),
    sim: async (imsi) => {
      const row = await SIMS.find(context.db, { hash: imsi })
      if (row === undefined) return undefined
      return {
        view: viewOf(row),
        msisdn: row.msisdn ?? undefined,
        iccid: () => iccidOf(vault, row),
        credentials: () => credentialsOf(vault, row),
      }
    },
    cards: (imsis) => cardsOf(context.db, imsis),
    batch: async (batchId, after, limit) =>
      (await context.db.all<CardSim>(CARDS_OF_BATCH, { batchId, after, limit })).map(cardOf),
    byIccid: async (iccid) => {
      const mac = (await iccids.mac())(iccid)
      const hash = await iccids.holder(context.db, { iccid, mac }, await iccids.indexedTo(context.db))
      return hash === undefined ? undefined : (await cardsOf(context.db, [hash]))[0]
    },
    homeNetworkKeys: async () =>
      await homeNetworkKeys(context.settings.server.data_dir, homeKeysOf(context.settings)),
    revokeIn: async (tx, imsi) => {
      await transitionSim(parts, context.db.join(tx), imsi, { action: 'revoke' })
    },
  }
}

/** What is told of a SIM's card. */
type CardSim = Pick<SimRow, 'hash' | 'state' | 'label' | 'batch_id' | 'iccid_last4'>
const CARDS = 'select hash, state, label, batch_id, iccid_last4 from sims_sim where'
const CARDS_OF_BATCH = `${CARDS} batch_id = :batchId and hash > :after order by hash limit :limit`

/** Cards by the hashes of their SIMs, in no order. */
async function cardsOf(reader: Reader, hashes: readonly string[]): Promise<readonly SimCard[]> {
  return (await allListed<CardSim>(reader, 'hash', hashes, (where) => `${CARDS} ${where}`)).map(cardOf)
}

function cardOf(row: CardSim): SimCard {
  return {
    imsi: row.hash,
    state: row.state,
    label: row.label ?? undefined,
    batchId: row.batch_id ?? undefined,
    iccidLast4: row.iccid_last4 ?? undefined,
  }
}

function iccidOf(vault: Vault, row: SimRow): Uint8Array {
  const card = openCard(vault, row)
  const iccid = Uint8Array.from(card.iccid)
  wipeCard(card)
  return iccid
}

function credentialsOf(vault: Vault, row: SimRow): SimCredentials {
  const imsi = openImsi(vault, row)
  const card = openCard(vault, row)
  return { imsi, ...card, wipe: () => wipeCard(card) }
}
