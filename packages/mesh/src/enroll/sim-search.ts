import {
  type BoxCalls,
  eachAbreast,
  forbidden,
  isRecord,
  isServiceError,
  type JsonSchema,
  NODE_ID_SCHEMA,
  nodeStateConflict,
  objectSchema,
  ok,
  PLAIN_TEXT_PATTERN,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimFound,
  subscribersRef,
} from '@steeple/contracts'
import type { EnrollParts } from './parts.ts'

/** Boxes that are asked at a time. */
const ABREAST = 32
/** What one box may take, and all of them together: somebody waits for it. */
const BOX_MS = 4_000
const ALL_MS = 15_000
const MOST = 500
const USUAL = 100

const HASH_PATTERN = '^[0-9a-f]{12}$'
const TEXT: JsonSchema = { type: ['string', 'null'], maxLength: 64, pattern: PLAIN_TEXT_PATTERN }
const ASKED: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: PLAIN_TEXT_PATTERN,
  description:
    'As q of GET /v1/sims: words of the label or the hash begin with it, card or number end with it.',
}
const LIMIT: JsonSchema = { type: 'integer', minimum: 1, maximum: MOST, default: USUAL }
const FOUND: Readonly<Record<string, JsonSchema>> = {
  imsi_sha256_12: { type: 'string', pattern: HASH_PATTERN },
  label: TEXT,
  state: { type: 'string', description: 'As in GET /v1/sims.' },
  iccid_last4: { type: ['string', 'null'], pattern: '^[0-9]{4}$' },
}
const BOX: Readonly<Record<string, JsonSchema>> = { node_id: NODE_ID_SCHEMA, box: { type: 'string' } }

/** A SIM as it goes over the wire. */
interface FoundRecord {
  readonly imsi_sha256_12: string
  readonly label: string | null
  readonly state: string
  readonly iccid_last4: string | null
}

interface Question {
  readonly q: string
  readonly limit?: number
}

/** The routes by which a root finds a SIM of any box. */
export function simSearchRoutes(parts: EnrollParts, calls: BoxCalls): readonly Route[] {
  return [findRoute(parts, calls), askedRoute(parts)]
}

function findRoute(parts: EnrollParts, calls: BoxCalls): Route {
  return route<unknown, unknown, Question>({
    method: 'POST',
    path: '/v1/mesh/sims/find',
    role: 'operator',
    summary: 'Find a SIM on all boxes of the mesh',
    description:
      `At the root. It asks each member, ${ABREAST} at a time, each for at most ${BOX_MS / 1_000} s and all for ` +
      `${ALL_MS / 1_000} s, and says which did not answer. Members write down that they were asked. An IMSI is ` +
      'sent to nobody: they are asked for its hash. No key, IMSI or whole card number is in an answer.',
    example: { q: 'harbour' },
    schema: {
      body: objectSchema({ q: ASKED, limit: LIMIT }, ['q']),
      response: recordSchema({
        sims: { type: 'array', items: recordSchema({ ...BOX, ...FOUND }) },
        is_more: { type: 'boolean', description: 'Whether there are more than limit.' },
        asked: { type: 'integer', description: 'Boxes, this one too.' },
        unanswered: { type: 'array', items: recordSchema({ ...BOX, problem: { type: 'string' } }) },
      }),
    },
    audit: 'mesh.find',
    errors: ['node_state_conflict', 'validation_failed'],
    handle: async (request) => {
      if (parts.identity.membership() !== undefined)
        throw nodeStateConflict('this node is a member; search at the root of the mesh')
      const { limit = USUAL, q } = request.body
      const question = { q, limit: Math.min(MOST, limit + 1) }
      const { found, unanswered, asked } = await askAll(parts, calls, question, request.signal)
      const sims = found.toSorted(
        (one, other) =>
          (one.label ?? '').localeCompare(other.label ?? '') || one.box.localeCompare(other.box),
      )
      return await request.mutate(parts.node.nodeId, async (tx) => {
        // What was looked for may be a name or a number.
        tx.audit({ detail: { found: sims.length, asked, unanswered: unanswered.length } })
        return { body: { sims: sims.slice(0, limit), is_more: sims.length > limit, asked, unanswered } }
      })
    },
  })
}

interface Placed extends FoundRecord {
  readonly node_id: string
  readonly box: string
}

interface Unanswered {
  readonly node_id: string
  readonly box: string
  readonly problem: string
}

