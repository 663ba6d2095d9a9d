import {
  type ComponentHealth,
  closedItemsRef,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { BackupParts } from '../parts.ts'

const KIND = {
  type: 'string',
  pattern: '^[a-z][a-z_]{0,63}$',
  description: 'esim_code, bootstrap_token, invitation, recovery_code; more may come.',
} as const
const ID = { type: 'string', minLength: 1, maxLength: 255, pattern: PLAIN_TEXT_PATTERN } as const
const ITEM = recordSchema({
  kind: KIND,
  id: { type: 'string', description: 'Its id among those of its kind; no secret.' },
  expires_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When it is over anyway.' },
})
const MOST_IDS = 500

interface Reopening {
  readonly kind: string
  readonly ids?: readonly string[]
}

/** What restores have closed, and what lets it be used again. */
export function closedRoutes({ context }: BackupParts): readonly Route[] {
  return [
    route<unknown, { readonly kind?: string }, unknown>({
      method: 'GET',
      path: '/v1/restore/closed',
      role: 'admin',
      summary: 'List what restores have closed: things for one use that may have been used since the backup',
      description: 'By kind. Each one does not work until POST /v1/restore/reopen.',
      schema: { query: objectSchema({ ...PAGE_QUERY, kind: KIND }), response: pageSchema('closed', ITEM) },
      paged: true,
      handle: async (request) => ({
        body: await closedPage({ context }, request.query.kind, request.page()),
      }),
    }),
    route<unknown, unknown, Reopening>({
      method: 'POST',
      path: '/v1/restore/reopen',
      role: 'admin',
      summary: 'Reopen what a restore has closed: some or all of a kind',
      description:
        'What somebody has used since the backup can be used a second time then: two eUICCs with the same keys, an invitation that is accepted twice.',
      example: { kind: 'esim_code', ids: ['e-0123456789abcdefghjk'] },
      schema: {
        body: objectSchema(
          {
            kind: KIND,
            ids: { type: 'array', minItems: 1, maxItems: MOST_IDS, uniqueItems: true, items: ID },
          },
          ['kind'],
        ),
        response: recordSchema({ kind: KIND, reopened: { type: 'integer', minimum: 0 } }),
      },
      audit: 'restore.reopen',
      handle: (request) => {
        const { kind, ids } = request.body
        return request.mutate(kind, async (tx) => {
          const reopened = await context.use(closedItemsRef).reopen(tx, kind, ids)
          tx.audit({ detail: { reopened, ...(ids === undefined ? {} : { ids }) } })
          return { body: { kind, reopened } }
        })
      },
    }),
  ]
}

async function closedPage(
  { context }: Pick<BackupParts, 'context'>,
  kind: string | undefined,
  page: Page,
): Promise<object> {
  const [afterKind = '', afterId = ''] = page.after ?? []
  const position = { kind: String(afterKind), id: String(afterId) }
  const items = await context.use(closedItemsRef).list(page.limit + 1, position, kind)
  return pageFrom(
    page,
    'closed',
    items,
    ({ kind: of, id, untilMs = null }) => ({ kind: of, id, expires_at: timestampOrNull(untilMs) }),
    (item) => [item.kind, item.id],
  )
}

/** Says what is closed; nothing when all is open. */
export async function closedHealth({ context }: BackupParts): Promise<readonly ComponentHealth[]> {
  const kinds = await context.use(closedItemsRef).kinds()
  const [first] = kinds
  if (first === undefined) return []
  const closed = kinds.map(({ kind, items }) => `${items} ${kind}`).join(', ')
  const at = timestampFromMs(Math.max(...kinds.map(({ closedAtMs }) => closedAtMs)))
  const detail = `closed by the restore of ${at}: ${closed}; svc reopen lists them and lets them be used again`
  return [{ name: 'restore', kind: 'feature', status: 'ok', detail }]
}
