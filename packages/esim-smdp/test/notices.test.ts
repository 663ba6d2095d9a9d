import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { putNotice } from '../src/store/euicc-store.ts'
import { NOTICES, type NoticeRow } from '../src/store/rows.ts'

const notices = suite('esim-smdp/notices')
const notice = (eid_hash: string, seq: number): NoticeRow => ({
  ...{ eid_hash, seq, event: 'enable', token: 't', detail: null },
  received_at_ms: 1,
})

notices('keeps the newest 500 of each eUICC, and each number once', async () => {
  const db = memoryDb(MIGRATIONS)
  await db.write(async (tx) => {
    for (let seq = 0; seq < 560; seq += 1) assert.ok(await putNotice(tx, notice('a', seq)))
    for (let seq = 0; seq < 3; seq += 1) await putNotice(tx, notice('b', seq))
    assert.not.ok(await putNotice(tx, notice('a', 559)))
    // One that leaves numbers out has no more room than others.
    for (let seq = 10_000; seq < 10_600; seq += 1) await putNotice(tx, notice('c', seq))
  })
  const numbers = async (eid: string): Promise<readonly number[]> =>
    (await NOTICES.select(db, 'where eid_hash = :eid order by seq', { eid })).map(({ seq }) => seq)
  const a = await numbers('a')
  assert.equal([a.length, a[0], a.at(-1)], [500, 60, 559])
  assert.equal(await numbers('b'), [0, 1, 2])
  assert.is((await numbers('c')).length, 500)
  db.close()
})

notices.run()
