import { hash, randomBytes } from 'node:crypto'
import {
  type Context,
  invalidTransition,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  notFound,
  objectSchema,
  ok,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
  timestampOrNull,
  validationFailed,
} from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import {
  addDocument,
  type DocumentRow,
  documentContent,
  documents,
  endDocument,
  principalText,
} from '../store.ts'

/** A scan of a few pages. */
const MOST_OCTETS = 5 * 1024 * 1024
/** More than a box has licences for; all of them are in each backup. */
const MOST_DOCUMENTS = 20
const ID_BYTES = 6

/** What a file of each kind begins with: ISO 32000-2 §7.5.2, ISO/IEC 15948 §5.2, ITU-T T.81 annex B. */
const KINDS = [
  { type: 'application/pdf', ending: 'pdf', magic: Buffer.from('%PDF-') },
  { type: 'image/png', ending: 'png', magic: Buffer.from('89504e470d0a1a0a', 'hex') },
  { type: 'image/jpeg', ending: 'jpg', magic: Buffer.from('ffd8ff', 'hex') },
] as const

const DOCUMENT: JsonSchema = recordSchema({
  id: { type: 'string' },
  sha256: { type: 'string', description: 'Of the file, hexadecimal.' },
  media_type: { type: 'string', enum: KINDS.map(({ type }) => type) },
  bytes: { type: 'integer' },
  license_reference: { type: 'string', description: 'Of the licence that it was attached to.' },
  license_holder: { type: ['string', 'null'] },
  attached_at: TIMESTAMP_SCHEMA,
  attached_by: { type: 'string' },
  ended_at: {
    ...NULLABLE_TIMESTAMP_SCHEMA,
    description: 'When it was replaced or removed, or the reference changed; null: it counts.',
  },
  ended_by: { type: ['string', 'null'] },
})
const PATH = '/v1/policy/license/documents'
const ID_PARAMS: JsonSchema = objectSchema({ id: { type: 'string', pattern: '^d-[0-9a-f]{12}$' } }, ['id'])
type OfOne = Request<{ readonly id: string }, unknown, unknown>

/** The documents of the licence: attached, replaced, read, removed. */
export function licenseRoutes(context: Context, policy: CurrentPolicy): readonly Route[] {
  const { db, clock } = context
  return [
    route({
      method: 'GET',
      path: PATH,
      role: 'viewer',
      summary: 'List the documents of the licence, and those of earlier ones',
      description:
        'The newest first. The one without ended_at counts. An ended one is kept while the record has a TX interval under its licence.',
      schema: { response: recordSchema({ documents: { type: 'array', items: DOCUMENT } }) },
      errors: ['store_corrupt'],
      handle: async () => ok({ documents: (await documents(db)).map(shown) }),
    }),
    attachRoute(context, policy),
    route({
      method: 'GET',
      path: `${PATH}/:id`,
      role: 'operator',
      summary: 'Download a document of a licence',
      description: 'As it was attached, always as a file to be saved.',
      produces: KINDS.map(({ type }) => type),
      schema: { params: ID_PARAMS },
      errors: ['not_found', 'store_corrupt'],
      handle: async ({ params }: OfOne) => {
        const row = await found(db, params.id)
        const kind = KINDS.find(({ type }) => type === row.media_type)
        return {
          headers: {
            'content-type': row.media_type,
            'content-disposition': `attachment; filename="licence-${row.id}.${kind?.ending ?? 'bin'}"`,
          },
          stream: documentContent(db, row),
        }
      },
    }),
    route({
      method: 'DELETE',
      path: `${PATH}/:id`,
      role: 'operator',
      summary: 'Remove the document of the licence',
      description:
        'It no longer counts. If the record has a TX interval under its licence, it is kept as an ended one.',
      schema: { params: ID_PARAMS, status: 204 },
      errors: ['not_found', 'invalid_transition', 'store_corrupt'],
      audit: 'policy.license_remove',
      handle: (request: OfOne) =>
        request.mutate('policy', async (tx) => {
          const row = await found(tx, request.params.id)
          if (row.ended_at_ms !== null)
            throw invalidTransition(
              `document ${row.id} counts no longer; it is kept for the record of transmissions`,
            )
          await endDocument(tx, row, { atMs: clock.nowMs(), by: principalText(request.principal) })
          tx.audit({ detail: audited(row) })
          return { status: 204 }
        }),
    }),
  ]
}

