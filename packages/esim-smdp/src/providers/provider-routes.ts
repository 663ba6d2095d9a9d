import { randomBytes, X509Certificate } from 'node:crypto'
import {
  fieldRefused,
  type JsonSchema,
  objectSchema,
  ok,
  pageFrom,
  pageSchema,
  type Reader,
  type Request,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { base32 } from '../codes/activation.ts'
import type { EsimParts } from '../parts.ts'
import { openOfProvider, PROVIDERS, type ProviderRow, providerOfSubject } from '../store/provider-store.ts'
import {
  checkedUrl,
  checkTls,
  notifyHash,
  type OrderKeyFacts,
  orderKeyFacts,
  providerBy,
  providerConflict,
  subjectOf,
} from './provider.ts'

/** The parameter of the routes of one provider. */
export interface ProviderParams {
  readonly id: string
}

/** Schema of the parameter `{id}`. */
export const PROVIDER_PARAMS: JsonSchema = recordSchema({
  // Shorter than a key of a SIM in hex: a Ki in the place of an id is refused, and in no audit entry.
  id: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,30}$' },
})

/** The body of `PUT /v1/esim/providers/{id}`; what is left out stays as it is. */
interface ProviderBody {
  readonly name?: string
  readonly url?: string
  readonly requester?: string
  readonly profile_type?: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly order_key?: string
  readonly notify_subject?: string
}

const PEM = { type: 'string', maxLength: 65_536 } as const
const BODY: JsonSchema = objectSchema({
  name: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: 'What people call it; the id when absent.',
  },
  url: {
    type: 'string',
    maxLength: 512,
    description: 'Of its ES2+, without /gsma/rsp2/es2plus. Empty: orders go by file alone.',
  },
  requester: {
    type: 'string',
    pattern: '^[\\x21-\\x7e]{0,128}$',
    description: 'functionRequesterIdentifier: what the provider calls you.',
  },
  profile_type: {
    type: 'string',
    pattern: '^[\\x20-\\x7e]{0,64}$',
    description: 'Name of your profile at the provider: in order files, and in orders by ES2+.',
  },
  ca: { ...PEM, description: 'Authorities of its server, PEM. Empty: those of this machine.' },
  cert: { ...PEM, description: 'Your client certificate, PEM, with those between it and its authority.' },
  key: { ...PEM, writeOnly: true, description: 'Its private key, PEM. It is sealed, and shown nowhere.' },
  order_key: {
    type: 'string',
    maxLength: 262_144,
    description: 'OpenPGP public key of the provider, in ASCII armor: order files are encrypted to it.',
  },
  notify_subject: {
    type: 'string',
    pattern: '^([A-Za-z0-9.]+=[^\\x00-\\x1f]+)?$',
    maxLength: 512,
    description:
      'Subject of the client certificate that its notifications come with, such as CN=es2.example.org, O=Harbour. They come to ' +
      'esim.notifications.listen. Empty: by password alone.',
  },
})

const RECORD: JsonSchema = recordSchema({
  id: { type: 'string' },
  name: { type: 'string' },
  url: { type: 'string' },
  requester: { type: 'string' },
  profile_type: { type: 'string' },
  has_ca: { type: 'boolean' },
  cert_subject: { type: ['string', 'null'] },
  cert_expires_at: { type: ['string', 'null'], format: 'date-time' },
  order_key_fingerprint: {
    type: ['string', 'null'],
    description: 'Compare it with the provider by another way before you send keys.',
  },
  order_key_users: { type: 'array', items: { type: 'string' } },
  order_key_expires_at: { type: ['string', 'null'], format: 'date-time' },
  notify_subject: { type: ['string', 'null'] },
  takes_notifications: {
    type: 'boolean',
    description:
      'Whether a password for its notifications was made, or the subject of its certificate is known.',
  },
  created_at: TIMESTAMP_SCHEMA,
  changed_at: TIMESTAMP_SCHEMA,
})

/** The providers: list, one, set, removed, and the password of its notifications. */
export function providerRoutes(parts: EsimParts): readonly Route[] {
  return [...readRoutes(parts), putRoute(parts), removeRoute(parts), passwordRoute(parts)]
}

