import {
  chunksOf,
  createPause,
  type Imsi,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  ok,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type Subscriber,
  type SubscriberDifference,
  type SubscriberFound,
  southboundUnavailable,
  validationFailed,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { BODY_LIMIT } from '../import/import-route.ts'
import { rowOf } from '../import/import-rows.ts'
import { batchId } from '../issue/draw-sims.ts'
import { policyApns } from '../issue/issue.ts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { MSISDN, NEVER_MS, withSubscribers } from '../provision/push.ts'
import { NO_CARD, sealFound, wipe } from '../secrets/card.ts'
import { noteMoves } from '../states/change.ts'
import { SIMS, type SimRow } from '../store/sim-store.ts'
import { addWords } from '../store/word-store.ts'
import { type Chosen, chosenSource, foreignImsis, problemOf, type SourceAsked } from './foreign.ts'
import { otherwise } from './otherwise.ts'

interface AdoptBody extends SourceAsked {
  readonly ids?: readonly string[]
  readonly all?: true
  readonly label?: string
  readonly dry_run?: boolean
}

/** What became of one subscriber. */
interface Adopted {
  readonly imsi_sha256_12: string
  readonly status: 'adopted' | 'error'
  readonly error: string | null
  /** What the first push would mend in the HSS, by name. */
  readonly changes: readonly string[]
  /** Whether the HSS holds the same after it as before; null in a dry run. */
  readonly is_unchanged: boolean | null
}

/** A subscriber that can be taken over. */
interface Ready {
  readonly imsi: Imsi
  readonly row: SimRow
  /** Without its keys. */
  readonly found: SubscriberFound
  readonly changes: readonly string[]
}

/** Subscribers of one call. */
const MOST = 10_000
/** Read, compared and looked at again together. */
const CHUNK = 250

/** In a label: people know who has which number. */
const IMSI_END = '####'
const BODY: JsonSchema = objectSchema({
  ids: {
    type: 'array',
    minItems: 1,
    maxItems: MOST,
    uniqueItems: true,
    items: { type: 'string', pattern: '^[0-9a-f]{12}$' },
  },
  all: { type: 'boolean', enum: [true], description: `The first ${MOST}; left says how many remain.` },
  source: {
    type: 'string',
    enum: ['core', 'other'],
    description: 'other: those of the other core that the configuration names. It is only looked at.',
  },
  documents: {
    type: 'array',
    minItems: 1,
    maxItems: 32,
    items: { type: 'string' },
    description: 'Instead of a core: what mongoexport wrote of Open5GS or free5GC, one text for each file.',
  },
  label: {
    ...NAME_SCHEMA,
    description: `For all of them. ${IMSI_END} in it becomes the last four digits of the IMSI of each.`,
  },
  dry_run: { type: 'boolean', description: 'Changes nothing: the answer says what would be done.' },
})
const REPORT: JsonSchema = recordSchema({
  adopted: { type: 'integer' },
  failed: { type: 'integer' },
  left: { type: 'integer', description: 'Subscribers that were not asked for, and are not yours.' },
  batch_id: {
    type: ['string', 'null'],
    description: 'Filter of the list of SIMs; null when none was adopted.',
  },
  results: {
    type: 'array',
    items: recordSchema({
      imsi_sha256_12: { type: 'string' },
      status: { type: 'string', description: 'adopted or error; more may come.' },
      error: { type: ['string', 'null'] },
      changes: {
        type: 'array',
        items: { type: 'string' },
        description:
          'What is mended in the HSS because the core cannot read it as it is; mostly empty. Of another core: what the HSS ' +
          'holds otherwise than that one.',
      },
      is_unchanged: {
        type: ['boolean', 'null'],
        description:
          'Whether the HSS holds exactly the same as before, or as the other core; null in a dry run, and while that is ' +
          'not known.',
      },
    }),
  },
})

/** `POST /v1/sims/adopt`; `recount` counts who is left. */
export function adoptRoute(parts: SimsParts, recount: (signal: AbortSignal) => Promise<void>): Route {
  // How many were read, for the limit: it is asked for when the handler has looked.
  const found = new WeakMap<object, number>()
  return route<unknown, unknown, AdoptBody>({
    method: 'POST',
    path: '/v1/sims/adopt',
    role: 'sim:issuer',
    example: { all: true, dry_run: true },
    summary: 'Take over subscribers that the core has already',
    description:
      'They become SIMs of this node, with their keys, number, AMBR, APNs, slices, static addresses, SQN and blocked state, and ' +
      'without an end. Phones stay on the network. What the HSS holds of them stays as it is, unknown fields too. The limit ' +
      'sim_import_rows counts them, except in a dry run.',
    schema: { body: BODY, response: REPORT },
    errors: ['validation_failed', 'rate_limited', 'southbound_unavailable', 'store_corrupt'],
    audit: 'sim.adopt',
    bodyLimit: BODY_LIMIT,
    rateLimit: { name: 'sim_import_rows', cost: (body: AdoptBody) => found.get(body) ?? 0 },
    handle: async (request) => {
      const { body } = request
      if ((body.ids === undefined) === (body.all === undefined))
        throw validationFailed('either ids or all is needed, and not both')
      if (body.source !== undefined && body.documents !== undefined)
        throw validationFailed('either source or documents, and not both')
      const reply = await adopt(parts, request, (count) => found.set(body, count))
      if (body.dry_run !== true) await recount(request.signal)
      return reply
    },
  })
}

async function adopt(
  parts: SimsParts,
  request: Request<unknown, unknown, AdoptBody>,
  charge: (count: number) => void,
): Promise<Reply> {
  const { body, signal } = request
  const chosen = chosenSource(parts, body)
  const all = await foreignImsis(parts, chosen, signal)
  const hashes = body.ids ?? [...all.keys()].slice(0, MOST)
  const results = new Map<string, Adopted>()
  const id = batchId('i', parts.context.clock.nowMs())
  const ready: Ready[] = []
  for (const chunk of chunksOf(hashes, CHUNK)) {
    const some = chunk.flatMap((hash) => {
      const imsi = all.get(hash)
      if (imsi === undefined) results.set(hash, failed(hash, 'there is no such subscriber that is not yours'))
      return imsi ?? []
    })
    ready.push(...(await readSome(parts, { chosen, some, id, label: body.label, results }, signal)))
  }
  const left = all.size - hashes.filter((hash) => all.has(hash)).length
  const report = (): object => {
    const list = hashes.flatMap((hash) => results.get(hash) ?? [])
    const adopted = list.filter(({ status }) => status === 'adopted').length
    const batch = adopted === 0 || body.dry_run === true ? null : id
    return { adopted, failed: list.length - adopted, left, batch_id: batch, results: list }
  }
  if (body.dry_run === true) return ok(report())
  charge(ready.length)
  const pushed = pushesOf(
    parts,
    ready.filter(({ changes }) => !chosen.isOwn || changes.length > 0),
    signal,
  )
  const reply = await request.mutate(id, async (tx) => {
    await store(parts, tx, ready, { isOwn: chosen.isOwn, results })
    const adopted = [...results.values()].filter(({ status }) => status === 'adopted')
    const totals = { adopted: adopted.length, failed: results.size - adopted.length }
    const from = body.documents === undefined ? chosen.source.name : 'documents'
    tx.audit({ detail: { ...totals, from, ids: adopted.map((one) => one.imsi_sha256_12) } })
    tx.event({ type: 'sim.adopt', subject: id, data: totals })
    return { body: report() }
  })
  await pushed
  await lookAgain(parts, { ready, isOwn: chosen.isOwn, results }, signal)
  return { ...reply, body: report() }
}

interface Some {
  readonly chosen: Chosen
  readonly some: readonly Imsi[]
  readonly id: string
  readonly label: string | undefined
  readonly results: Map<string, Adopted>
}

/** Reads some subscribers with their keys, and compares them with what this node would keep of them. */
async function readSome(
  parts: SimsParts,
  { chosen, some, id, label, results }: Some,
  signal: AbortSignal,
): Promise<readonly Ready[]> {
  if (some.length === 0) return []
  const found = await chosen.ask(signal, (bound) => chosen.source.whole(some, 'with keys', bound))
  try {
    const taken = some.flatMap((imsi) => {
      const hash = imsiHash(imsi)
      const one = found.get(imsi)
      const problem = one === undefined ? 'it has left the core meanwhile' : problemOf(parts, imsi, one)
      if (one?.keys === undefined || problem !== undefined) {
        results.set(hash, failed(hash, problem ?? 'its keys cannot be read'))
        return []
      }
      const subscriber = subscriberOf(parts, imsi, one, one.keys)
      return [{ one, subscriber, row: adoptedRow(parts, subscriber, id, label) }]
    })
    const compared = await differing(
      parts,
      taken.map(({ subscriber }) => subscriber),
      signal,
    )
    if (compared === undefined && chosen.isOwn)
      throw southboundUnavailable(parts.hss.view().problem ?? 'the HSS does not answer; try again')
    return taken.map(({ subscriber, row, one }): Ready => {
      const changes = compared?.get(subscriber.imsi)?.fields ?? []
      results.set(row.hash, { ...failed(row.hash, null), status: 'adopted', changes })
      return { imsi: subscriber.imsi, row, found: { ...one, keys: undefined }, changes }
    })
  } finally {
    for (const { keys } of found.values()) if (keys !== undefined) wipe(keys.ki, keys.opc)
  }
}

function failed(hash: string, error: string | null): Adopted {
  return { imsi_sha256_12: hash, status: 'error', error, changes: [], is_unchanged: null }
}

/** A found subscriber as this node will want it: just as it is. */
function subscriberOf(
  parts: SimsParts,
  imsi: Imsi,
  found: SubscriberFound,
  { ki, opc }: NonNullable<SubscriberFound['keys']>,
): Subscriber {
  const { config } = parts.context
  const names = [...new Set(found.slices.flatMap(({ apns }) => apns.map(({ name }) => name)))]
  const { msisdn } = found
  return {
    imsi,
    ki,
    opc,
    sqn: found.sqn ?? 0n,
    apns: names.length === 0 ? policyApns(parts) : names,
    ambrBps: found.ambrBps ?? { down: config.default_downlink_bps, up: config.default_uplink_bps },
    isBlocked: found.isBlocked,
    found: found.text,
    ...(msisdn !== undefined && MSISDN.test(msisdn) ? { msisdn } : {}),
  }
}

/** SQN = SEQ ‖ IND with 5 bits of IND. TS 33.102 annex C.3.2. */
const SQN_STEP = 32n

function adoptedRow(
  parts: SimsParts,
  { imsi, ki, opc, apns, ambrBps, msisdn, found = '', isBlocked, sqn }: Subscriber,
  id: string,
  label: string | undefined,
): SimRow {
  const { clock, settings } = parts.context
  const hash = imsiHash(imsi)
  const draft = {
    imsi,
    hash,
    card: { ...NO_CARD, ki, opc },
    iccid: undefined,
    msisdn: msisdn ?? null,
    profile: 'default',
    apns,
    ambrBps,
    label: label?.replaceAll(IMSI_END, imsi.slice(-IMSI_END.length)) ?? null,
    expiresAtMs: NEVER_MS,
    asIs: [],
  }
  return {
    ...rowOf(parts, { plmn: settings.plmn, nowMs: clock.nowMs(), id }, draft, undefined),
    ...(isBlocked
      ? { state: 'suspended', previous_state: 'issued', suspend_reason: 'operator' as const }
      : {}),
    found_sealed: sealFound(parts.vault, hash, found),
    hss_seq: Number(sqn / SQN_STEP) + 1,
  }
}

/** Stores the new SIMs. One that nothing is to be written of is in step from the beginning: nobody touches the HSS for it. */
async function store(
  parts: SimsParts,
  tx: MutationTx,
  ready: readonly Ready[],
  { isOwn, results }: Pick<Looked, 'isOwn' | 'results'>,
): Promise<void> {
  const pause = createPause()
  const room = parts.context.config.max_sims - parts.counters.total
  const added: SimRow[] = []
  for (const { row, changes } of ready) {
    await pause()
    const { hash } = row
    if (added.length >= room) {
      const { max_sims } = parts.context.config
      results.set(hash, failed(hash, `this node keeps at most ${max_sims} SIMs (sims.max_sims)`))
      continue
    }
    const inStep = {
      hss_status: 'synced' as const,
      hss_driver: parts.hss.view().driver,
      hss_synced_at_ms: row.issued_at_ms,
    }
    const isInStep = isOwn && changes.length === 0
    const stored = isInStep ? { ...row, ...inStep } : row
    if (!(await SIMS.insertNew(tx, stored))) {
      results.set(hash, failed(hash, 'it became yours meanwhile'))
      continue
    }
    await addWords(tx, stored)
    if (!isInStep) tx.dirty(SIM_RESOURCE, hash)
    added.push(stored)
  }
  await noteMoves(
    parts,
    tx,
    added.map((after) => ({ after })),
  )
}

/** What the HSS holds otherwise than these would have it, keys too; undefined when it does not answer, or nothing can tell. */
async function differing(
  { hss }: SimsParts,
  subscribers: readonly Subscriber[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, SubscriberDifference> | undefined> {
  const driver = hss.restMs() === undefined ? hss.driver() : undefined
  if (driver?.compare === undefined) return driver === undefined ? undefined : new Map()
  return await hss.call(signal, async (bound) => await driver.compare?.(subscribers, bound))
}

/** How long pushes of one call are waited for, ms. */
const PUSHED_MS = 30_000

/** Ends when the HSS has got those that may be on air, or after a while. */
async function pushesOf(
  { hss, pushes }: SimsParts,
  ready: readonly Ready[],
  signal: AbortSignal,
): Promise<void> {
  if (hss.driver()?.whole === undefined || hss.restMs() !== undefined) return
  const open = ready.filter(({ row }) => row.state === 'issued')
  await Promise.all(open.map(({ row }) => pushes.expect(row.hash, PUSHED_MS, signal)))
}

interface Looked {
  readonly ready: readonly Ready[]
  readonly isOwn: boolean
  readonly results: Map<string, Adopted>
}

/** Compares what the HSS holds now with what was found, field by field. */
async function lookAgain(
  parts: SimsParts,
  { ready, isOwn, results }: Looked,
  signal: AbortSignal,
): Promise<void> {
  const driver = parts.hss.restMs() === undefined ? parts.hss.driver() : undefined
  if (driver?.whole === undefined) return
  const { whole } = driver
  const taken = ready.filter(({ row, changes }) => {
    return (!isOwn || changes.length === 0) && results.get(row.hash)?.status === 'adopted'
  })
  for (const some of chunksOf(taken, CHUNK)) {
    const imsis = some.map(({ imsi }) => imsi)
    const held = await parts.hss.call(signal, (bound) => whole(imsis, 'without keys', bound))
    const keys = isOwn
      ? undefined
      : await withSubscribers(
          parts.vault,
          some.map(({ row }) => row),
          (all) => differing(parts, all, signal),
        )
    if (held === undefined) continue
    for (const one of some) {
      const before = results.get(one.row.hash)
      const now = held.get(one.imsi)
      const seen = isOwn ? { is_unchanged: now?.text === one.found.text } : seenOf(one, now, keys)
      if (before !== undefined) results.set(one.row.hash, { ...before, ...seen })
    }
  }
}

/** What the HSS holds of one that another core has. */
function seenOf(
  { imsi, found }: Ready,
  now: SubscriberFound | undefined,
  keys: ReadonlyMap<Imsi, SubscriberDifference> | undefined,
): Partial<Adopted> {
  if (now === undefined) return {}
  const changes = [...new Set([...otherwise(found, now), ...(keys?.get(imsi)?.fields ?? [])])]
  return { changes, is_unchanged: changes.length === 0 }
}
