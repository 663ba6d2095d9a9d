import type { ItemOf, PagedPath, PathOf, Problem, RequestOf, Result } from '@steeple/client'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { listen } from './changes.ts'
import { api } from './client.ts'
import { soonAfter } from './soon.ts'
import { tagged } from './tagged.ts'

/** What is known of a list. */
export interface Shown<Row> {
  readonly rows: readonly Row[]
  /** Why the last read failed; the rows before it stay. */
  readonly error: Problem | undefined
  /** Nothing has come yet. */
  readonly isLoading: boolean
  /** There are further pages. */
  readonly isMore: boolean
  /** Rows of all pages; undefined where the list does not tell. */
  readonly total: number | undefined
}

interface Page<Row> {
  readonly rows: readonly Row[]
  readonly cursor: string | null
  readonly total?: number | undefined
}

/** Reads a list. What is asked for is done in turn, so that no answer overtakes another. */
interface RowsLoader<Row> {
  more(): void
  /** The newest rows anew; what is behind them stays. */
  refresh(): void
  /** All that is shown anew. */
  reload(): void
  all(most: number): Promise<readonly Row[] | undefined>
  has(key: string): boolean
  /** Another row in the place of one; undefined takes it away. */
  put(key: string, row: Row | undefined): void
  /** Shows nothing any more. */
  end(): void
}

/** Rows of a page on screen, and of one that is only counted. */
const PAGE = 200
const LARGE_PAGE = 500

/** Reads one page: from where on, how many at most, the tag of what is known of it. */
type ReadPage<Row> = (
  cursor: string | undefined,
  limit: number,
  etag: string | undefined,
) => Promise<Result<Page<Row>>>

/** What is known of a list so far; the cursor is undefined before the first page. */
interface Known<Row> {
  readonly rows: readonly Row[]
  readonly cursor: string | null | undefined
  readonly total?: number | undefined
}

/**
 * A loader that reads by `read` and tells `show` of what it knows. `read` is given the tag of the same page as it came last: what has not
 * changed is neither sent nor shown again.
 */
export function rowsLoader<Row>(
  read: ReadPage<Row>,
  keyOf: (row: Row) => string,
  show: (shown: Shown<Row>) => void,
): RowsLoader<Row> {
  let known: Known<Row> = { rows: [], cursor: undefined }
  let problem: Problem | undefined
  /** The newest page, and what it was taken into. */
  let newest: { readonly page: Page<Row>; readonly known: Known<Row> } | undefined
  const readPage = pagesBy(read)
  let isOver = false
  const { behind, inTurn } = lineOf(() => isOver)
  const tell = (error?: Problem): void => {
    problem = error
    const { rows, cursor, total } = known
    const isMore = typeof cursor === 'string'
    if (!isOver) show({ rows, error, isLoading: cursor === undefined && error === undefined, isMore, total })
  }
  /** Reads one page and takes it in; false when it failed. */
  const step = async (
    from: string | undefined,
    limit: number,
    take: (page: Page<Row>) => Known<Row>,
  ): Promise<boolean> => {
    const answer = await readPage(from, limit)
    const before = known
    if (answer.ok) known = take(answer.data)
    const isSame = answer.ok && known === before && problem === undefined
    if (!isSame) tell(answer.ok ? undefined : answer.error)
    return answer.ok
  }
  const takeNewest = (page: Page<Row>): Known<Row> => {
    if (newest?.page === page && newest.known === known) return known
    const next = merged(known, page, keyOf)
    newest = { page, known: next }
    return next
  }
  const next = (limit = PAGE): Promise<boolean> =>
    step(known.cursor ?? undefined, limit, (page) => ({ ...page, rows: [...known.rows, ...page.rows] }))
  const anew = async (): Promise<void> => {
    const count = known.rows.length
    let fresh: Known<Row> = { rows: [], cursor: undefined }
    do {
      const answer = await readPage(fresh.cursor ?? undefined, count > PAGE ? LARGE_PAGE : PAGE)
      if (!answer.ok) return tell(answer.error)
      fresh = { ...answer.data, rows: [...fresh.rows, ...answer.data.rows] }
    } while (typeof fresh.cursor === 'string' && fresh.rows.length < count)
    known = fresh
    tell()
  }
  return {
    more: () => inTurn('more', async () => known.cursor !== null && next()),
    refresh: () => inTurn('refresh', () => step(undefined, PAGE, takeNewest)),
    reload: () => inTurn('reload', anew),
    all: (most) =>
      behind(async () => {
        while (!isOver && known.cursor !== null && known.rows.length < most)
          if (!(await next(LARGE_PAGE))) return undefined
        return known.rows.slice(0, most)
      }),
    has: (key) => known.rows.some((row) => keyOf(row) === key),
    put: (key, row) => {
      known = {
        ...known,
        rows: known.rows.flatMap((one) => (keyOf(one) !== key ? [one] : row === undefined ? [] : [row])),
      }
      tell()
    },
    end: () => {
      isOver = true
    },
  }
}

/** Reads pages with the tags that they came with last. */
function pagesBy<Row>(
  read: ReadPage<Row>,
): (cursor: string | undefined, limit: number) => Promise<Result<Page<Row>>> {
  const ask = tagged<Page<Row>, string>((key, etag) => {
    const [, limit, cursor] = /^(\d+)(?: (.*))?$/.exec(key) ?? []
    return read(cursor, Number(limit), etag)
  })
  return (cursor, limit) => ask(cursor === undefined ? String(limit) : `${limit} ${cursor}`)
}

