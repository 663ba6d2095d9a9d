import type { Problem, Result } from '@steeple/client'

/** What is known of a list. */
export interface Shown<Row> {
  readonly rows: readonly Row[]
  /** Why the last read failed; the rows before it stay. */
  readonly error: Problem | undefined
  /** Nothing has come yet. */
  readonly isLoading: boolean
  /** There are further pages. */
  readonly isMore: boolean
}

/** One page of a list. */
interface Page<Row> {
  readonly rows: readonly Row[]
  readonly cursor: string | null
}

/** Reads a list. What is asked for is done in turn, so that no answer overtakes another. */
export interface RowsLoader<Row> {
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

/** A loader that reads by `read` and tells `show` of what it knows. */
export function rowsLoader<Row>(
  read: (cursor: string | undefined, limit: number) => Promise<Result<Page<Row>>>,
  keyOf: (row: Row) => string,
  show: (shown: Shown<Row>) => void,
): RowsLoader<Row> {
  let known: { rows: readonly Row[]; cursor: string | null | undefined } = { rows: [], cursor: undefined }
  let turn = Promise.resolve()
  let isOver = false
  const waiting = new Set<string>()
  const tell = (error?: Problem): void => {
    const { rows, cursor } = known
    const isMore = typeof cursor === 'string'
    if (!isOver) show({ rows, error, isLoading: cursor === undefined && error === undefined, isMore })
  }
  /** Reads one page and takes it in; false when it failed. */
  const step = async (
    from: string | undefined,
    limit: number,
    take: (page: Page<Row>) => typeof known,
  ): Promise<boolean> => {
    const answer = await read(from, limit)
    if (answer.ok) known = take(answer.data)
    tell(answer.ok ? undefined : answer.error)
    return answer.ok
  }
  const next = (limit = PAGE): Promise<boolean> =>
    step(known.cursor ?? undefined, limit, ({ rows, cursor }) => ({ rows: [...known.rows, ...rows], cursor }))
  const behind = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = turn.then(work)
    turn = done.then(() => undefined)
    return done
  }
  const inTurn = (name: string, work: () => Promise<unknown>): void => {
    if (waiting.has(name)) return
    waiting.add(name)
    void behind(async () => {
      waiting.delete(name)
      if (!isOver) await work()
    })
  }
  const anew = async (): Promise<void> => {
    const count = known.rows.length
    let fresh: typeof known = { rows: [], cursor: undefined }
    do {
      const answer = await read(fresh.cursor ?? undefined, count > PAGE ? LARGE_PAGE : PAGE)
      if (!answer.ok) return tell(answer.error)
      fresh = { rows: [...fresh.rows, ...answer.data.rows], cursor: answer.data.cursor }
    } while (typeof fresh.cursor === 'string' && fresh.rows.length < count)
    known = fresh
    tell()
  }
  return {
    more: () => inTurn('more', async () => known.cursor !== null && next()),
    refresh: () => inTurn('refresh', () => step(undefined, PAGE, (page) => merged(known, page, keyOf))),
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

/** The newest rows, and behind their last one what was known before. */
function merged<Row>(
  known: { readonly rows: readonly Row[]; readonly cursor: string | null | undefined },
  fresh: Page<Row>,
  keyOf: (row: Row) => string,
): { rows: readonly Row[]; cursor: string | null | undefined } {
  const last = fresh.rows.at(-1)
  const place = last === undefined ? -1 : known.rows.findIndex((row) => keyOf(row) === keyOf(last))
  if (fresh.cursor === null || place < 0) return fresh
  const keys = new Set(fresh.rows.map(keyOf))
  return {
    rows: [...fresh.rows, ...known.rows.slice(place + 1).filter((row) => !keys.has(keyOf(row)))],
    cursor: known.cursor,
  }
}
