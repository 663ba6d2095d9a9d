import type { Result } from '@steeple/client'
import { assert, suite } from '@steeple/testkit'
import { rowsLoader, type Shown } from '../src/api/use-rows.ts'

/** What pages of the console reckon for themselves. */
const lists = suite('console/lists')

interface Page {
  readonly rows: readonly string[]
  readonly cursor: string | null
}

/** A list of letters, newest first, that gives at most 200 of them, and what was shown of it last. */
function letters(state: { rows: readonly string[] }) {
  let shown: Shown<string> | undefined
  const read = async (cursor: string | undefined, limit: number): Promise<Result<Page>> => {
    const from = cursor === undefined ? 0 : state.rows.indexOf(cursor) + 1
    const rows = state.rows.slice(from, from + limit)
    const last = rows.at(-1)
    const isMore = last !== undefined && from + limit < state.rows.length
    const data = { rows, cursor: isMore ? last : null, total: state.rows.length }
    return {
      ok: true,
      data,
      status: 200,
      etag: undefined,
      requestId: undefined,
      isReplayed: false,
      headers: new Headers(),
    }
  }
  const loader = rowsLoader<string>(
    read,
    (row) => row,
    (now) => {
      shown = now
    },
  )
  return { loader, shown: () => shown }
}

const many = (count: number, first = 0): readonly string[] =>
  Array.from({ length: count }, (_, at) => `row ${first + at}`)

lists('reads page after page, and everything when all are asked for', async () => {
  const { loader, shown } = letters({ rows: many(1_234) })
  loader.more()
  assert.is((await loader.all(200))?.length, 200)
  assert.is(shown()?.total, 1_234)
  assert.ok(shown()?.isMore)
  assert.equal(await loader.all(10_000), many(1_234))
  assert.not(shown()?.isMore)
})

lists('puts what is new before what it has, drops what is gone, and keeps what is behind', async () => {
  const state = { rows: many(500) }
  const { loader, shown } = letters(state)
  await loader.all(400)
  const before = shown()?.rows.length
  state.rows = ['new', ...many(500).filter((row) => row !== 'row 3')]
  loader.refresh()
  await loader.all(1)
  assert.equal(shown()?.rows.slice(0, 5), ['new', 'row 0', 'row 1', 'row 2', 'row 4'])
  assert.is(shown()?.rows.length, before)
  assert.is(new Set(shown()?.rows).size, before)
})

lists('is not sent again what has not changed, and shows nothing anew then', async () => {
  const asked: (string | undefined)[] = []
  let shows = 0
  let answer: Result<Page> = page(['a', 'b'], 'one')
  const loader = rowsLoader<string>(
    async (_cursor, _limit, etag) => {
      asked.push(etag)
      return answer.ok && etag !== undefined && etag === answer.etag ? failed(304) : answer
    },
    (row) => row,
    () => {
      shows += 1
    },
  )
  const refreshed = async (): Promise<number> => {
    loader.refresh()
    await loader.all(1)
    return shows
  }
  const first = await refreshed()
  assert.is(await refreshed(), first)
  assert.is(await refreshed(), first)
  answer = failed(503)
  assert.is(await refreshed(), first + 1, 'why it failed')
  answer = page(['a', 'b'], 'one')
  assert.is(await refreshed(), first + 2, 'and that it is over')
  assert.equal(asked, [undefined, 'one', 'one', 'one', undefined])
  answer = page(['c', 'a', 'b'], 'two')
  loader.put('b', undefined)
  assert.is(await refreshed(), first + 4)
})

function page(rows: readonly string[], etag: string): Result<Page> {
  const data = { rows, cursor: null }
  return {
    ok: true,
    data,
    status: 200,
    etag,
    requestId: undefined,
    isReplayed: false,
    headers: new Headers(),
  }
}

function failed(status: number): Result<Page> {
  const error = { code: '', message: '', details: [], status, requestId: undefined, retryAfterS: undefined }
  return { ok: false, error }
}

lists.run()
