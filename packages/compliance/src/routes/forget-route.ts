import {
  type ImsiHash,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type Reply,
  type Request,
  type Route,
  route,
  simNotFound,
  simRegisterRef,
  simStateConflict,
} from '@steeple/contracts'
import { type ComplianceParts, ERASURE_RESOURCE } from '../parts.ts'
import { ERASURES } from '../store.ts'

interface ForgetParams {
  readonly imsi: ImsiHash
}
interface ForgetBody {
  readonly revoke?: boolean
  readonly reason?: string
}

const PARAMS: JsonSchema = objectSchema(
  {
    imsi: {
      type: 'string',
      pattern: '^[0-9a-f]{12}$',
      description: 'The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself.',
    },
  },
  ['imsi'],
)
const BODY: JsonSchema = objectSchema({
  revoke: {
    type: 'boolean',
    description:
      'Revoke the SIM first if it is in use. Without it a SIM that was ever attached has to be revoked already.',
  },
  reason: {
    type: 'string',
    minLength: 1,
    maxLength: 256,
    pattern: PLAIN_TEXT_PATTERN,
    description: 'For the audit trail: the number of the request, and nothing of the person.',
  },
})
const RESPONSE: JsonSchema = objectSchema(
  {
    imsi_sha256_12: { type: 'string' },
    status: {
      type: 'string',
      description:
        'pending: erased as soon as HSS and core have let it go; the SIM is not found from then on.',
    },
  },
  ['imsi_sha256_12', 'status'],
)

/** `POST /v1/sims/{imsi}/forget` */
export function forgetRoute(parts: ComplianceParts): Route {
  return route<ForgetParams, unknown, ForgetBody | undefined>({
    method: 'POST',
    path: '/v1/sims/:imsi/forget',
    role: 'admin',
    summary: 'Erase what is known of the holder of a SIM',
    description:
      'For good: IMSI, keys and card codes, label and number, quota, eSIM codes. What stays is the hash in the trail of moves, in ' +
      'sessions and usage until their retention, and in the audit trail. Of a revoked SIM, or of one that was never attached ' +
      '(it is revoked with this); of any other only with `revoke`. Backups keep what they hold: docs/compliance.md.',
    schema: { params: PARAMS, body: BODY, response: RESPONSE, status: 202 },
    errors: ['sim_not_found', 'sim_state_conflict', 'store_corrupt'],
    audit: 'sim.forget',
    handle: async (request) =>
      await request.mutate(request.params.imsi, async (tx) => await ask(parts, request, tx)),
  })
}

async function ask(
  { context }: ComplianceParts,
  { params: { imsi }, body, principal }: Request<ForgetParams, unknown, ForgetBody | undefined>,
  tx: MutationTx,
): Promise<Reply> {
  const register = context.use(simRegisterRef)
  const remains = await register.remains(imsi, tx)
  if (remains === undefined) throw simNotFound(imsi)
  tx.audit({ detail: { state: remains.state, revoke: body?.revoke === true, reason: body?.reason ?? null } })
  if (remains.state !== 'revoked') {
    if (!remains.isUnused && body?.revoke !== true)
      throw simStateConflict(`the SIM ${imsi} is ${remains.state}; revoke it first, or send revoke: true`)
    await register.revokeIn(tx, imsi)
  }
  if ((await ERASURES.find(tx, { subject: imsi })) === undefined)
    await ERASURES.insert(tx, {
      subject: imsi,
      asked_at_ms: context.clock.nowMs(),
      asked_by: `${principal.kind}:${principal.id}`,
    })
  tx.dirty(ERASURE_RESOURCE, imsi)
  return { status: 202, body: { imsi_sha256_12: imsi, status: 'pending' } }
}
