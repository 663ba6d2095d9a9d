import { failure, onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { AUDIT_COLUMNS, type AuditRow, auditHash } from '../../src/audit/audit-chain.ts'
import { ANN, type MutationBench, making, mutationBench } from './mutation-fixture.ts'

const DAY_MS = 86_400_000

async function withEntries(box: StoreBox, count: number): Promise<MutationBench> {
  const bench = await mutationBench(box)
  for (let index = 1; index <= count; index++) {
    await bench.mutations.run(making(`t${index}`))
    await box.clock.advance(1_000)
  }
  return bench
}

/** Runs SQL with a trigger of the trail out of the way, then puts it back, as somebody with all rights could. */
async function tamper(box: StoreBox, trigger: string, table: string, sql: string): Promise<void> {
  if (box.dialect === 'postgres')
    return box.raw(
      `alter table ${table} disable trigger ${trigger}; ${sql}; alter table ${table} enable trigger ${trigger}`,
    )
  const db = await box.open()
  const made = await db.get<{ sql: string }>('select sql from sqlite_master where name = :trigger', {
    trigger,
  })
  await box.raw(`drop trigger ${trigger}; ${sql}; ${made?.sql}`)
}

/** Puts a changed copy of an entry, with the hash it needs, in its place or behind it. */
async function rewrite(
  box: StoreBox,
  bench: MutationBench,
  seq: number,
  change: (row: AuditRow) => AuditRow,
): Promise<void> {
  const row = await bench.db.get<AuditRow>(`select ${AUDIT_COLUMNS} from kernel_audit where seq = ${seq}`)
  assert.ok(row)
  const changed = change(row as AuditRow)
  const values = Object.entries({ ...changed, hash: auditHash(changed) }).map(
    ([column, value]) =>
      [column, typeof value === 'number' ? value : value === null ? 'null' : `'${value}'`] as const,
  )
  const insert = `insert into kernel_audit (${values.map(([column]) => column)}) values (${values.map(([, value]) => value)})`
  if (changed.seq === seq)
    await tamper(box, 'kernel_audit_delete', 'kernel_audit', `delete from kernel_audit where seq = ${seq}`)
  await box.raw(insert)
}

onEachStore('kernel/mutation/audit-trail', (test, store) => {
  test('lists newest first, by pages and by filters', async () => {
    await using box = await store()
    const bench = await withEntries(box, 5)
    const start = Date.UTC(2026, 0, 1)
    const seqs = async (...args: Parameters<typeof bench.audit.list>): Promise<readonly number[]> =>
      (await bench.audit.list(...args)).map(({ seq }) => seq)
    assert.equal(await seqs({}, 2, undefined), [5, 4])
    assert.equal(await seqs({}, 2, 4), [3, 2])
    assert.equal(await seqs({}, 10, 2), [1])
    assert.equal(await seqs({}, 10, 1), [])
    assert.equal(await seqs({ target: 't2' }, 10, undefined), [2])
    assert.equal(await seqs({ action: 'toy.make', principal: ANN.id }, 1, undefined), [5])
    assert.equal(await seqs({ action: 'other' }, 10, undefined), [])
    assert.equal(await seqs({ fromMs: start + 1_000, toMs: start + 2_000 }, 10, undefined), [3, 2])
  })

  test('refuses update, delete, replacement and truncation of entries, checkpoints and head', async () => {
    await using box = await store()
    const bench = await withEntries(box, 4)
    await bench.audit.prune(box.clock.nowMs() - 2_500)
    const attempts = [
      "update kernel_audit set target = 'x' where seq = 4",
      'update kernel_audit set seq = 99 where seq = 4',
      'delete from kernel_audit',
      'delete from kernel_audit where seq = 4',
      "update kernel_audit_checkpoint set hash = 'x'",
      'delete from kernel_audit_checkpoint',
      'delete from kernel_audit_head',
      'update kernel_audit_head set seq = 3',
      "insert into kernel_audit select seq, at_ms, principal_kind, principal_id, principal_name, action, 'x', outcome, request_id, detail, hash, prev_hash from kernel_audit where seq = 4",
      "insert into kernel_audit select 1, at_ms, principal_kind, principal_id, principal_name, action, 'x', outcome, request_id, detail, hash, prev_hash from kernel_audit where seq = 4",
      ...(box.dialect === 'sqlite'
        ? [
            "insert or replace into kernel_audit select seq, at_ms, principal_kind, principal_id, principal_name, action, 'x', outcome, request_id, detail, hash, prev_hash from kernel_audit where seq = 4",
          ]
        : ['truncate kernel_audit', 'truncate kernel_audit_head', 'truncate kernel_audit_checkpoint']),
    ]
    for (const sql of attempts)
      assert.match((await failure(() => box.raw(sql)))?.message ?? '', /append-only/, sql)
    assert.equal(await bench.audit.verify(), { ok: true, checked: 2 })
  })

  test('names the first entry that was changed, and does not list it', async () => {
    await using box = await store()
    const bench = await withEntries(box, 5)
    const columns = [
      'at_ms = 1',
      "target = 'x'",
      "action = 'x'",
      "outcome = 'denied'",
      "principal_name = 'bob'",
    ]
    for (const [index, change] of columns.entries()) {
      await using other = await store()
      const copy = await withEntries(other, 5)
      await tamper(
        other,
        'kernel_audit_update',
        'kernel_audit',
        `update kernel_audit set ${change} where seq = ${index + 1}`,
      )
      const verdict = await copy.audit.verify()
      assert.is(verdict.firstBroken, index + 1, change)
      assert.match(verdict.reason ?? '', /was changed/)
      assert.is((await failure(() => copy.audit.list({}, 10, undefined)))?.code, 'store_corrupt')
    }
    assert.is((await bench.audit.verify()).ok, true)
  })

  test('names an entry that was taken out of the middle', async () => {
    await using box = await store()
    const bench = await withEntries(box, 5)
    await tamper(box, 'kernel_audit_delete', 'kernel_audit', 'delete from kernel_audit where seq = 3')
    const verdict = await bench.audit.verify()
    assert.equal(verdict, {
      ok: false,
      checked: 2,
      firstBroken: 3,
      reason: 'entry 3 is missing; the next one is 4',
    })
  })

  test('sees that the tail was cut off', async () => {
    await using box = await store()
    const bench = await withEntries(box, 5)
    await tamper(box, 'kernel_audit_delete', 'kernel_audit', 'delete from kernel_audit where seq > 3')
    assert.equal(await bench.audit.verify(), {
      ok: false,
      checked: 3,
      firstBroken: 4,
      reason: 'the entries from 4 to 5 are gone',
    })
  })

  test('does not sign anew over a head record that somebody wrote', async () => {
    await using box = await store()
    const bench = await withEntries(box, 3)
    const forged =
      'update kernel_audit_head set seq = 2, hash = (select hash from kernel_audit where seq = 2)'
    await tamper(box, 'kernel_audit_delete', 'kernel_audit', 'delete from kernel_audit where seq > 2')
    await tamper(box, 'kernel_audit_head_update', 'kernel_audit_head', forged)
    assert.match((await bench.audit.verify()).reason ?? '', /head record is not signed by this node/)
    assert.is((await failure(() => bench.mutations.run(making('later'))))?.code, 'store_corrupt')
    assert.is((await bench.db.all("select id from toy_item where id = 'later'")).length, 0)
  })

  test('sees an entry that was added past the service, hash and all', async () => {
    await using box = await store()
    const bench = await withEntries(box, 2)
    const [last] = await bench.audit.list({}, 1, undefined)
    await rewrite(box, bench, 2, (row) => ({ ...row, seq: 3, target: 'forged', prev_hash: last?.hash ?? '' }))
    assert.equal(await bench.audit.verify(), {
      ok: false,
      checked: 3,
      firstBroken: 3,
      reason: 'entry 3 was not written by this service',
    })
  })

  test('sees that the last entry was replaced by one with a fitting hash', async () => {
    await using box = await store()
    const bench = await withEntries(box, 2)
    await rewrite(box, bench, 2, (row) => ({ ...row, target: 'forged' }))
    assert.equal(await bench.audit.verify(), {
      ok: false,
      checked: 2,
      firstBroken: 2,
      reason: 'entry 2 is not the one that the head record names',
    })
  })

  test('does not accept a head or checkpoint that another key has signed', async () => {
    await using box = await store()
    const bench = await withEntries(box, 3)
    await bench.audit.prune(box.clock.nowMs() - 1_500)
    const other = await mutationBench(box, 8)
    assert.match((await other.audit.verify()).reason ?? '', /not signed by this node/)
    assert.is((await failure(() => other.audit.prune(box.clock.nowMs())))?.code, 'store_corrupt')
    assert.is((await bench.audit.verify()).ok, true)
  })

  test('prunes a prefix, leaves a signed checkpoint and goes on from it', async () => {
    await using box = await store()
    const bench = await withEntries(box, 6)
    await box.clock.advance(30 * DAY_MS)
    await bench.mutations.run(making('new'))
    assert.is(await bench.audit.prune(box.clock.nowMs() - 31 * DAY_MS), 0)
    assert.is(await bench.audit.prune(box.clock.nowMs() - 30 * DAY_MS), 6)
    assert.is(await bench.audit.prune(box.clock.nowMs() - 30 * DAY_MS), 0)
    assert.equal(
      (await bench.audit.list({}, 10, undefined)).map(({ seq }) => seq),
      [7],
    )
    assert.equal(await bench.audit.verify(), { ok: true, checked: 1 })
    await box.clock.advance(DAY_MS)
    assert.is(await bench.audit.prune(box.clock.nowMs()), 1)
    assert.equal(await bench.audit.verify(), { ok: true, checked: 0 })
    await bench.mutations.run(making('newer'))
    assert.equal(
      (await bench.audit.list({}, 10, undefined)).map(({ seq }) => seq),
      [8],
    )
    assert.equal(await bench.audit.verify(), { ok: true, checked: 1 })
    assert.equal(await bench.db.all('select seq, removed from kernel_audit_checkpoint order by seq'), [
      { seq: 6, removed: 6 },
      { seq: 7, removed: 1 },
    ])
  })

  test('does not let a forged checkpoint hide a removal', async () => {
    await using box = await store()
    const bench = await withEntries(box, 4)
    await box.raw(
      'insert into kernel_audit_checkpoint (seq, hash, at_ms, removed, mac) select seq, hash, at_ms, 2, hash from kernel_audit where seq = 2',
    )
    await box.raw('delete from kernel_audit where seq <= 2')
    const verdict = await bench.audit.verify()
    assert.is(verdict.ok, false)
    assert.match(verdict.reason ?? '', /checkpoint at 2 is not signed/)
    assert.is((await failure(() => bench.audit.prune(box.clock.nowMs())))?.code, 'store_corrupt')
  })

  test('does not prune a prefix that was tampered with', async () => {
    await using box = await store()
    const bench = await withEntries(box, 4)
    await tamper(
      box,
      'kernel_audit_update',
      'kernel_audit',
      "update kernel_audit set target = 'x' where seq = 2",
    )
    await box.clock.advance(DAY_MS)
    assert.is((await failure(() => bench.audit.prune(box.clock.nowMs())))?.code, 'store_corrupt')
    assert.is((await bench.audit.verify()).firstBroken, 2)
  })

  test('verifies while entries are being added', async () => {
    await using box = await store()
    const bench = await withEntries(box, 3)
    const adding = Promise.all(
      Array.from({ length: 50 }, (_, index) => bench.mutations.run(making(`n${index}`))),
    )
    const verdicts = await Promise.all([bench.audit.verify(), bench.audit.verify(), bench.audit.verify()])
    await adding
    assert.equal(
      verdicts.map(({ ok }) => ok),
      [true, true, true],
    )
    assert.equal(await bench.audit.verify(), { ok: true, checked: 53 })
  })
}).run()
