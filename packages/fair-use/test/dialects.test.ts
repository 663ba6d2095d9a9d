import type { ImsiHash, Reader } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { calendarOf, periodClock } from '../src/periods.ts'
import {
  beginEpoch,
  epochNow,
  heldOffAfter,
  newQuotaState,
  putQuotaState,
  quotaStatesOf,
} from '../src/store/quota-state-store.ts'
import {
  countByAction,
  newQuota,
  periodsOf,
  QUOTAS,
  quotaHashes,
  quotasOf,
  removeQuota,
} from '../src/store/quota-store.ts'
import { pruneReports, type ReportRow, removeReports, takeReport } from '../src/store/report-store.ts'
import { addUsed, pruneUsed, putUsed, type UsedRow, usedSince } from '../src/store/used-store.ts'
import { LEDGER_MIGRATIONS } from './support/ledger.ts'
import { ModelRun } from './support/model-run.ts'

const DAY_MS = 86_400_000
const MONTH_MS = Date.UTC(2026, 5, 1)
/** Rows of statements of fifty, ten and one. */
const MANY = 163
const ANN = 'aaaaaaaaaaaa' as ImsiHash

async function opened(box: StoreBox): Promise<Database> {
  const db = await box.open()
  await db.migrate('fair-use', MIGRATIONS, [QUOTAS])
  await db.migrate('test-ledger', LEDGER_MIGRATIONS)
  return db
}

const hashOf = (index: number) => index.toString(16).padStart(12, '0') as ImsiHash
async function withQuota(reader: Reader): Promise<readonly ImsiHash[]> {
  const found: ImsiHash[] = []
  for await (const some of quotaHashes(reader, 1)) found.push(...some)
  return found
}
const used = (part: Partial<UsedRow>): UsedRow => ({
  hash: ANN,
  kind: 'month',
  starts_at_ms: MONTH_MS,
  up_bytes: 1,
  down_bytes: 2,
  is_incomplete: 0,
  updated_at_ms: MONTH_MS,
  ...part,
})