function readRoutes(parts: EsimParts): readonly Route[] {
  const { context } = parts
  return [
    route<unknown, unknown, unknown>({
      method: 'GET',
      path: '/v1/esim/providers',
      role: 'sim:issuer',
      summary: 'List the providers that deliver eSIMs for you',
      description: 'Accredited SM-DP+, which phones from a shop accept.',
      schema: {
        response: pageSchema('providers', RECORD),
      },
      errors: ['store_corrupt'],
      paged: true,
      handle: async (request) => {
        const page = request.page()
        const rows = await PROVIDERS.select(context.db, 'where id > :after order by id limit :limit', {
          after: String(page.after?.[0] ?? ''),
          limit: page.limit + 1,
        })
        return ok(
          await pageFrom(
            page,
            'providers',
            rows,
            (row) => recordOf(parts, row),
            ({ id }) => [id],
          ),
        )
      },
    }),
    route<ProviderParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/esim/providers/:id',
      role: 'sim:issuer',
      summary: 'Show a provider',
      description: 'Never its keys.',
      schema: { params: PROVIDER_PARAMS, response: RECORD },
      errors: ['esim_provider_not_found', 'store_corrupt'],
      handle: async ({ params: { id } }) => ok(await recordOf(parts, await providerBy(context.db, id))),
    }),
  ]
}

function putRoute(parts: EsimParts): Route {
  return route<ProviderParams, unknown, ProviderBody>({
    method: 'PUT',
    path: '/v1/esim/providers/:id',
    role: 'admin',
    summary: 'Add or change a provider',
    description: 'What is left out stays as it is. Certificate and key change together.',
    example: { name: 'Harbour eSIM', url: 'https://es2.example.org', requester: '1.3.6.1.4.1.99999' },
    schema: { params: PROVIDER_PARAMS, body: BODY, response: RECORD },
    errors: ['validation_failed', 'store_corrupt'],
    audit: 'esim_provider.set',
    handle: (request) => setProvider(parts, request),
  })
}

async function setProvider(parts: EsimParts, request: Request<ProviderParams, unknown, ProviderBody>) {
  const { id } = request.params
  const { body } = request
  const nowMs = Math.floor(parts.context.clock.nowMs())
  const known = await PROVIDERS.find(parts.context.db, { id })
  const { order_key: key } = changed(parts, known ?? fresh(id, nowMs), body)
  if (key !== '' && key !== known?.order_key) await orderKeyFacts(key, nowMs)
  return await request.mutate(id, async (tx) => {
    // As it is now: somebody may have changed what this body leaves out.
    const before = await PROVIDERS.find(tx, { id })
    const after = { ...changed(parts, before ?? fresh(id, nowMs), body), changed_at_ms: nowMs }
    await refuseSharedSubject(tx, after)
    await PROVIDERS.put(tx, after)
    const fields = Object.keys(body)
    tx.audit({ detail: { fields, ...(before === undefined && { added: true }), url: after.url } })
    tx.event({ type: 'esim_provider.set', subject: id, data: { fields } })
    return ok(await recordOf(parts, after))
  })
}

/** Who a certificate is must be certain. Throws `validation_failed`. */
async function refuseSharedSubject(reader: Reader, { id, notify_subject }: ProviderRow): Promise<void> {
  const other = notify_subject ? await providerOfSubject(reader, notify_subject) : undefined
  if (other !== undefined && other.id !== id)
    throw fieldRefused('/notify_subject', `is that of the provider ${other.id}`)
}

function fresh(id: string, nowMs: number): ProviderRow {
  return {
    id,
    name: id,
    url: '',
    requester: '',
    profile_type: '',
    ca: '',
    cert: '',
    key_sealed: null,
    order_key: '',
    notify_hash: null,
    created_at_ms: nowMs,
    changed_at_ms: nowMs,
    notify_subject: null,
  }
}

