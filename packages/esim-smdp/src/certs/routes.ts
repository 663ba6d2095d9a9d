import { isIP } from 'node:net'
import {
  fieldRefused,
  type JsonSchema,
  objectSchema,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  validationFailed,
} from '@steeple/contracts'
import type { RspCurve } from '@steeple/sgp22'
import { CERTS, DROPPED, REVOKED } from '../store/rows.ts'
import { type CertFile, readFiles } from './files.ts'
import {
  CERT_PEM_SCHEMA,
  CERT_SCHEMA,
  certRecord,
  type HeldCertificate,
  pemOf,
  revocationId,
  revocationIdOf,
} from './held.ts'
import { hostOf, missingTls, newHierarchy, ownCiOf } from './hierarchy.ts'
import {
  type CertParts,
  esimCertConflict,
  esimCertNotFound,
  keepCertificates,
  keepRevocations,
} from './keep.ts'
import { labEumRoute } from './lab-eum-route.ts'
import { planImport } from './plan-import.ts'

interface RevokeBody {
  readonly id?: string
  readonly issuer?: string
  readonly serial?: string
  readonly restore?: boolean
}

const BODY: JsonSchema = objectSchema({
  id: { type: 'string', pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'Of one that is listed.' },
  issuer: {
    type: 'string',
    pattern: '^[0-9a-fA-F]{40}$',
    maxLength: 40,
    description: 'Key identifier of the issuer: of the CI for an EUM, of the EUM for an eUICC.',
  },
  serial: { type: 'string', pattern: '^[0-9a-fA-F]{2,64}$', maxLength: 64, description: 'Hexadecimal.' },
  restore: { type: 'boolean', description: 'Believe it again, when it was revoked here by hand.' },
})
const RESPONSE: JsonSchema = recordSchema({
  issuer: { type: 'string' },
  serial: { type: 'string' },
  revoked: { type: 'boolean' },
})

