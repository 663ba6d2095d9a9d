import {
  DURATION_PATTERN,
  type ErrorDetail,
  fieldRefused,
  type ImsiHash,
  type JsonSchema,
  type MutationTx,
  msFromDuration,
  notFound,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimCard,
  type SimCredentials,
  simNotFound,
  simStateConflict,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { termsNow } from '../states/move.ts'
import { boundEid } from '../store/adopt-store.ts'
import { AT_ONCE } from '../store/code-queries.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import { type CodeTerms, type NewCode, newCode } from './activation.ts'
import { esimCodeConflict, needReady } from './conflict.ts'
import { type Placed, placeCodes, withoutCode } from './place.ts'

/** `POST /v1/esim/issue` */
export function issueRoute(parts: EsimParts): Route {
  return route<unknown, unknown, EsimIssueBody | undefined>({
    method: 'POST',
    path: '/v1/esim/issue',
    role: 'sim:issuer',
    summary: 'Issue activation codes',
    description:
      'A code for a SIM that exists, for each of a batch that has none, or for new SIMs as POST /v1/sims makes them, with ' +
      'replaces too: so a subscriber moves from a card to an eSIM. expires_in is how long the code can be used. A code of the same SIM ' +
      'that nobody has downloaded yet is revoked. Codes count against the limit sim_issue. The activation codes are shown here and by ' +
      'GET /v1/esim/codes/{token}/qr; nothing else shows them.',
    example: { label: 'ann', confirmation_code: '4711' },
    schema: { body: issueBodySchema(parts.issuer.bodySchema), response: ISSUE_ANSWER, status: 201 },
    errors: [
      'validation_failed',
      'esim_disabled',
      'esim_not_ready',
      'esim_code_conflict',
      'not_found',
      'sim_not_found',
      'sim_state_conflict',
      'plmn_mismatch',
      'sim_exists',
      'sim_swap_cooldown',
      'capacity_exceeded',
      'forbidden',
      'rate_limited',
      'store_corrupt',
    ],
    audit: 'esim.issue',
    rateLimit: {
      name: 'sim_issue',
      // Those of a batch are counted when it is known how many have none.
      cost: (body: EsimIssueBody | undefined) => (body?.batch_id === undefined ? (body?.count ?? 1) : 0),
    },
    handle: (request) => issueCodes(parts, request),
  })
}

/** The body of `POST /v1/esim/issue`: one of `imsi_sha256_12`, `batch_id`, or what `POST /v1/sims` takes. */
interface EsimIssueBody {
  readonly imsi_sha256_12?: string
  readonly batch_id?: string
  readonly confirmation_code?: string
  /** Of the code. */
  readonly expires_in?: string
  /** Of a new SIM. */
  readonly sim_expires_in?: string
  readonly eid?: string
  readonly ci_pkid?: string
  /** Of new SIMs. */
  readonly count?: number
  readonly label?: string
}

const DURATION: JsonSchema = { type: 'string', pattern: DURATION_PATTERN, maxLength: 64 }

/** Schema of that body. `sims`: that of `POST /v1/sims`. */
function issueBodySchema(sims: JsonSchema): JsonSchema {
  // The service gives the schema of an object.
  // A default would say that a new SIM is asked for.
  const { expires_in: _, ...ofSims } = sims.properties as Readonly<Record<string, JsonSchema>>
  return objectSchema({
    imsi_sha256_12: {
      type: 'string',
      pattern: '^[0-9a-f]{12}$',
      description:
        'A code for this SIM. Without this and without batch_id: for a new SIM, with the other properties.',
    },
    batch_id: {
      type: 'string',
      pattern: '^[a-z0-9-]{1,64}$',
      description:
        'A code for each SIM of this batch or import that has none, at most 500 at a time; remaining says how many are left.',
    },
    confirmation_code: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{4,64}$',
      writeOnly: true,
      description: 'What the phone asks its user for. Tell it by another way than the code.',
    },
    expires_in: {
      ...DURATION,
      description: 'Until when the code can be used; esim.code_expiry when absent.',
    },
    eid: {
      type: 'string',
      pattern: '^[0-9]{32}$',
      writeOnly: true,
      description: 'The only eUICC that gets the profile. Default: the first one that asks.',
    },
    ci_pkid: {
      type: 'string',
      pattern: '^[0-9a-fA-F]{40}$',
      description:
        'Key identifier of the CI that the eUICC of that EID is of. Needed where certificates of several are in use.',
    },
    ...Object.fromEntries(Object.entries(ofSims).map(([name, { default: __, ...schema }]) => [name, schema])),
    sim_expires_in: { ...DURATION, description: 'Life of a new SIM; as POST /v1/sims when absent.' },
  })
}

