import {
  type Context,
  capacityExceeded,
  DURATION_PATTERN,
  defineError,
  type ErrorFactory,
  fieldRefused,
  type JsonSchema,
  msFromDuration,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeCaRef,
  nodeCredentialsRef,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  type Principal,
  pageFrom,
  pageSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { endCertificate } from '../derived/end-derived.ts'
import { lastingParent } from '../derived/parent.ts'
import type { People } from '../people/people.ts'
import { mustFindUser, rolesOfUser } from '../people/user-store.ts'
import { BY_SCHEMA, ID_PARAMS, ID_SCHEMA, type IdParams, requireGivable } from '../route-parts.ts'
import { createdByText } from '../token-owner.ts'
import { CERTIFICATES, type CertificateRow, countLive, listCertificates } from './certificate-store.ts'

/** A request for a key of P-256 has below 1,000. */
const MOST_REQUEST_CHARS = 4_096

/** The body of `POST /v1/users/{id}/certificates`. */
interface CertificateBody {
  readonly csr_pem: string
  readonly label?: string
  readonly expires_in?: string
}

const CERTIFICATE_BODY: JsonSchema = objectSchema(
  {
    csr_pem: {
      type: 'string',
      maxLength: MOST_REQUEST_CHARS,
      description:
        'PKCS #10, PEM, ECDSA over P-256 with SHA-256. Its subject is ignored; one that asks to be a CA, or for a name that is not the user, is refused. The private key stays where it was made.',
    },
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: PLAIN_TEXT_PATTERN,
      description: 'What to know it by in the list, e.g. the machine that it is on.',
    },
    expires_in: {
      type: 'string',
      pattern: DURATION_PATTERN,
      maxLength: 64,
      description: 'A duration such as 30d, at most 397d; 90d when absent.',
    },
  },
  ['csr_pem'],
)

const COMMON: Readonly<Record<string, JsonSchema>> = {
  serial: { type: 'string', description: 'Hexadecimal, lower case, without leading zeros.' },
  name: { type: 'string', description: 'The certificate says URI:svc://cli/<name>.' },
  label: { type: 'string' },
  expires_at: TIMESTAMP_SCHEMA,
}

const CERTIFICATE_SCHEMA: JsonSchema = recordSchema({
  ...COMMON,
  issued_at: TIMESTAMP_SCHEMA,
  revoked_at: NULLABLE_TIMESTAMP_SCHEMA,
  created_by: BY_SCHEMA,
})

/** A certificate as answered to whoever asked for it. */
const NEW_CERTIFICATE_SCHEMA: JsonSchema = recordSchema({
  ...COMMON,
  certificate_pem: { type: 'string' },
  ca_pem: { type: 'string', description: 'The CA of this box, which signed it and what the box serves.' },
})

function commonRecord({ serial, name, label, expires_at_ms }: CertificateRow): object {
  return { serial, name, label, expires_at: timestampFromMs(expires_at_ms) }
}

function certificateRecord(row: CertificateRow): object {
  return {
    ...commonRecord(row),
    issued_at: timestampFromMs(row.issued_at_ms),
    revoked_at: timestampOrNull(row.revoked_at_ms),
    // Written by createdByText.
    created_by: JSON.parse(row.created_by) as object,
  }
}

/** A user has no certificate with that serial. */
const certificateNotFound: ErrorFactory = defineError(
  'certificate_not_found',
  404,
  'the user has no certificate %s; look for its serial in the list of certificates',
)

const DAY_MS = 86_400_000
/** Of a certificate when nothing is said. */
const DEFAULT_LIFE_MS = 90 * DAY_MS
/** What browsers still take of a certificate; a server's, but there is no reason for a client's to live longer. */
const LONGEST_LIFE_MS = 397 * DAY_MS
/** Live ones of a user: a machine each. */
const MOST_LIVE = 50

const SERIAL_PARAMS = recordSchema({ id: ID_SCHEMA, serial: { type: 'string', pattern: '^[0-9a-f]{1,40}$' } })

interface SerialParams extends IdParams {
  readonly serial: string
}

