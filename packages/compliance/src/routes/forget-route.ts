import {
  type ImsiHash,
  isServiceError,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  simNotFound,
  simRegisterRef,
  simStateConflict,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { ERASE_ACTION, noteErased } from '../erase.ts'
import { type ComplianceParts, ERASURE_RESOURCE } from '../parts.ts'
import { ERASURES, type ErasureRow, openErasures } from '../store.ts'

const ERASURE = recordSchema({
  imsi_sha256_12: { type: 'string' },
  asked_at: TIMESTAMP_SCHEMA,
  asked_by: { type: 'string', description: 'kind:id' },
  waits_for: {
    type: ['string', 'null'],
    description: 'What its IMSI is still needed for; null when it is about to go.',
  },
})

/** `GET /v1/compliance/erasures` */
export function erasuresRoute(parts: ComplianceParts): Route {
  return route({
    method: 'GET',
    path: '/v1/compliance/erasures',
    role: 'operator',
    summary: 'List the erasures that are not finished',
    description:
      'SIMs with an erased holder and an IMSI that is still here, until HSS and core have removed it; by hash. Empty ' +
      'when every erasure is finished.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('erasures', ERASURE) },
    errors: ['store_corrupt'],
    paged: true,
    handle: async (request) => ({ body: await erasurePage(parts, request.page()) }),
  })
}

async function erasurePage(parts: ComplianceParts, page: Page): Promise<object> {
  const rows = await openErasures(parts.context.db, String(page.after?.[0] ?? ''), page.limit + 1)
  const record = (row: ErasureRow): Promise<object> => erasureRecord(parts, row)
  return pageFrom(page, 'erasures', rows, record, ({ subject }) => [subject])
}

async function erasureRecord({ context }: ComplianceParts, row: ErasureRow): Promise<object> {
  // Stored from a parameter that is a hash by its schema.
  const remains = context.use(simRegisterRef).remains(row.subject as ImsiHash)
  return {
    imsi_sha256_12: row.subject,
    asked_at: timestampFromMs(row.asked_at_ms),
    asked_by: row.asked_by,
    waits_for: await remains.then(
      (found) => found?.waitsFor ?? null,
      (error: unknown) => {
        if (isServiceError(error)) return error.message
        throw error
      },
    ),
  }
}

interface ForgetParams {
  readonly imsi: ImsiHash
}
interface ForgetBody {
  readonly revoke?: boolean
  readonly without_core?: boolean
  readonly reason?: string
}

const PARAMS: JsonSchema = recordSchema({
  imsi: {
    type: 'string',
    pattern: '^[0-9a-f]{12}$',
    description: 'The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself.',
  },
})
const BODY: JsonSchema = objectSchema({
  revoke: {
    type: 'boolean',
    description:
      'Revoke the SIM first if it is in use. Without it a SIM that was ever attached has to be revoked already.',
  },
  without_core: {
    type: 'boolean',
    description:
      'Wait for HSS and core no more: erase the IMSI, too. For a core that is gone for good, and a SIM that is revoked ' +
      'already; what such a core still holds has to be removed there.',
  },
  reason: {
    type: 'string',
    minLength: 1,
    maxLength: 256,
    pattern: PLAIN_TEXT_PATTERN,
    description: 'For the audit trail: the number of the request, and nothing of the person.',
  },
})
const RESPONSE: JsonSchema = recordSchema({
  imsi_sha256_12: { type: 'string' },
  status: {
    type: 'string',
    description:
      'pending: all but the IMSI is erased, and that as soon as HSS and core have let the SIM go; it is not found from then ' +
      'on. erased: it is not found any more.',
  },
  waits_for: {
    type: ['string', 'null'],
    description: 'What its IMSI is still needed for; null when nothing.',
  },
})

/** `POST /v1/sims/{imsi}/forget` */
export function forgetRoute(parts: ComplianceParts): Route {
  return route<ForgetParams, unknown, ForgetBody | undefined>({
    method: 'POST',
    path: '/v1/sims/:imsi/forget',
    role: 'admin',
    summary: 'Erase the data of the holder of a SIM',
    description:
      'For good: IMSI, keys and card codes, label and number, quota, eSIM codes. The hash stays in the trail of moves ' +
      'and in the audit trail, and in sessions and usage until their retention ends. For a revoked SIM, or one that was ' +
      'never attached (it is revoked with this); for any other SIM only with `revoke`. Everything is erased at once, ' +
      'except the IMSI: HSS and core still need it to remove the SIM. Backups keep what they hold: ' +
      'docs/how-to/compliance.md.',
    schema: { params: PARAMS, body: BODY, response: RESPONSE, status: 202 },
    errors: ['sim_not_found', 'sim_state_conflict', 'store_corrupt'],
    audit: 'sim.forget',
    handle: async (request) =>
      await request.mutate(request.params.imsi, async (tx) => await ask(parts, request, tx)),
  })
}

type ForgetRequest = Request<ForgetParams, unknown, ForgetBody | undefined>

async function ask(parts: ComplianceParts, request: ForgetRequest, tx: MutationTx): Promise<Reply> {
  const { context } = parts
  const { imsi } = request.params
  const { revoke = false, without_core = false, reason = null } = request.body ?? {}
  const register = context.use(simRegisterRef)
  const remains = await register.remains(imsi, tx)
  if (remains === undefined) throw simNotFound(imsi)
  tx.audit({ detail: { state: remains.state, revoke, without_core, reason } })
  if (remains.state !== 'revoked') {
    // Its phone might go on with it, and nobody would know of it any more.
    if (without_core) throw simStateConflict(`the SIM ${imsi} is ${remains.state}; revoke it first`)
    if (!remains.isUnused && !revoke)
      throw simStateConflict(`the SIM ${imsi} is ${remains.state}; revoke it first, or send revoke: true`)
    await register.revokeIn(tx, imsi)
  }
  // What others keep of it goes now, too, and not only when the last core has answered.
  tx.tell({ type: ERASE_ACTION, subject: imsi })
  if (without_core) return await end(parts, imsi, tx)
  await register.stripIn(tx, imsi)
  await remember(parts, request, tx)
  tx.dirty(ERASURE_RESOURCE, imsi)
  const waits_for = (await register.remains(imsi, tx))?.waitsFor ?? null
  return { status: 202, body: { imsi_sha256_12: imsi, status: 'pending', waits_for } }
}

async function remember(
  { context }: ComplianceParts,
  { params: { imsi: subject }, principal }: ForgetRequest,
  tx: MutationTx,
): Promise<void> {
  if ((await ERASURES.find(tx, { subject })) !== undefined) return
  const asked_by = `${principal.kind}:${principal.id}`
  await ERASURES.insert(tx, { subject, asked_at_ms: context.clock.nowMs(), asked_by })
}

/** Erases without a word to HSS and core. */
async function end({ context }: ComplianceParts, imsi: ImsiHash, tx: MutationTx): Promise<Reply> {
  await context.use(simRegisterRef).eraseIn(tx, imsi, { isUnheard: true })
  await ERASURES.remove(tx, { subject: imsi })
  await noteErased(context.clock.nowMs(), tx, imsi, 'revoked')
  return { status: 202, body: { imsi_sha256_12: imsi, status: 'erased', waits_for: null } }
}
