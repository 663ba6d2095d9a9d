import type { ItemOf, PagedPath, PathOf, RequestOf, Result } from '@steeple/client'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { listen } from './changes.ts'
import { api } from './client.ts'
import { rowsLoader, type Shown } from './rows-loader.ts'
import { soonAfter } from './soon.ts'

/** The rows of a list that comes in pages, as far as they have been read. */
export interface Rows<Row> extends Shown<Row> {
  /** Reads the next page, if there is one. */
  readonly more: () => void
  /** Reads anew what is shown. */
  readonly reload: () => void
  /** Reads all that is missing; gives all rows, or undefined when that failed. */
  readonly all: (most: number) => Promise<readonly Row[] | undefined>
}

/** What keeps the rows true. */
export interface RowsOptions<Row> {
  readonly keyOf: (row: Row) => string
  /** Types of events after which the newest rows are read anew. */
  readonly on?: readonly string[]
  /** Types of events after which all that is shown is read anew. */
  readonly onAll?: readonly string[]
  /** Reads one row by the subject of an event, for one that is not among the newest; undefined when it is gone. */
  readonly one?: (key: string) => Promise<Row | undefined>
  /** Ms, for what no event tells of: the newest rows, only while the page is looked at. */
  readonly everyMs?: number
}

/** The rows of a list, newest first, page after page as `more` asks for it. `path` undefined reads nothing. */
export function useRows<P extends PagedPath & PathOf<'GET'>>(
  path: P | undefined,
  query: NonNullable<RequestOf<'GET', P> extends { readonly query?: infer Query } ? Query : never>,
  options: RowsOptions<ItemOf<P>>,
): Rows<ItemOf<P>> {
  type Row = ItemOf<P>
  const key = path === undefined ? '' : `${path} ${JSON.stringify(query)}`
  const [shown, setShown] = useState<Shown<Row> & { readonly key: string }>({ ...NOTHING, key: '' })
  const loader = useMemo(
    () =>
      rowsLoader<Row>(
        (cursor, limit, etag) =>
          read(path, { ...query, limit, ...(cursor === undefined ? {} : { cursor }) }, etag),
        options.keyOf,
        (now) => setShown({ ...now, key }),
      ),
    [key],
  )
  const { on = [], onAll = [], one, everyMs } = options
  useEffect(() => {
    if (path === undefined) return undefined
    loader.more()
    const stops = [soonAfter(on, loader.refresh), soonAfter(onAll, loader.reload), patching(on, one, loader)]
    const often =
      everyMs === undefined ? undefined : setInterval(() => !document.hidden && loader.refresh(), everyMs)
    return () => {
      loader.end()
      clearInterval(often)
      for (const stop of stops) stop()
    }
  }, [loader])
  const isOf = shown.key === key
  return {
    ...(isOf ? shown : { ...NOTHING, isLoading: key !== '' }),
    more: loader.more,
    reload: loader.reload,
    all: loader.all,
  }
}

const NOTHING = { rows: [], error: undefined, isLoading: false, isMore: false } as const

/** Any list is one array beside where it goes on. */
async function read<Row>(
  path: string | undefined,
  query: object,
  ifNoneMatch: string | undefined,
): Promise<Result<{ readonly rows: readonly Row[]; readonly cursor: string | null }, string>> {
  const call = api.get as unknown as (path: string | undefined, given: object) => Promise<Result<object>>
  const answer = await call(path, { query, ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) })
  if (!answer.ok) return answer
  const rows = (Object.values(answer.data).find(Array.isArray) ?? []) as readonly Row[]
  const { next_cursor: cursor = null } = answer.data as { readonly next_cursor?: string | null }
  return { ...answer, data: { rows, cursor } }
}

/** Puts single rows right by the subject of an event, or the SIM that it names. */
function patching<Row>(
  types: readonly string[],
  one: RowsOptions<Row>['one'],
  loader: { has(key: string): boolean; put(key: string, row: Row | undefined): void },
): () => void {
  if (one === undefined) return () => undefined
  return listen(types, (change) => {
    const { imsi_sha256_12: sim } = change?.data ?? {}
    const key = typeof sim === 'string' ? sim : (change?.subject ?? '')
    if (loader.has(key)) void one(key).then((row) => loader.put(key, row))
  })
}