async function askAll(
  parts: EnrollParts,
  calls: BoxCalls,
  question: Required<Question>,
  signal: AbortSignal,
) {
  const { node, context } = parts
  const own = await searched(parts, question)
  const found: Placed[] = own.map((sim) => ({ node_id: node.nodeId, box: node.name, ...sim }))
  const unanswered: Unanswered[] = []
  const others = (await calls.others()) ?? []
  const bound = AbortSignal.any([signal, context.retiring, AbortSignal.timeout(ALL_MS)])
  await eachAbreast(others, ABREAST, async ({ nodeId: node_id, name: box }) => {
    const answer = await askOne(calls, node_id, question, bound)
    if (typeof answer === 'string') unanswered.push({ node_id, box, problem: answer })
    else found.push(...answer.map((sim) => ({ node_id, box, ...sim })))
  })
  signal.throwIfAborted()
  return { found, unanswered, asked: others.length + 1 }
}

/** What a box has found, or why it has not answered. */
async function askOne(
  calls: BoxCalls,
  nodeId: string,
  body: Required<Question>,
  signal: AbortSignal,
): Promise<readonly FoundRecord[] | string> {
  if (signal.aborted) return 'it was not asked in time'
  const own = AbortSignal.timeout(BOX_MS)
  try {
    const question = { method: 'POST', path: '/v1/mesh/sims/asked', body } as const
    const answer = await calls.call(nodeId, question, AbortSignal.any([signal, own]))
    if (answer.status === 200) return soundIn(answer.body, body.limit)
    if (answer.status === 403) return 'its operator does not let the root search it (peering.answer_searches)'
    return answer.status === 404 ? 'its version cannot be searched' : `it answered ${answer.status}`
  } catch (error) {
    if (signal.aborted || own.aborted) return 'it did not answer in time'
    if (isServiceError(error)) return error.message.slice(0, 200)
    throw error
  }
}

/** Another box wrote it. */
function soundIn(body: unknown, limit: number): readonly FoundRecord[] {
  const { sims } = isRecord(body) ? body : {}
  if (!Array.isArray(sims)) return []
  return sims.slice(0, limit).flatMap((sim: unknown): readonly FoundRecord[] => {
    const { imsi_sha256_12: hash, label, state, iccid_last4: end } = isRecord(sim) ? sim : {}
    if (typeof hash !== 'string' || !new RegExp(HASH_PATTERN).test(hash)) return []
    return [
      {
        imsi_sha256_12: hash,
        label: plain(label),
        state: plain(state) ?? 'unknown',
        iccid_last4: typeof end === 'string' && /^[0-9]{4}$/.test(end) ? end : null,
      },
    ]
  })
}

function plain(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > 64) return null
  return new RegExp(PLAIN_TEXT_PATTERN, 'u').test(text) ? text : null
}

function askedRoute(parts: EnrollParts): Route {
  return route<unknown, unknown, Question>({
    method: 'POST',
    path: '/v1/mesh/sims/asked',
    role: 'node',
    summary: 'Search the SIMs of this box for the root of its mesh',
    description: 'The root alone may ask, unless peering.answer_searches is false.',
    example: { q: 'harbour' },
    schema: {
      body: objectSchema({ q: ASKED, limit: LIMIT }, ['q']),
      response: recordSchema({ sims: { type: 'array', items: recordSchema(FOUND) } }),
    },
    audit: 'mesh.searched',
    errors: ['forbidden', 'validation_failed'],
    handle: async (request) => {
      refuseOthers(parts, request)
      const sims = await searched(parts, { limit: USUAL, ...request.body })
      if (sims.length === 0) return ok({ sims })
      return await request.mutate(parts.node.nodeId, async (tx) => {
        tx.audit({ detail: { root: request.principal.name, sims: sims.map((sim) => sim.imsi_sha256_12) } })
        return { body: { sims } }
      })
    },
  })
}

/** Throws `forbidden`. */
function refuseOthers(
  { identity, context }: EnrollParts,
  { principal }: Request<unknown, unknown, Question>,
) {
  const root = identity.membership()?.rootNodeId
  if (principal.kind !== 'node' || root === undefined || principal.id !== root)
    throw forbidden('node, the root of the mesh of this one')
  if (!context.config.answer_searches)
    throw forbidden('node, of a mesh that this box answers (peering.answer_searches)')
}

async function searched({ context }: EnrollParts, { q, limit }: Required<Question>): Promise<FoundRecord[]> {
  const found = (await context.maybe(subscribersRef)?.search?.(q, limit)) ?? []
  return found.map(({ imsi, label, state, iccidEnd }: SimFound) => ({
    imsi_sha256_12: imsi,
    label: label ?? null,
    state,
    iccid_last4: iccidEnd ?? null,
  }))
}