function attachRoute({ clock }: Context, policy: CurrentPolicy): Route {
  return route<unknown, unknown, Uint8Array | undefined>({
    method: 'POST',
    path: PATH,
    role: 'operator',
    summary: 'Attach a document to the licence, or replace it',
    description:
      'A PDF, PNG or JPEG of at most 5 MiB, recognised by its content. It belongs to the licence that the rules have now. It is in each ' +
      'backup, and the compliance export names it with its SHA-256.',
    consumes: [...KINDS.map(({ type }) => type), 'application/octet-stream'],
    rawBody: true,
    bodyLimit: MOST_OCTETS,
    schema: { response: DOCUMENT },
    errors: ['validation_failed', 'invalid_transition', 'body_too_large', 'store_corrupt'],
    audit: 'policy.license_attach',
    handle: async (request) => {
      const content = request.body ?? new Uint8Array()
      const kind = KINDS.find(({ magic }) => magic.equals(content.subarray(0, magic.length)))
      if (kind === undefined)
        throw validationFailed('the file is no PDF, PNG or JPEG; scan the licence or take a photo of it')
      const sha256 = hash('sha256', content)
      return request.mutate('policy', async (tx): Promise<Reply> => {
        const { reference, holder } = (await policy.read(tx)).spectrum.license
        if (reference === null)
          throw invalidTransition('the licence has no reference yet; save it, then attach the document')
        const known = await documents(tx)
        const before = known.find(({ ended_at_ms: end }) => end === null)
        if (before?.sha256 === sha256) return ok(shown(before))
        const [atMs, by] = [clock.nowMs(), principalText(request.principal)]
        if (before !== undefined) await endDocument(tx, before, { atMs, by })
        if ((await documents(tx)).length >= MOST_DOCUMENTS)
          throw invalidTransition(
            `${MOST_DOCUMENTS} documents are kept for the record of transmissions; retention removes old ones`,
          )
        const row: DocumentRow = {
          id: `d-${randomBytes(ID_BYTES).toString('hex')}`,
          sha256,
          media_type: kind.type,
          octets: content.length,
          license_reference: reference,
          license_holder: holder,
          attached_at_ms: atMs,
          attached_by: by,
          ended_at_ms: null,
          ended_by: null,
        }
        await addDocument(tx, row, content)
        tx.audit({ detail: { ...audited(row), replaces: before?.id ?? null } })
        return ok(shown(row))
      })
    },
  })
}

/** Ends the document that counts, when the licence in the rules is another one than its own. */
export async function endOfOtherLicense(
  tx: Tx,
  reference: string | null,
  end: { readonly atMs: number; readonly by: string },
): Promise<void> {
  for (const row of await documents(tx))
    if (row.ended_at_ms === null && row.license_reference !== reference)
      await endDocument(tx, row, { ...end, isKept: true })
}

async function found(reader: Parameters<typeof documents>[0], id: string): Promise<DocumentRow> {
  const row = (await documents(reader)).find((one) => one.id === id)
  if (row === undefined) throw notFound(`document ${id}`)
  return row
}

function audited({ id, sha256, octets, license_reference }: DocumentRow): Readonly<Record<string, unknown>> {
  return { id, sha256, bytes: octets, license_reference }
}

function shown({ octets, attached_at_ms, ended_at_ms, ...row }: DocumentRow): object {
  return {
    ...row,
    bytes: octets,
    attached_at: timestampFromMs(attached_at_ms),
    ended_at: timestampOrNull(ended_at_ms),
  }
}