/** The routes under `/v1/users/{id}/certificates`. */
export function certificateRoutes({ context, forget }: Pick<People, 'context' | 'forget'>): readonly Route[] {
  return [
    route<IdParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/users/:id/certificates',
      role: 'admin',
      summary: 'List the client certificates of a user, newest first',
      description: 'Subjects, fingerprints and validity; revoked ones included.',
      schema: {
        params: ID_PARAMS,
        query: objectSchema(PAGE_QUERY),
        response: pageSchema('certificates', CERTIFICATE_SCHEMA),
      },
      paged: true,
      errors: ['user_not_found'],
      handle: async (request) => {
        await mustFindUser(context.db, request.params.id)
        return { body: await certificatePage(context, request.params.id, request.page()) }
      },
    }),
    route<IdParams, unknown, CertificateBody>({
      method: 'POST',
      path: '/v1/users/:id/certificates',
      role: 'admin',
      summary: 'Issue a client certificate for a user',
      description:
        'Signs the key of a certificate request with the CA of this box. The certificate names the user alone; the roles are those that the user has at each request, none once the user is gone. The key is made, and stays, where the request came from.',
      example: { csr_pem: '-----BEGIN CERTIFICATE REQUEST-----\n…', label: 'laptop', expires_in: '30d' },
      schema: { params: ID_PARAMS, body: CERTIFICATE_BODY, response: NEW_CERTIFICATE_SCHEMA, status: 201 },
      audit: 'user.certificate',
      errors: ['user_not_found', 'capacity_exceeded'],
      handle: (request) => issue(context, request),
    }),
    route<SerialParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/users/:id/certificates/:serial',
      role: 'admin',
      summary: 'Revoke a client certificate, from the next request on',
      description:
        'Tokens, invitations and links that were made with it, and what these have opened, end with it.',
      schema: { params: SERIAL_PARAMS, status: 204 },
      audit: 'user.certificate_revoke',
      errors: ['certificate_not_found'],
      handle: (request) => {
        const { id, serial } = request.params
        return request.mutate(id, async (tx) => {
          const row = await CERTIFICATES.find(tx, { serial })
          if (row?.user_id !== id) throw certificateNotFound(serial)
          await endCertificate(tx, row, context.clock.nowMs())
          tx.audit({ detail: { serial, name: row.name, label: row.label } })
          tx.afterCommit(forget)
          return { status: 204 }
        })
      },
    }),
  ]
}

async function issue(context: Context, request: Request<IdParams, unknown, CertificateBody>): Promise<Reply> {
  const { params, body, principal } = request
  const authority = context.use(nodeCaRef)
  const nowMs = context.clock.nowMs()
  const notAfterMs = lastMoment(body.expires_in, principal, nowMs)
  const user = await mustFindUser(context.db, params.id)
  requireGivable(rolesOfUser(user), principal)
  const publicKey = await authority.readRequest(body.csr_pem, [`svc://cli/${user.name}`, user.name])
  // Signed before the transaction, in which nothing else may be waited for. Not written down, it stands for nobody.
  const issued = await authority.issue({
    publicKey,
    commonName: user.name,
    uri: `svc://cli/${user.name}`,
    notAfterMs,
  })
  // What the box serves is by the CA of the box that admitted it, if any.
  const caPem = `${authority.caPem}${context.maybe(nodeCredentialsRef)?.membership()?.caPem ?? ''}`
  const row: CertificateRow = {
    serial: issued.serial,
    user_id: user.id,
    name: user.name,
    label: body.label ?? '',
    issued_at_ms: nowMs,
    expires_at_ms: issued.notAfterMs,
    revoked_at_ms: null,
    created_by: createdByText(principal),
    parent: lastingParent(principal),
  }
  return request.mutate(user.id, async (tx) => {
    requireGivable(rolesOfUser(await mustFindUser(tx, user.id)), principal)
    if ((await countLive(tx, user.id, nowMs)) >= MOST_LIVE)
      throw capacityExceeded(`${user.name} has ${MOST_LIVE} certificates that are valid; revoke one first`)
    await CERTIFICATES.insert(tx, row)
    tx.audit({ detail: { serial: row.serial, name: row.name, label: row.label } })
    return { status: 201, body: { ...commonRecord(row), certificate_pem: issued.pem, ca_pem: caPem } }
  })
}

/** Until when: no longer than asked, than is allowed at all, and than the credential that asks, but for people. */
function lastMoment(expiresIn: string | undefined, maker: Principal, nowMs: number): number {
  const askedMs = expiresIn === undefined ? DEFAULT_LIFE_MS : msFromDuration(expiresIn)
  if (askedMs === undefined || askedMs > LONGEST_LIFE_MS)
    throw fieldRefused('/expires_in', 'must be more than zero and at most 397d')
  const isBound = maker.kind !== 'user' && maker.kind !== 'admin-env' && maker.expiresAtMs !== undefined
  const boundMs = isBound ? maker.expiresAtMs - nowMs : Number.POSITIVE_INFINITY
  if (askedMs <= boundMs) return nowMs + askedMs
  if (expiresIn === undefined) return nowMs + boundMs
  throw fieldRefused(
    '/expires_in',
    `must be at most ${Math.floor(boundMs / 1_000)}s: the credential that asks ends then`,
  )
}

async function certificatePage(context: Context, userId: string, page: Page): Promise<object> {
  const rows = await listCertificates(context.db, userId, page)
  return pageFrom(page, 'certificates', rows, certificateRecord, (row) => [row.issued_at_ms, row.serial])
}