const ISSUED: Readonly<Record<string, JsonSchema>> = {
  token: { type: 'string' },
  activation_code: { type: 'string', description: 'LPA:1$<address>$<matching id>. Shown here and by qr.' },
  imsi_sha256_12: { type: 'string' },
  state: { type: 'string', description: 'released; more may come.' },
  confirmation_required: { type: 'boolean' },
  expires_at: TIMESTAMP_SCHEMA,
  iccid_last4: { type: 'string' },
  eid_last4: { type: ['string', 'null'] },
  batch_id: { type: ['string', 'null'] },
}

/** Schema of the answer: the first code, and all of them where there may be several. */
const ISSUE_ANSWER: JsonSchema = objectSchema(
  {
    ...ISSUED,
    codes: { type: 'array', items: recordSchema(ISSUED) },
    remaining: { type: 'integer', description: 'SIMs of the batch that have no code yet: ask again.' },
  },
  Object.keys(ISSUED),
)

/** Codes of one request: one transaction, and what the policy allows in an hour when nobody has said otherwise. */
const PART = 500

/**
 * The next SIMs of a batch that have neither an open code nor a delivered profile. They count against `sim_issue`.
 * Throws `not_found`, `esim_code_conflict` when there are none, `rate_limited`.
 */
async function batchPart(parts: EsimParts, request: IssueRequest, batchId: string): Promise<Candidates> {
  const cards: SimCard[] = []
  const seen = { sims: 0, unfit: 0, remaining: 0 }
  for await (const { card, isFree } of cardsOf(parts, batchId)) {
    seen.sims += 1
    if (!isFree) continue
    if (!isFit(card)) seen.unfit += 1
    else if (cards.length < PART) cards.push(card)
    else seen.remaining += 1
  }
  if (seen.sims === 0) throw notFound(`batch ${batchId}; look for it in the list of SIMs`)
  if (cards.length === 0)
    throw esimCodeConflict(
      `no SIM of batch ${batchId} is without a code` +
        (seen.unfit === 0 ? '' : `, except ${seen.unfit} that are revoked, expired or have no ICCID`),
    )
  await request.take('sim_issue', cards.length)
  return {
    target: batchId,
    cards,
    remaining: seen.remaining,
    credentials: ({ imsi }) => parts.issuer.credentials(imsi),
  }
}

async function* cardsOf(
  { context, issuer }: EsimParts,
  batchId: string,
): AsyncGenerator<{ readonly card: SimCard; readonly isFree: boolean }> {
  for (let after = ''; ; ) {
    const found = await issuer.batch(batchId, after, AT_ONCE)
    const free = await withoutCode(
      context.db,
      found.map(({ imsi }) => imsi),
    )
    for (const card of found) yield { card, isFree: free.has(card.imsi) }
    const last = found.at(-1)
    if (found.length < AT_ONCE || last === undefined) return
    after = last.imsi
  }
}

function isFit({ state, iccidLast4 }: SimCard): boolean {
  return state !== 'revoked' && state !== 'expired' && iccidLast4 !== undefined
}

