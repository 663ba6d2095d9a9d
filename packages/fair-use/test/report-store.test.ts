import { assert, fakeClock, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { calendarOf, periodClock } from '../src/periods.ts'
import { type ReportRow, takeReport } from '../src/store/report-store.ts'
import { REPORT_MS, sweep } from '../src/sweep.ts'

const store = suite('fair-use/report-store')
const NOW_MS = Date.UTC(2026, 5, 15, 12)
const ROW: ReportRow = {
  hash: 'aaaaaaaaaaaa',
  report_id: 'a',
  source: 'meter',
  up_bytes: 1,
  down_bytes: 2,
  taken_at_ms: NOW_MS,
}

store('keeps no report_id as it is that may hold an IMSI, and knows it again', async () => {
  const db = memoryDb(MIGRATIONS)
  const imsi = '999990000000001'
  const take = (part: Partial<ReportRow>): ReturnType<typeof takeReport> =>
    db.write((tx) => takeReport(tx, { ...ROW, ...part }))
  assert.is(await take({ report_id: `imsi-${imsi}-1` }), 'new')
  assert.is(await take({ report_id: `imsi-${imsi}-2` }), 'new')
  assert.is(await take({ report_id: `imsi-${imsi}-1` }), 'same')
  assert.is(await take({ report_id: `imsi-${imsi}-2`, up_bytes: 9 }), 'other')
  const rows = await db.all('select * from fair_use_report')
  assert.is(rows.length, 2)
  assert.not.match(JSON.stringify(rows), imsi)
  db.close()
})

store(
  'remembers a report_id for as long as the report is taken, also from a clock that is ahead',
  async () => {
    const db = memoryDb(MIGRATIONS)
    const clock = fakeClock(NOW_MS)
    const context = fakeContext({ id: 'fair-use', config: {}, db, clock }).context
    // It named a time four minutes ahead, and was kept at the time when it came.
    await db.write((tx) => takeReport(tx, ROW))
    await db.write((tx) => takeReport(tx, { ...ROW, report_id: 'older', taken_at_ms: NOW_MS - 600_000 }))
    clock.jump(NOW_MS + REPORT_MS + 240_000)
    const parts = { context, clock: periodClock(clock, calendarOf('UTC')) } as Parameters<typeof sweep>[0]
    await sweep(parts, new AbortController().signal)
    assert.equal(await db.all('select report_id from fair_use_report'), [{ report_id: 'a' }])
    db.close()
  },
)

store.run()
