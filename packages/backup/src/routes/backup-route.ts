import {
  type ComponentHealth,
  closedItemsRef,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeIdentityRef,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Route,
  rateLimited,
  recordSchema,
  route,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { BackupParts } from '../parts.ts'
import { PASSPHRASE_HEADER, passphraseOf } from '../passphrase.ts'
import { auditBackup, backupName, takeBackup } from '../take.ts'

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

/** Each has a process and a copy of the store for as long as its client takes. */
const MOST_AT_ONCE = 2
/** How long a client waits for others to be done. */
const TURN_WAIT_MS = 20_000
const RETRY_AFTER_S = 60

/** `GET /v1/backup` */
export function backupRoute({ context, count }: BackupParts): Route {
  const place = createPlaces(MOST_AT_ONCE, TURN_WAIT_MS, () =>
    rateLimited(`${MOST_AT_ONCE} backups are under way; try again when one is over`, {
      retryAfterS: RETRY_AFTER_S,
    }),
  )
  async function* bounded(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
    let giveBack: (() => void) | undefined
    try {
      giveBack = await place(signal)
      yield* stream
      count.taken.inc({ to: 'answer' })
    } catch (error) {
      count.failed.inc({ to: 'answer' })
      throw error
    } finally {
      giveBack?.()
    }
  }
  return route<unknown, unknown, unknown>({
    method: 'GET',
    path: '/v1/backup',
    role: 'admin',
    summary: 'Take a backup of this node',
    description:
      `Everything of one moment: the store and installed plugins. With the header ${PASSPHRASE_HEADER} (at least 12 ` +
      'characters) the file is encrypted and also holds the keys, so that another machine can become this node. Without ' +
      'it the file holds no key, and only this node can restore it. docs/reference/backup-file.md describes the file, ' +
      'and has a program that reads it without this service.',
    produces: ['application/gzip', 'application/octet-stream'],
    errors: ['validation_failed', 'rate_limited', 'store_unavailable'],
    handle: async (request) => {
      const passphrase = passphraseOf(request.header(PASSPHRASE_HEADER))
      const isEncrypted = passphrase !== undefined
      await auditBackup(context, request.principal, { encrypted: isEncrypted, keys: isEncrypted })
      const name = backupName(context.use(nodeIdentityRef).name, context.clock.nowMs(), isEncrypted)
      return {
        headers: {
          'content-type': isEncrypted ? 'application/octet-stream' : 'application/gzip',
          'content-disposition': `attachment; filename="${name}"`,
          'cache-control': 'no-store',
        },
        stream: bounded(takeBackup(context, passphrase, request.signal), request.signal),
      }
    },
  })
}

/** Takes a place, or waits for one, and gives what gives it back. Throws the signal's reason, or what `refusal` makes. */
type TakePlace = (signal: AbortSignal) => Promise<() => void>

/** So many places at a time. Who finds none waits, at most `waitMs`, in the order of asking. */
export function createPlaces(places: number, waitMs: number, refusal: () => Error): TakePlace {
  let free = places
  const waiting = new Set<() => void>()
  const giveBack = (): void => {
    free += 1
    const [next] = waiting
    next?.()
  }
  const take = (): (() => void) => {
    free -= 1
    return giveBack
  }
  return async (signal) => {
    signal.throwIfAborted()
    if (free > 0) return take()
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    // Whoever was called or has left is out of the queue at once.
    const called = (): void => {
      waiting.delete(called)
      resolve(take())
    }
    const leave = (reason: unknown): void => {
      waiting.delete(called)
      reject(reason)
    }
    const aborted = (): void => leave(signal.reason)
    const timer = setTimeout(() => leave(refusal()), waitMs)
    waiting.add(called)
    signal.addEventListener('abort', aborted, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
    }
  }
}