/**
 * Issues a code for a SIM that exists, for new SIMs, or for those of a batch that have none.
 * Throws `esim_disabled`, `esim_not_ready`, `esim_code_conflict`, `validation_failed`, `sim_not_found`,
 * `sim_state_conflict`, and as `POST /v1/sims`.
 */
async function issueCodes(parts: EsimParts, request: IssueRequest): Promise<Reply> {
  await needReady(parts)
  const body = request.body ?? {}
  checkBody(body)
  const terms = await termsOf(parts, body)
  const candidates = await candidatesOf(parts, request)
  const codes: NewCode[] = []
  for (const card of candidates.cards)
    codes.push(await newCode(parts, card, await candidates.credentials(card), terms))
  return await request.mutate(candidates.target, async (tx) => {
    const sims = await candidates.issueIn?.(tx)
    const placed = await placeCodes(parts, tx, codes, termsNow(parts))
    say(tx, placed, { target: candidates.target, sims, terms })
    return { status: 201, sealed: true, body: answer(placed, codes, candidates) }
  })
}

async function candidatesOf(parts: EsimParts, request: IssueRequest): Promise<Candidates> {
  const body = request.body ?? {}
  if (body.imsi_sha256_12 !== undefined) return await existing(parts, body.imsi_sha256_12)
  if (body.batch_id !== undefined) return await batchPart(parts, request, body.batch_id)
  const { confirmation_code: _, eid: __, ci_pkid: ____, expires_in: ___, sim_expires_in, ...sims } = body
  const prepared = await parts.issuer.prepare(
    sim_expires_in === undefined ? sims : { ...sims, expires_in: sim_expires_in },
    request,
  )
  const [first] = prepared.cards
  return {
    target: prepared.cards.length === 1 && first !== undefined ? first.imsi : prepared.batchId,
    cards: prepared.cards,
    credentials: async ({ imsi }) => prepared.credentials(imsi),
    issueIn: async (tx) => (await prepared.issueIn(tx)).detail,
  }
}

async function existing(parts: EsimParts, hash: string): Promise<Candidates> {
  // The schema asks for a hash.
  const imsi = hash as ImsiHash
  const [card] = await parts.issuer.cards([imsi])
  if (card === undefined) throw simNotFound(hash)
  if (card.state === 'revoked' || card.state === 'expired')
    throw simStateConflict(`the SIM ${hash} is ${card.state}; issue a new one`)
  return { target: hash, cards: [card], credentials: () => parts.issuer.credentials(imsi) }
}

/** Properties beside the body of a new SIM. */
const OF_CODES: readonly string[] = ['confirmation_code', 'expires_in']

/** What the schema cannot say. Throws `validation_failed` with every broken rule. */
function checkBody(body: EsimIssueBody): void {
  const details: ErrorDetail[] = []
  const ways = (['imsi_sha256_12', 'batch_id'] as const).filter((key) => body[key] !== undefined)
  const [way] = ways
  const fits = new Set([...OF_CODES, ...(way === 'batch_id' ? [] : ['eid', 'ci_pkid'])])
  if (way !== undefined)
    for (const key of Object.keys(body))
      if (key !== way && !fits.has(key))
        details.push({ pointer: `/${key}`, message: `cannot go with ${way}, which names SIMs that exist` })
  if (body.eid !== undefined && (body.count ?? 1) > 1)
    details.push({ pointer: '/eid', message: 'is for one SIM' })
  if (body.expires_in !== undefined && lifeOf(body.expires_in) === undefined)
    details.push({ pointer: '/expires_in', message: 'must be a duration, at most 10y' })
  if (details.length > 0)
    throw validationFailed(details.map(({ pointer, message }) => `${pointer} ${message}`).join('; '), {
      details,
    })
}

/** Longer than any code should lie in a drawer. */
const MAX_LIFE_MS = 10 * 31_536_000_000

function lifeOf(text: string): number | undefined {
  const lifeMs = msFromDuration(text)
  return lifeMs === undefined || lifeMs > MAX_LIFE_MS ? undefined : lifeMs
}

