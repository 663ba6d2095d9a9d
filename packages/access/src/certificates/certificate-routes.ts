import {
  type Context,
  capacityExceeded,
  defineError,
  type ErrorFactory,
  expandRoles,
  forbidden,
  meshAuthorityRef,
  meshIdentityRef,
  msFromDuration,
  objectSchema,
  PAGE_QUERY,
  type Page,
  type Principal,
  pageSchema,
  type Reply,
  type Request,
  type Route,
  route,
  userNotFound,
  validationFailed,
} from '@steeple/contracts'
import { endCertificate } from '../derived/end-derived.ts'
import { lastingParent } from '../derived/parent.ts'
import type { People } from '../people/people.ts'
import { UUID_PATTERN } from '../people/uuid.ts'
import { createdByText } from '../token-record.ts'
import {
  CERTIFICATE_BODY,
  CERTIFICATE_SCHEMA,
  type CertificateBody,
  certificateRecord,
  NEW_CERTIFICATE_SCHEMA,
  newCertificateRecord,
} from './certificate-record.ts'
import {
  type CertificatePosition,
  type CertificateRow,
  countLive,
  findCertificate,
  insertCertificate,
  listCertificates,
} from './certificate-store.ts'
import { findHolder } from './find-holder.ts'
import type { Holder } from './operator-certificates.ts'

/** A user has no certificate with that serial. */
const certificateNotFound: ErrorFactory = defineError(
  'certificate_not_found',
  404,
  'the user has no certificate %s',
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
      summary: 'Revoke a client certificate; it opens nothing from the next request on',
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
  const authority = context.use(meshAuthorityRef)
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
  // What the box serves is by the CA of the mesh that it has joined, if any.
  const caPem = `${authority.caPem}${context.maybe(meshIdentityRef)?.membership()?.caPem ?? ''}`
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
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  const hasMore = rows.length > page.limit && last !== undefined
  return {
    certificates: shown.map(certificateRecord),
    next_cursor: hasMore ? page.cursor([last.issued_at_ms, last.serial]) : null,
  }
}

function positionFrom(after: Page['after']): CertificatePosition | undefined {
  return after === undefined ? undefined : { issuedAtMs: Number(after[0]), serial: String(after[1]) }
}
