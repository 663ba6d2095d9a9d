import type { RecordedSession } from '@steeple/contracts'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { sourceOrder } from '../src/ledger/counting.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { sessionHistory } from '../src/store/session-store.ts'
import { SESSIONS, type SessionRow } from '../src/store/tables.ts'
import { ANN } from './support/world.ts'

function row(id: number, startedMs: number, endedMs: number | null): SessionRow {
  return {
    id,
    imsi: ANN,
    apn: 'internet',
    plmn: '999-99',
    address: id % 2 === 0 ? null : '10.45.0.2',
    prefix: '2001:db8::/64',
    technology: 'lte',
    cell: null,
    state: endedMs === null ? 'active' : 'ended',
    is_live: endedMs === null ? 1 : 0,
    source: 'mme',
    started_at_ms: startedMs,
    since_ms: startedMs,
    ended_at_ms: endedMs,
    volumes: '{}',
  }
}

async function opened(box: StoreBox) {
  const db = await box.open()
  await db.migrate('sessions', MIGRATIONS, [SESSIONS])
  return { own: db.scoped('sessions'), close: () => db.close() }
}

onEachStore('sessions/history', (test, store) => {
  test('gives each session that reaches into a span once, page by page', async () => {
    await using box = await store()
    const { own: db, close } = await opened(box)
    const rows = [row(101, 0, 10), row(102, 5, 20), row(110, 15, null), row(111, 30, 40)]
    await db.write(async (tx) => {
      for (const each of rows) await SESSIONS.insert(tx, each)
    })
    const history = sessionHistory({ db }, sourceOrder([]))
    const all = async (fromMs: number, toMs: number, limit: number): Promise<readonly RecordedSession[]> => {
      const found: RecordedSession[] = []
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page: Awaited<ReturnType<typeof history.page>> = await history.page(
          { fromMs, toMs },
          after,
          limit,
        )
        found.push(...page.sessions)
        after = page.next
      }
      return found
    }
    const ids = async (fromMs: number, toMs: number): Promise<readonly number[]> =>
      (await all(fromMs, toMs, 2)).map(({ id }) => id)
    assert.equal(await ids(0, 100), [101, 102, 110, 111])
    assert.equal(await ids(11, 30), [102, 110])
    assert.equal(await ids(50, 60), [110])
    const ofAnn = await history.of?.(ANN, { fromMs: 11, toMs: 30 })
    assert.equal(
      ofAnn?.map(({ id }) => id),
      [110, 102],
    )
    assert.equal(
      (await all(0, 100, 1_000)).map(({ address, endedAtMs, upBytes }) => [address, endedAtMs, upBytes]),
      [
        ['10.45.0.2', 10, 0],
        ['2001:db8::/64', 20, 0],
        ['2001:db8::/64', null, 0],
        ['10.45.0.2', 40, 0],
      ],
    )
    await close()
  })

  test('has nothing to give of an empty store', async () => {
    await using box = await store()
    const { own: db, close } = await opened(box)
    const history = sessionHistory({ db }, sourceOrder([]))
    assert.equal(await history.page({ fromMs: 0, toMs: 1 }, 0, 10), { sessions: [], next: undefined })
    await close()
  })
}).run()