async function termsOf(parts: EsimParts, body: EsimIssueBody): Promise<CodeTerms> {
  const { context } = parts
  const { smdp_address, single_use, code_expiry } = context.config
  const nowMs = Math.floor(context.clock.nowMs())
  const lifeMs = lifeOf(body.expires_in ?? code_expiry)
  if (lifeMs === undefined) throw validationFailed(`esim.code_expiry is ${code_expiry}; at most 10y`)
  return {
    smdpAddress: smdp_address,
    isSingleUse: single_use,
    confirmationCode: body.confirmation_code,
    euicc: await euiccOf(parts, body),
    nowMs,
    expiresAtMs: nowMs + Math.floor(lifeMs),
  }
}

async function euiccOf(
  parts: EsimParts,
  { eid, ci_pkid: ciPkid }: EsimIssueBody,
): Promise<NamedEuicc | undefined> {
  if (eid === undefined && ciPkid !== undefined)
    throw fieldRefused('/ci_pkid', 'goes with eid; send both or neither')
  if (eid === undefined) return undefined
  const euicc = await boundEid(parts, eid, ciPkid)
  if (typeof euicc === 'object') return euicc
  if (euicc === 'ci_unknown')
    throw fieldRefused(
      '/ci_pkid',
      'has to be the key identifier of a CI that certificates in use belong to; choose another one, or leave it out',
    )
  const cis = parts.certs.identities().map((set) => set.ciPkid)
  throw esimCodeConflict(
    `certificates of several CIs are in use, and an EID counts under one alone; say in ci_pkid which one the eUICC is of: ${cis.join(', ')}`,
  )
}

function say(
  tx: MutationTx,
  { rows, replaced }: Placed,
  of: {
    readonly target: string
    readonly sims: Readonly<Record<string, unknown>> | undefined
    readonly terms: CodeTerms
  },
): void {
  const [row] = rows
  const codes = rows.length
  tx.audit({
    detail: {
      codes,
      tokens: rows.map(({ token }) => token),
      ...(of.sims === undefined ? { ids: rows.map(({ hash }) => hash) } : of.sims),
      replaced,
      confirmation_required: of.terms.confirmationCode !== undefined,
      expires_at: timestampFromMs(of.terms.expiresAtMs),
    },
  })
  tx.event({
    type: 'esim.issue',
    subject: codes === 1 && row !== undefined ? row.token : of.target,
    data: { codes, batch_id: row?.batch_id ?? null },
  })
}

function answer({ rows }: Placed, codes: readonly NewCode[], { remaining }: Candidates): object {
  const items = rows.map((row, i) => ({
    token: row.token,
    activation_code: codes[i]?.activationCode ?? '',
    imsi_sha256_12: row.hash,
    state: row.state,
    confirmation_required: row.confirmation_sealed !== null,
    expires_at: timestampFromMs(row.expires_at_ms),
    iccid_last4: row.iccid_last4,
    eid_last4: row.eid_last4,
    batch_id: row.batch_id,
  }))
  return {
    ...items[0],
    ...(items.length > 1 || remaining !== undefined ? { codes: items } : {}),
    ...(remaining === undefined ? {} : { remaining }),
  }
}

/** A request of `POST /v1/esim/issue`. */
type IssueRequest = Request<unknown, unknown, EsimIssueBody | undefined>

/** SIMs that get a code, and what goes with it into the transaction. */
interface Candidates {
  /** What the audit entry is about: a SIM, or a batch. */
  readonly target: string
  readonly cards: readonly SimCard[]
  credentials(card: SimCard): Promise<SimCredentials>
  /** Makes SIMs that are new durable, and says what the audit is to say of that. */
  issueIn?(tx: MutationTx): Promise<Readonly<Record<string, unknown>>>
  /** SIMs of a batch that still have none after this request. */
  readonly remaining?: number
}