/** Work that is done one after another. */
interface Line {
  readonly behind: <Done>(work: () => Promise<Done>) => Promise<Done>
  /** Once, however often it is asked for before its turn comes. */
  readonly inTurn: (name: string, work: () => Promise<unknown>) => void
}

function lineOf(isOver: () => boolean): Line {
  let turn = Promise.resolve()
  const waiting = new Set<string>()
  const behind: Line['behind'] = (work) => {
    const done = turn.then(work)
    turn = done.then(() => undefined)
    return done
  }
  return {
    behind,
    inTurn: (name, work) => {
      if (waiting.has(name)) return
      waiting.add(name)
      void behind(async () => {
        waiting.delete(name)
        if (!isOver()) await work()
      })
    },
  }
}

/** The newest rows, and behind their last one what was known before. */
function merged<Row>(known: Known<Row>, fresh: Page<Row>, keyOf: (row: Row) => string): Known<Row> {
  const last = fresh.rows.at(-1)
  const place = last === undefined ? -1 : known.rows.findIndex((row) => keyOf(row) === keyOf(last))
  if (fresh.cursor === null || place < 0) return fresh
  const keys = new Set(fresh.rows.map(keyOf))
  return {
    rows: [...fresh.rows, ...known.rows.slice(place + 1).filter((row) => !keys.has(keyOf(row)))],
    cursor: known.cursor,
    total: fresh.total,
  }
}

/** The rows of a list that comes in pages, as far as they have been read. */
export interface Rows<Row> extends Shown<Row> {
  /** The rows, once any reading of them went well. */
  readonly data: readonly Row[] | undefined
  /** Reads the next page, if there is one. */
  readonly more: () => void
  /** Reads anew what is shown. */
  readonly reload: () => void
  /** Reads all that is missing; gives all rows, or undefined when that failed. */
  readonly all: (most: number) => Promise<readonly Row[] | undefined>
}

export interface RowsOptions<Row> {
  readonly keyOf: (row: Row) => string
  /** Types of events after which the newest rows are read anew. */
  readonly on?: readonly string[]
  /** Types of events after which all that is shown is read anew. */
  readonly onAll?: readonly string[]
  /** Reads one row by the subject of an event, for one that is not among the newest. */
  readonly one?: (key: string) => Promise<Result<Row>>
  /** Ms, for what no event tells of: the newest rows, only while the page is looked at. */
  readonly everyMs?: number
}

/** The rows of a list, newest first, page after page as `more` asks for it. `path` undefined reads nothing. */
export function useRows<P extends PagedPath & PathOf<'GET'>>(
  path: P | undefined,
  query: QueryOf<P>,
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
    return loader.end
  }, [loader])
  useEffect(() => {
    if (path === undefined) return undefined
    const stops = [soonAfter(on, loader.refresh), soonAfter(onAll, loader.reload), patching(on, one, loader)]
    const often =
      everyMs === undefined ? undefined : setInterval(() => !document.hidden && loader.refresh(), everyMs)
    return () => {
      clearInterval(often)
      for (const stop of stops) stop()
    }
    // A plugin that comes may bring events.
  }, [loader, on.join(' ')])
  const known = shown.key === key ? shown : { ...NOTHING, isLoading: key !== '' }
  const isKnown = !known.isLoading && (known.error === undefined || known.rows.length > 0)
  return {
    ...known,
    data: isKnown ? known.rows : undefined,
    more: loader.more,
    reload: loader.reload,
    all: loader.all,
  }
}

type QueryOf<P extends PathOf<'GET'>> = NonNullable<
  RequestOf<'GET', P> extends { readonly query?: infer Query } ? Query : never
>

/** The same of a list whose rows nothing tells of one by one: all of it is read again after events of the types in `on`. */
export function usePages<P extends PagedPath & PathOf<'GET'>>(
  path: P,
  query: QueryOf<P>,
  on: readonly string[] = [],
): Rows<ItemOf<P>> {
  return useRows(path, query, { keyOf: JSON.stringify, onAll: on })
}

const NOTHING = { rows: [], error: undefined, isLoading: false, isMore: false, total: undefined } as const

/** Any list is one array beside where it goes on. */
async function read<Row>(
  path: string | undefined,
  query: object,
  ifNoneMatch: string | undefined,
): Promise<Result<Page<Row>, string>> {
  const call = api.get as unknown as (path: string | undefined, given: object) => Promise<Result<object>>
  const answer = await call(path, { query, ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) })
  if (!answer.ok) return answer
  const rows = (Object.values(answer.data).find(Array.isArray) ?? []) as readonly Row[]
  const { next_cursor: cursor = null, total } = answer.data as {
    readonly next_cursor?: string | null
    readonly total?: number | null
  }
  return { ...answer, data: { rows, cursor, total: total ?? undefined } }
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
    if (!loader.has(key)) return
    void one(key).then((answer) => {
      // What could not be read is as it was.
      if (answer.ok || answer.error.status === GONE) loader.put(key, answer.ok ? answer.data : undefined)
    })
  })
}

const GONE = 404