onEachStore('fair-use/dialects', (test, store) => {
  test('adds up what was used, exactly and no further than JSON carries', async () => {
    await using box = await store()
    const db = (await opened(box)).scoped('fair-use')
    const hashes = Array.from({ length: MANY }, (_, index) => hashOf(index))
    for (const is_incomplete of [0, 1, 0])
      await db.write((tx) =>
        addUsed(
          tx,
          hashes.map((hash) => used({ hash, is_incomplete })),
        ),
      )
    const rows = await usedSince(db, hashes, MONTH_MS)
    assert.is(rows.size, MANY)
    const [last] = rows.get(hashOf(MANY - 1)) ?? []
    assert.equal([last?.up_bytes, last?.down_bytes, last?.is_incomplete], [3, 6, 1])
    const most = Number.MAX_SAFE_INTEGER
    await db.write((tx) => addUsed(tx, [used({ up_bytes: most - 1, down_bytes: -9 })]))
    await db.write((tx) => addUsed(tx, [used({ up_bytes: 5, down_bytes: 1 })]))
    await db.write((tx) => putUsed(tx, used({ starts_at_ms: MONTH_MS - DAY_MS, kind: 'day' })))
    const own = (await usedSince(db, [ANN], 0)).get(ANN) ?? []
    assert.equal(
      own.map(({ kind, up_bytes: up, down_bytes: down }) => [kind, up, down]),
      [
        ['day', 1, 2],
        ['month', most, 0],
      ],
    )
    assert.is(await db.write((tx) => pruneUsed(tx, 'day', MONTH_MS)), 1)
    assert.is((await usedSince(db, [ANN], 0)).get(ANN)?.length, 1)
  })

  test('keeps quotas and standings, and finds them by their hash', async () => {
    await using box = await store()
    const db = (await opened(box)).scoped('fair-use')
    const periods = periodClock(box.clock, calendarOf('UTC'))
    const none = { ...newQuota(hashOf(1), 2 ** 40, periods), period: 'none', action: 'alert' } as const
    await db.write(async (tx) => {
      await QUOTAS.put(tx, newQuota(hashOf(0), 1_000, periods))
      await QUOTAS.put(tx, none)
      await QUOTAS.put(tx, { ...none, throttle_bps: 64_000, added_from_ms: MONTH_MS, added_bytes: 7 })
      await addUsed(tx, [used({ hash: hashOf(1) }), used({ hash: hashOf(0) })])
    })
    const hashes = [hashOf(0), hashOf(1), ANN]
    const kept = (await quotasOf(db, hashes)).get(hashOf(1))
    assert.equal([kept?.quota_bytes, kept?.throttle_bps, kept?.added_bytes], [2 ** 40, 64_000, 7])
    assert.equal(await withQuota(db), [hashOf(0), hashOf(1)])
    assert.equal((await periodsOf(db, hashes)).get(hashOf(1)), 'none')
    assert.equal([...(await countByAction(db))].sort(), [
      ['alert', 1],
      ['suspend', 1],
    ])
    // Those without a period need all that was ever counted.
    assert.is(await db.write((tx) => pruneUsed(tx, 'month', MONTH_MS + DAY_MS)), 1)
    const held = { ...newQuotaState(hashOf(1)), held: 'suspend', held_from_ms: MONTH_MS } as const
    await db.write((tx) => putQuotaState(tx, { ...held, held: 'throttle', held_bps: 1 }))
    await db.write((tx) => putQuotaState(tx, held))
    assert.equal(
      [...(await quotaStatesOf(db, hashes)).values()],
      [newQuotaState(hashOf(0)), held, newQuotaState(ANN)],
    )
    assert.equal(await heldOffAfter(db, '', 9), [hashOf(1)])
    for (const epoch of ['first', 'second']) await db.write((tx) => beginEpoch(tx, epoch))
    assert.is(await epochNow(db), 'second')
    await db.write((tx) => removeQuota(tx, hashOf(1)))
    assert.equal(await withQuota(db), [hashOf(0)])
    assert.equal(await heldOffAfter(db, '', 9), [])
  })

  test('takes a report once, also when many bring it at a time', async () => {
    await using box = await store()
    const whole = await opened(box)
    const others = (await box.open()).scoped('fair-use')
    const db = whole.scoped('fair-use')
    const row: ReportRow = {
      hash: ANN,
      report_id: 'a',
      source: 'meter',
      up_bytes: 2 ** 40,
      down_bytes: 2,
      taken_at_ms: MONTH_MS,
    }
    const found = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? db : others).write((tx) => takeReport(tx, row))),
    )
    assert.is(found.filter((one) => one === 'new').length, 1)
    assert.is(found.filter((one) => one === 'same').length, 19)
    assert.is(await db.write((tx) => takeReport(tx, { ...row, down_bytes: 3 })), 'other')
    for (const report_id of ['b', 'c']) await db.write((tx) => takeReport(tx, { ...row, report_id }))
    assert.is(await db.write((tx) => pruneReports(tx, MONTH_MS + 1, 2)), 2)
    assert.is(await db.write((tx) => pruneReports(tx, MONTH_MS + 1, 2)), 1)
    for (const hash of [ANN, hashOf(2)]) await db.write((tx) => takeReport(tx, { ...row, hash }))
    await db.write((tx) => removeReports(tx, ANN))
    assert.is(await db.write((tx) => pruneReports(tx, MONTH_MS + 1, 9)), 1, 'that of another')
  })

  test('cuts off at the quota, lets on for a top-up and in the next month', async () => {
    await using box = await store()
    const db = await opened(box)
    const run = new ModelRun([ANN], {
      fairUse: db.scoped('fair-use'),
      ledger: db.scoped('test-ledger'),
      close: () => undefined,
    })
    const count = async (upBytes: number): Promise<void> => {
      const atMs = run.clock.nowMs()
      const span = { fromMs: atMs, toMs: atMs, isIncomplete: false }
      await run.ledger.count([{ imsi: ANN, source: 'gtpu', upBytes, downBytes: 0, ...span }])
      await run.settle()
    }
    const state = (): string | undefined => run.sims.sims.get(ANN)?.state
    await run.start()
    assert.ok(await run.post(ANN, { quota_bytes: 1_000, period: 'month' }))
    await count(799)
    assert.equal([state(), run.told.length], ['in-use', 0])
    await count(1)
    assert.equal([state(), run.told.length], ['in-use', 1])
    await count(200)
    assert.equal([state(), run.told.length], ['suspended', 2])
    assert.ok(await run.post(ANN, { add_bytes: 500 }))
    await run.settle()
    assert.is(state(), 'in-use')
    await count(500)
    assert.is(state(), 'suspended')
    // Killed and started again: the totals are made anew from the ledger.
    await run.start()
    assert.is(state(), 'suspended')
    run.clock.jump(Date.UTC(2026, 1, 1))
    await run.settle()
    assert.is(state(), 'in-use')
    await count(999)
    assert.is(state(), 'in-use')
    await count(1)
    assert.is(state(), 'suspended')
    await run.leave()
  })
}).run()