/** The row with what a body says. Throws `validation_failed`. */
function changed({ vault }: EsimParts, before: ProviderRow, body: ProviderBody): ProviderRow {
  const { ca = before.ca, cert = before.cert, url } = body
  const isKept = body.cert === undefined && body.key === undefined
  // With the certificate its key: whether the one that is sealed fits is not asked.
  if (isKept) checkTls({ ca, cert: '', key: undefined })
  else checkTls({ ca, cert, key: body.key })
  const key_sealed =
    body.key === undefined
      ? null
      : vault.seal(Buffer.from(body.key, 'utf8'), `esim_smdp_provider/${before.id}`)
  return {
    ...before,
    name: body.name ?? before.name,
    url: url === undefined ? before.url : checkedUrl(url),
    requester: body.requester ?? before.requester,
    profile_type: body.profile_type ?? before.profile_type,
    ca,
    cert,
    order_key: body.order_key ?? before.order_key,
    notify_subject:
      body.notify_subject === undefined ? before.notify_subject : subjectOf(body.notify_subject),
    key_sealed: isKept ? before.key_sealed : key_sealed,
  }
}

function removeRoute({ context }: EsimParts): Route {
  return route<ProviderParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/esim/providers/:id',
    role: 'admin',
    summary: 'Remove a provider and its keys',
    description: 'Refused while a code of it can be used. Codes that are over stay in the list.',
    schema: { params: PROVIDER_PARAMS, response: recordSchema({ id: { type: 'string' } }) },
    errors: ['esim_provider_not_found', 'esim_provider_conflict', 'store_corrupt'],
    audit: 'esim_provider.remove',
    handle: async (request) => {
      const { id } = request.params
      await providerBy(context.db, id)
      return await request.mutate(id, async (tx) => {
        const open = await openOfProvider(tx, id)
        if (open > 0)
          throw providerConflict(`${open} codes of the provider ${id} can still be used; revoke them first`)
        await PROVIDERS.remove(tx, { id })
        return ok({ id })
      })
    },
  })
}

/** 26 characters of 5 bits. */
const PASSWORD_CHARACTERS = 26

function passwordRoute({ context }: EsimParts): Route {
  return route<ProviderParams, unknown, unknown>({
    method: 'POST',
    path: '/v1/esim/providers/:id/password',
    role: 'admin',
    summary: 'Make the password of a provider’s notifications',
    description:
      'With it and the id as user name (HTTP Basic) the provider calls handleDownloadProgressInfo here. It is shown once; the one before ends.',
    schema: {
      params: PROVIDER_PARAMS,
      response: recordSchema({
        user: { type: 'string' },
        password: { type: 'string' },
        path: { type: 'string' },
      }),
    },
    errors: ['esim_provider_not_found', 'store_corrupt'],
    audit: 'esim_provider.password',
    handle: async (request) => {
      const { id } = request.params
      await providerBy(context.db, id)
      const password = base32(randomBytes(PASSWORD_CHARACTERS))
      return await request.mutate(id, async (tx) => {
        const row = await providerBy(tx, id)
        await PROVIDERS.put(tx, { ...row, notify_hash: notifyHash(password) })
        return {
          ...ok({ user: id, password, path: NOTIFY_PATH }),
          headers: { 'cache-control': 'no-store' },
          sealed: true,
        }
      })
    },
  })
}

/** Where providers tell how downloads go. SGP.22 §6.5.2. */
export const NOTIFY_PATH = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'

async function recordOf({ context }: EsimParts, row: ProviderRow): Promise<object> {
  const cert = row.cert === '' ? undefined : new X509Certificate(row.cert)
  const facts = await factsOf(row, Math.floor(context.clock.nowMs()))
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    requester: row.requester,
    profile_type: row.profile_type,
    has_ca: row.ca !== '',
    cert_subject: cert?.subject.replaceAll('\n', ', ') ?? null,
    cert_expires_at: cert === undefined ? null : timestampFromMs(Date.parse(cert.validTo)),
    order_key_fingerprint: facts?.fingerprint ?? null,
    order_key_users: facts?.users ?? [],
    order_key_expires_at: timestampOrNull(facts?.expiresAtMs ?? null),
    notify_subject: row.notify_subject || null,
    takes_notifications: row.notify_hash !== null || Boolean(row.notify_subject),
    created_at: timestampFromMs(row.created_at_ms),
    changed_at: timestampFromMs(row.changed_at_ms),
  }
}

/** Undefined: there is none, or it has ended since. */
async function factsOf({ order_key: key }: ProviderRow, nowMs: number): Promise<OrderKeyFacts | undefined> {
  return key === '' ? undefined : await orderKeyFacts(key, nowMs).catch(() => undefined)
}
