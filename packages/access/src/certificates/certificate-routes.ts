import {
  type Context,
  capacityExceeded,
  DURATION_PATTERN,
  defineError,
  type ErrorFactory,
  expandRoles,
  forbidden,
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
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
  userNotFound,
  validationFailed,
} from '@steeple/contracts'
import { endCertificate } from '../derived/end-derived.ts'
import { lastingParent } from '../derived/parent.ts'
import type { People } from '../people/people.ts'
import { UUID_PATTERN } from '../people/uuid.ts'
import { createdByText } from '../token-owner.ts'
import {
  type CertificatePosition,
  type CertificateRow,
  countLive,
  findCertificate,
  insertCertificate,
  listCertificates,
} from './certificate-store.ts'
import { findHolder, type Holder } from './operator-certificates.ts'

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

const CREATED_BY: JsonSchema = objectSchema(
  { kind: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' } },
  ['kind', 'id', 'name'],
)
const COMMON: Readonly<Record<string, JsonSchema>> = {
  serial: { type: 'string', description: 'Hexadecimal, lower case, without leading zeros.' },
  name: { type: 'string', description: 'The certificate says URI:svc://cli/<name>.' },
  label: { type: 'string' },
  expires_at: TIMESTAMP_SCHEMA,
}

const CERTIFICATE_SCHEMA: JsonSchema = objectSchema(
  { ...COMMON, issued_at: TIMESTAMP_SCHEMA, revoked_at: NULLABLE_TIMESTAMP_SCHEMA, created_by: CREATED_BY },
  ['serial', 'name', 'label', 'issued_at', 'expires_at', 'revoked_at', 'created_by'],
)

/** A certificate as answered to whoever asked for it. */
const NEW_CERTIFICATE_SCHEMA: JsonSchema = objectSchema(
  {
    ...COMMON,
    certificate_pem: { type: 'string' },
    ca_pem: { type: 'string', description: 'The CA of this box, which signed it and what the box serves.' },
  },
  ['serial', 'name', 'label', 'expires_at', 'certificate_pem', 'ca_pem'],
)

function certificateRecord(row: CertificateRow): object {
  return {
    serial: row.serial,
    name: row.name,
    label: row.label,
    issued_at: timestampFromMs(row.issued_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
    revoked_at: timestampOrNull(row.revoked_at_ms),
    // Written by createdByText.
    created_by: JSON.parse(row.created_by) as object,
  }
}

/** A certificate as answered to whoever asked for it. */
function newCertificateRecord(row: CertificateRow, pem: string, caPem: string): object {
  return {
    serial: row.serial,
    name: row.name,
    label: row.label,
    expires_at: timestampFromMs(row.expires_at_ms),
    certificate_pem: pem,
    ca_pem: caPem,
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

/** Nothing else is looked up: what stands in its place by mistake must not get into the audit trail. */
const USER_ID = { type: 'string', pattern: UUID_PATTERN }
const USER_PARAMS = objectSchema({ id: USER_ID }, ['id'])
const SERIAL_PARAMS = objectSchema({ id: USER_ID, serial: { type: 'string', pattern: '^[0-9a-f]{1,40}$' } }, [
  'id',
  'serial',
])

interface UserParams {
  readonly id: string
}
interface SerialParams extends UserParams {
  readonly serial: string
}

/** The routes under `/v1/users/{id}/certificates`. */
export function certificateRoutes({ context, forget }: Pick<People, 'context' | 'forget'>): readonly Route[] {
  return [
    route<UserParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/users/:id/certificates',
      role: 'admin',
      summary: 'List the client certificates of a user, newest first',
      description: 'Subjects, fingerprints and validity; revoked ones included.',
      schema: {
        params: USER_PARAMS,
        query: objectSchema(PAGE_QUERY),
        response: pageSchema('certificates', CERTIFICATE_SCHEMA),
      },
      paged: true,
      errors: ['user_not_found'],
      handle: async (request) => {
        await holderOr404(context, request.params.id)
        return { body: await certificatePage(context, request.params.id, request.page()) }
      },
    }),
    route<UserParams, unknown, CertificateBody>({
      method: 'POST',
      path: '/v1/users/:id/certificates',
      role: 'admin',
      summary: 'Issue a client certificate for a user',
      description:
        'Signs the key of a certificate request with the CA of this box. The certificate names the user alone; the roles are those that the user has at each request, none once the user is gone. The key is made, and stays, where the request came from.',
      example: { csr_pem: '-----BEGIN CERTIFICATE REQUEST-----\n…', label: 'laptop', expires_in: '30d' },
      schema: { params: USER_PARAMS, body: CERTIFICATE_BODY, response: NEW_CERTIFICATE_SCHEMA, status: 201 },
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
          const row = await findCertificate(tx, serial)
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

async function issue(
  context: Context,
  request: Request<UserParams, unknown, CertificateBody>,
): Promise<Reply> {
  const { params, body, principal } = request
  const authority = context.use(nodeCaRef)
  const nowMs = context.clock.nowMs()
  const notAfterMs = lastMoment(body.expires_in, principal, nowMs)
  const user = await holderOr404(context, params.id)
  refuseBeyond(user, principal)
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
    const still = await findHolder(tx, user.id)
    if (still === undefined) throw userNotFound(user.id)
    refuseBeyond(still, principal)
    if ((await countLive(tx, user.id, nowMs)) >= MOST_LIVE)
      throw capacityExceeded(`${user.name} has ${MOST_LIVE} certificates that are valid; revoke one first`)
    await insertCertificate(tx, row)
    tx.audit({ detail: { serial: row.serial, name: row.name, label: row.label } })
    return { status: 201, body: newCertificateRecord(row, issued.pem, caPem) }
  })
}

async function holderOr404(context: Context, id: string): Promise<Holder> {
  const user = await findHolder(context.db, id)
  if (user === undefined) throw userNotFound(id)
  return user
}

/** Contract section 13: nobody gives what they lack. */
function refuseBeyond(user: Holder, maker: Principal): void {
  const lacking = [...expandRoles(user.roles)].find((role) => !maker.roles.has(role))
  if (lacking !== undefined) throw forbidden(lacking)
}

/** Until when: no longer than asked, than is allowed at all, and than the credential that asks, but for people. */
function lastMoment(expiresIn: string | undefined, maker: Principal, nowMs: number): number {
  const askedMs = expiresIn === undefined ? DEFAULT_LIFE_MS : msFromDuration(expiresIn)
  if (askedMs === undefined || askedMs > LONGEST_LIFE_MS)
    throw tooLong('must be more than zero and at most 397d')
  const isBound = maker.kind !== 'user' && maker.kind !== 'admin-env' && maker.expiresAtMs !== undefined
  const boundMs = isBound ? maker.expiresAtMs - nowMs : Number.POSITIVE_INFINITY
  if (askedMs <= boundMs) return nowMs + askedMs
  if (expiresIn === undefined) return nowMs + boundMs
  throw tooLong(`must be at most ${Math.floor(boundMs / 1_000)}s: the credential that asks ends then`)
}

function tooLong(message: string): Error {
  return validationFailed(`/expires_in ${message}`, { details: [{ pointer: '/expires_in', message }] })
}

async function certificatePage(context: Context, userId: string, page: Page): Promise<object> {
  const rows = await listCertificates(context.db, userId, page.limit + 1, positionFrom(page.after))
  return pageFrom(page, 'certificates', rows, certificateRecord, (row) => [row.issued_at_ms, row.serial])
}

function positionFrom(after: Page['after']): CertificatePosition | undefined {
  return after === undefined ? undefined : { issuedAtMs: Number(after[0]), serial: String(after[1]) }
}