/** `POST /v1/esim/certs/revoke`: an EUM, an eUICC or a certificate of this service is not believed any more. */
function revokeRoute(parts: CertParts): Route {
  return route<unknown, unknown, RevokeBody>({
    method: 'POST',
    path: '/v1/esim/certs/revoke',
    role: 'admin',
    summary: 'Revoke a certificate: of an eUICC maker, of an eUICC, or of this SM-DP+',
    description:
      'By its id, or by issuer and serial number when it is not listed here. eUICCs below it get nothing more, and ' +
      'running downloads end. Delivered profiles stay. The CI of a phone does not learn of it. With restore the ' +
      'certificate is trusted again.',
    example: { id: '0'.repeat(64) },
    schema: { body: BODY, response: RESPONSE },
    audit: 'esim_cert.revoke',
    errors: [esimCertNotFound.code, esimCertConflict.code],
    handle: async (request) => {
      const id = meant(parts, request.body)
      const isRestored = request.body.restore === true
      const reply = await request.mutate(id, async (tx) => {
        const known = await REVOKED.find(tx, { id })
        if (isRestored) {
          if (known?.source === 'list')
            throw esimCertConflict('its CI has revoked it by a list; nobody here can take that back')
          await REVOKED.remove(tx, { id })
          tx.audit({ detail: { restored: true } })
        } else if (known === undefined) await keepRevocations(tx, parts, [id], 'hand')
        const [issuer = '', serial = ''] = id.split(' ')
        return { body: { issuer, serial, revoked: !isRestored } }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

/** Throws `validation_failed`, `esim_cert_not_found`, `esim_cert_conflict`. */
function meant({ certs }: CertParts, { id, issuer, serial }: RevokeBody): string {
  if (id === undefined && issuer !== undefined && serial !== undefined) return revocationId(issuer, serial)
  if (id === undefined || issuer !== undefined || serial !== undefined)
    throw validationFailed('name the certificate by its id, or by issuer and serial', {
      details: [{ pointer: '', message: 'has to have either id, or issuer and serial' }],
    })
  const one = certs.all().find(({ row }) => row.id === id)
  if (one === undefined) throw esimCertNotFound(id)
  if (one.row.role === 'ci')
    throw esimCertConflict('a CI stands for itself; remove it and what is below it to believe it no more')
  return revocationIdOf(one.certificate)
}

/** Which certificate a path means. */
interface CertParams {
  readonly id: string
}
/** Schema of `CertParams`. */
const PARAMS: JsonSchema = recordSchema({
  id: {
    type: 'string',
    maxLength: 64,
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 of the certificate.',
  },
})
/** `DELETE /v1/esim/certs/{id}` */
function removeRoute(parts: CertParts): Route {
  return route<CertParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/esim/certs/:id',
    role: 'admin',
    summary: 'Remove a certificate and its key',
    description:
      'The folder esim.certs_dir does not bring it back, even if it has the file; an import by hand does.',
    schema: { params: PARAMS, status: 204 },
    audit: 'esim_cert.remove',
    errors: [esimCertNotFound.code, esimCertConflict.code],
    handle: async (request) => {
      const { id } = request.params
      const reply = await request.mutate(id, async (tx) => {
        const row = await CERTS.find(tx, { id })
        if (row === undefined) throw esimCertNotFound(id)
        const below = await CERTS.select(tx, "where ci_pkid = :ci and role <> 'ci' limit 1", {
          ci: row.ci_pkid,
        })
        if (row.role === 'ci' && below.length > 0)
          throw esimCertConflict('certificates of this CI are still here; remove them first')
        const held = parts.certs.all()
        const one = held.find((each) => each.row.id === id)
        // A maker of eUICCs that was signed for here, and not taken back.
        if (one?.row.role === 'eum' && one.isRevoked !== true && ownCiOf(one, held) !== undefined)
          throw esimCertConflict(
            'eUICCs of this EUM are believed by its signature, here or not; svc esim certs revoke ends that, then remove it',
          )
        await CERTS.remove(tx, { id })
        await DROPPED.put(tx, { id, at_ms: parts.context.clock.nowMs() })
        tx.audit({ detail: { role: row.role, curve: row.curve } })
        return { status: 204 }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

interface InitBody {
  readonly host?: string
  readonly curves?: readonly RspCurve[]
  readonly force?: boolean
}
interface ImportBody {
  readonly files: readonly { readonly name: string; readonly pem?: string; readonly base64?: string }[]
  readonly force?: boolean
}

const CURVES: readonly RspCurve[] = ['P-256', 'brainpoolP256r1']
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i
const MOST_FILES = 100

const INIT_BODY: JsonSchema = objectSchema({
  host: {
    type: 'string',
    maxLength: 253,
    description:
      'Host name (or address) of the SM-DP+, for CERT.DPtls. That of esim.smdp_address when absent.',
  },
  curves: {
    type: 'array',
    items: { type: 'string', enum: CURVES },
    minItems: 1,
    maxItems: 2,
    uniqueItems: true,
    description: 'Both when absent: a hierarchy is made on each.',
  },
  force: { type: 'boolean', description: 'Also when sets exist.' },
})
const IMPORT_BODY: JsonSchema = objectSchema(
  {
    files: {
      type: 'array',
      minItems: 1,
      maxItems: MOST_FILES,
      items: objectSchema(
        {
          name: { type: 'string', minLength: 1, maxLength: 255, description: 'For messages.' },
          pem: { type: 'string', maxLength: 65_536 },
          base64: {
            type: 'string',
            maxLength: 90_000,
            pattern: '^[A-Za-z0-9+/]*={0,2}$',
            description: 'DER or PEM.',
          },
        },
        ['name'],
      ),
    },
    force: {
      type: 'boolean',
      description: 'Also a CI with a published private key (SGP.26) beside another one.',
    },
  },
  ['files'],
)
const CERTS_SCHEMA: JsonSchema = recordSchema({ certs: { type: 'array', items: CERT_SCHEMA } })
const IMPORTED_SCHEMA: JsonSchema = recordSchema({
  certs: { type: 'array', items: CERT_SCHEMA, description: 'Those that are new.' },
  unchanged: { type: 'integer', description: 'Certificates that were there already.' },
  revoked: {
    type: 'integer',
    description: 'Certificates that revocation lists among the files have taken back.',
  },
})

/** `/v1/esim/certs…`: the certificates that this SM-DP+ signs and serves with. */
export function certRoutes(parts: CertParts): readonly Route[] {
  return [
    listRoute(parts),
    oneRoute(parts),
    initRoute(parts),
    importRoute(parts),
    labEumRoute(parts),
    revokeRoute(parts),
    removeRoute(parts),
  ]
}

function listRoute({ certs }: CertParts): Route {
  return route({
    method: 'GET',
    path: '/v1/esim/certs',
    role: 'admin',
    summary: 'List the certificates of the SM-DP+, newest first',
    description:
      'CI, EUM, DPauth, DPpb and DPtls (SGP.22 §4.5), with what each is used for and until when it is valid.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('certs', CERT_SCHEMA) },
    paged: true,
    handle: async (request) => ({ body: await certPage(certs.all(), certs.inUse(), request.page()) }),
  })
}

function oneRoute({ certs }: CertParts): Route {
  return route<CertParams, unknown, unknown>({
    method: 'GET',
    path: '/v1/esim/certs/:id',
    role: 'admin',
    summary: 'Show a certificate with its PEM, without its key',
    description: 'The key of a certificate never leaves the box.',
    schema: { params: PARAMS, response: CERT_PEM_SCHEMA },
    errors: [esimCertNotFound.code],
    handle: async ({ params }) => {
      const one = knownCert(certs.all(), params.id)
      return { body: { ...certRecord(one, certs.inUse()), pem: pemOf(one.row.der) } }
    },
  })
}

function initRoute(parts: CertParts): Route {
  return route<unknown, unknown, InitBody>({
    method: 'POST',
    path: '/v1/esim/certs/init',
    role: 'admin',
    summary: 'Create test certificates for this SM-DP+',
    description:
      'A CI, CERT.DPauth, CERT.DPpb and CERT.DPtls on each curve. Phones from a shop do not accept them, because their ' +
      'eUICCs know only the CI of GSMA. Test eUICCs with this CI, and programs, accept them. When sets exist without a ' +
      'valid CERT.DPtls, only that one is made: under their CI when its key is here (phones check that), otherwise ' +
      'under an own one. Refused when nothing is missing, unless forced.',
    example: { host: 'smdp.example.org' },
    schema: { body: INIT_BODY, response: CERTS_SCHEMA, status: 201 },
    audit: 'esim_cert.init',
    errors: [esimCertConflict.code],
    handle: async (request) => {
      const { curves = CURVES, force = false } = request.body
      const host = hostFor(request.body.host, parts.context.config.smdp_address)
      const nowMs = parts.context.clock.nowMs()
      const reply = await request.mutate(host, async (tx) => {
        const [other] = await CERTS.select(tx, 'order by id limit 1')
        const made =
          other === undefined || force
            ? curves.flatMap((curve) => newHierarchy(curve, host, nowMs))
            : missingTls(parts.certs, host, nowMs)
        if (made.length === 0)
          throw esimCertConflict(
            'there are certificates already; with force another hierarchy is made beside them, and its sets come first',
          )
        return { status: 201, body: { certs: await keepCertificates(tx, parts, made) } }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

function importRoute(parts: CertParts): Route {
  return route<unknown, unknown, ImportBody>({
    method: 'POST',
    path: '/v1/esim/certs/import',
    role: 'admin',
    summary: 'Import certificates and their private keys',
    description:
      'PEM or DER, in any order: CERT.CI, CERT.DPauth, CERT.DPpb, CERT.DPtls, each with its key (EC, SEC 1 or PKCS #8) ' +
      'except the CI; and revocation lists of a CI. A test CI with a published private key is refused beside others ' +
      'unless forced. All files are taken or none; each refused file is named with its problem. Keys are sealed at ' +
      'once.',
    schema: { body: IMPORT_BODY, response: IMPORTED_SCHEMA },
    audit: 'esim_cert.import',
    handle: async (request) => {
      const files = request.body.files.map(fileOf)
      const plan = planImport(readFiles(files), parts.certs.all(), {
        nowMs: parts.context.clock.nowMs(),
        revoked: parts.certs.revoked(),
        isForced: request.body.force === true,
      })
      if (plan.problems.length > 0) {
        const details = plan.problems.map(({ file, problem }) => ({
          pointer: `/files/${files.findIndex(({ name }) => name === file)}`,
          message: `${file}: ${problem}`,
        }))
        const [only] = details
        const message =
          details.length === 1 && only !== undefined
            ? only.message
            : `${details.length} things are wrong with the files, and none was taken`
        throw validationFailed(message, { details })
      }
      const reply = await request.mutate('certificates', async (tx) => {
        const added = await keepCertificates(tx, parts, plan.added)
        await keepRevocations(tx, parts, plan.revoked, 'list')
        return { body: { certs: added, unchanged: plan.unchanged, revoked: plan.revoked.length } }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

function hostFor(asked: string | undefined, address: string): string {
  const host = hostOf(asked ?? address)
  if (isIP(host) === 0 && !HOST_NAME.test(host))
    throw fieldRefused(
      '/host',
      host === ''
        ? 'is missing, and esim.smdp_address is empty; say the host name under which phones reach this SM-DP+'
        : 'is neither a host name nor an address; correct it',
    )
  return host
}

function fileOf({ name, pem, base64 }: ImportBody['files'][number], at: number): CertFile {
  if ((pem === undefined) === (base64 === undefined))
    throw fieldRefused(`/files/${at}`, `(${name}) has to have either pem or base64`)
  return {
    name,
    octets: pem === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(pem, 'latin1'),
  }
}

/** Newest first; of those that came together by id. */
function certPage(held: readonly HeldCertificate[], inUse: ReadonlySet<string>, page: Page): Promise<object> {
  const [addedAtMs, id] = page.after ?? []
  const isBehind = ({ row }: HeldCertificate): boolean =>
    page.after === undefined ||
    row.added_at_ms < Number(addedAtMs) ||
    (row.added_at_ms === Number(addedAtMs) && row.id > String(id))
  const rest = held
    .toSorted(({ row: a }, { row: b }) => b.added_at_ms - a.added_at_ms || (a.id < b.id ? -1 : 1))
    .filter(isBehind)
  const record = (one: HeldCertificate): object => certRecord(one, inUse)
  return pageFrom(page, 'certs', rest, record, ({ row }) => [row.added_at_ms, row.id])
}

function knownCert(held: readonly HeldCertificate[], id: string): HeldCertificate {
  const one = held.find(({ row }) => row.id === id)
  if (one === undefined) throw esimCertNotFound(id)
  return one
}
