import { createSecretKey } from 'node:crypto'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '@steeple/store'
import { failure, onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert, tempDir } from '@steeple/testkit'
import { auditSeal } from '../../src/audit/audit-chain.ts'
import { type AuditAnchor, auditAnchor, settleAudit } from '../../src/audit/audit-trail.ts'
import { type MutationBench, making, mutationBench } from './mutation-fixture.ts'

async function withEntries(box: StoreBox, count: number): Promise<MutationBench> {
  const bench = await mutationBench(box)
  for (let index = 1; index <= count; index++) await bench.mutations.run(making(`t${index}`))
  return bench
}

function dropTrigger(box: StoreBox, trigger: string, table: string): Promise<void> {
  return box.raw(box.dialect === 'sqlite' ? `drop trigger ${trigger}` : `drop trigger ${trigger} on ${table}`)
}

/** Takes the whole trail away, as somebody with the database's own rights could. */
async function erase(box: StoreBox): Promise<void> {
  await dropTrigger(box, 'kernel_audit_delete', 'kernel_audit')
  await dropTrigger(box, 'kernel_audit_head_delete', 'kernel_audit_head')
  await box.raw('delete from kernel_audit; delete from kernel_audit_head')
}

/** Everything that the kernel's migrations made, and the record of them. */
async function dropKernelTables(box: StoreBox, db: Database): Promise<void> {
  const tables = [
    'audit',
    'audit_checkpoint',
    'audit_head',
    'outbox',
    'idempotency',
    'rate',
    'clock',
    'vault',
    'subscription',
    'secret',
    'closed',
  ]
  await box.raw(tables.map((table) => `drop table kernel_${table}`).join('; '))
  await box.raw("delete from kernel_migration where owner = 'kernel'")
  if (box.dialect === 'sqlite') return
  const made = `select proname as name from pg_proc where pronamespace = to_regnamespace(current_schema())`
  for (const { name } of await db.all<{ name: string }>(made)) await box.raw(`drop function ${name}`)
}

/** As if nothing behind the first migration had run. */
async function forgetLaterMigrations(box: StoreBox): Promise<void> {
  await box.raw(
    'drop table kernel_clock; drop table kernel_vault; drop table kernel_subscription; drop table kernel_secret; drop table kernel_closed; drop index kernel_idempotency_number',
  )
  await box.raw('alter table kernel_idempotency drop column scope_number')
  await box.raw("delete from kernel_migration where owner = 'kernel' and id >= '0002'")
}

const AUDIT_KEY = createSecretKey(Buffer.alloc(32, 7))

/** What a start does about the trail, with `directory` as the node's keys. */
async function started(
  box: StoreBox,
  directory: string,
): Promise<MutationBench & { readonly anchor: AuditAnchor; readonly finding: string | undefined }> {
  const anchor = auditAnchor(directory, AUDIT_KEY)
  const bench = await mutationBench(box, 7, anchor)
  const note = (): void => undefined
  const log = { debug: note, info: note, warn: note, error: note }
  const finding = await settleAudit({
    db: bench.db,
    seal: auditSeal(AUDIT_KEY),
    anchor,
    clock: box.clock,
    log,
  })
  return { ...bench, anchor, finding }
}

onEachStore('kernel/mutation/audit-erasure', (test, store) => {
  test('calls a wholly erased trail broken and says what is missing', async () => {
    await using box = await store()
    const bench = await withEntries(box, 3)
    await erase(box)
    const { ok, checked, reason } = await bench.audit.verify()
    assert.equal([ok, checked], [false, 0])
    assert.match(reason ?? '', /the head record is missing/)
    assert.match(reason ?? '', /triggers? kernel_audit_delete, kernel_audit_head_delete/)
  })

  test('begins no new chain in an erased trail, not after another start and not without events', async () => {
    await using box = await store()
    const bench = await withEntries(box, 3)
    await erase(box)
    await box.raw('delete from kernel_outbox; delete from kernel_idempotency; delete from kernel_rate')
    assert.is((await failure(() => bench.mutations.run(making('later'))))?.code, 'store_corrupt')
    const again = await mutationBench(box)
    assert.is((await failure(() => again.mutations.run(making('later'))))?.code, 'store_corrupt')
    assert.equal(await again.db.all('select seq from kernel_audit'), [])
    assert.is((await again.audit.verify()).ok, false)
  })

  test('reports each append-only trigger that is gone', async () => {
    for (const [trigger, table] of [
      ['kernel_audit_update', 'kernel_audit'],
      ['kernel_audit_insert', 'kernel_audit'],
      ['kernel_audit_checkpoint_delete', 'kernel_audit_checkpoint'],
      ['kernel_audit_head_update', 'kernel_audit_head'],
    ] as const) {
      await using box = await store()
      const bench = await withEntries(box, 2)
      await dropTrigger(box, trigger, table)
      const { ok, checked, firstBroken, reason } = await bench.audit.verify()
      assert.equal([ok, checked, firstBroken], [false, 2, undefined], trigger)
      assert.match(reason ?? '', new RegExp(`\\b${trigger}\\b.*append-only`), trigger)
    }
  })
  test('reports a trigger that is there and refuses nothing', async () => {
    const refusal = "'the audit trail is append-only'"
    const trigger = (when: string): string =>
      `drop trigger kernel_audit_update; create trigger kernel_audit_update before update on kernel_audit when ${when} begin select raise(abort, ${refusal}); end`
    const body = (when: string): string =>
      `create or replace function kernel_audit_update() returns trigger language plpgsql as $$begin if ${when} then raise exception ${refusal}; end if; return new; end$$`
    const turn = (verb: string): string => `alter table kernel_audit ${verb} trigger kernel_audit_update`
    const changes = {
      sqlite: [{ change: trigger('false'), back: trigger('true') }],
      postgres: [
        { change: body('false'), back: body('true') },
        { change: turn('disable'), back: turn('enable') },
        { change: turn('enable replica'), back: turn('enable always') },
      ],
    }
    await using box = await store()
    const bench = await withEntries(box, 1)
    for (const { change, back } of changes[box.dialect]) {
      await box.raw(change)
      const { reason } = await bench.audit.verify()
      assert.match(reason ?? '', /trigger kernel_audit_update is missing or changed/, change)
      await box.raw(back)
      assert.equal(await bench.audit.verify(), { ok: true, checked: 1 })
    }
  })

  test('says which tables are gone instead of failing', async () => {
    await using box = await store()
    const bench = await withEntries(box, 1)
    await box.raw('drop table kernel_audit_head; drop table kernel_audit_checkpoint')
    assert.equal(await bench.audit.verify(), {
      ok: false,
      checked: 0,
      reason: 'the tables kernel_audit_checkpoint, kernel_audit_head are missing',
    })
  })

  test('leaves an anchor beside the keys, sealed and for the owner alone', async () => {
    await using box = await store()
    await using keys = await tempDir()
    const first = await started(box, keys.path)
    assert.is(first.finding, undefined)
    const file = join(keys.path, 'audit.anchor')
    assert.is((await stat(file)).mode & 0o777, 0o600)
    const began = first.anchor.read()
    assert.equal(began, { beganAtMs: [box.clock.nowMs()], isSigned: true })
    await first.mutations.run(making('a'))
    await box.clock.advance(1_000)
    const second = await started(box, keys.path)
    assert.equal(second.anchor.read(), began)
    await writeFile(file, (await readFile(file, 'utf8')).replace('[1', '[2'))
    assert.match((await second.audit.verify()).reason ?? '', /anchor beside the keys is not signed/)
    assert.match((await started(box, keys.path)).finding ?? '', /anchor beside the keys is not signed/)
    await chmod(file, 0o644)
    assert.is((await failure(() => started(box, keys.path)))?.code, 'secrets_invalid')
  })

  test('tells at the start that a trail was erased, even when the migration was made to run again', async () => {
    await using box = await store()
    await using keys = await tempDir()
    const { mutations } = await started(box, keys.path)
    await mutations.run(making('a'))
    await erase(box)
    await box.raw('delete from kernel_outbox')
    await forgetLaterMigrations(box)
    const again = await started(box, keys.path)
    assert.match(again.finding ?? '', /the head record is missing.*erased.*triggers kernel_audit_delete/)
    assert.is((await failure(() => again.mutations.run(making('b'))))?.code, 'store_corrupt')
  })

  test('does not take a store for new because the tables of the trail were dropped', async () => {
    await using box = await store()
    await using keys = await tempDir()
    const { mutations, db } = await started(box, keys.path)
    await mutations.run(making('a'))
    await dropKernelTables(box, db)
    const again = await started(box, keys.path)
    assert.match(again.finding ?? '', /the head record is missing.*erased/)
    assert.is((await failure(() => again.mutations.run(making('b'))))?.code, 'store_corrupt')
    await dropKernelTables(box, db)
    await using otherKeys = await tempDir()
    const forgetful = await started(box, otherKeys.path)
    assert.match(forgetful.finding ?? '', /the head record is missing.*erased/)
    assert.is(forgetful.anchor.read(), undefined)
  })

  test('begins a new trail beside old keys only with an entry that says so', async () => {
    await using keys = await tempDir()
    await using old = await store()
    const before = await started(old, keys.path)
    await before.mutations.run(making('a'))
    await using box = await store()
    await box.clock.advance(5_000)
    const bench = await started(box, keys.path)
    assert.is(bench.finding, undefined)
    await bench.mutations.run(making('a'))
    const entries = await bench.audit.list({}, 10, undefined)
    assert.equal(
      entries.map(({ seq, action, principal, detail }) => [seq, action, principal.id, detail]),
      [
        [2, 'toy.make', 'u-1', {}],
        [
          1,
          'audit.begin',
          'kernel',
          { earlier_trails: 1, last_began_at: new Date(old.clock.nowMs()).toISOString() },
        ],
      ],
    )
    assert.equal(await bench.audit.verify(), { ok: true, checked: 2 })
    const known = [old.clock.nowMs(), box.clock.nowMs()]
    assert.equal(bench.anchor.read(), { beganAtMs: known, isSigned: true })
    // The old store can be put back.
    assert.is((await started(old, keys.path)).finding, undefined)
    assert.equal((await started(box, keys.path)).anchor.read()?.beganAtMs, known)
  })

  test('adopts a store of before the anchor, with entries or without', async () => {
    for (const count of [0, 2]) {
      await using box = await store()
      await using keys = await tempDir()
      const { audit } = await withEntries(box, count)
      await forgetLaterMigrations(box)
      if (count === 0) {
        await dropTrigger(box, 'kernel_audit_head_delete', 'kernel_audit_head')
        await box.raw('delete from kernel_audit_head')
      }
      const bench = await started(box, keys.path)
      await bench.mutations.run(making('later'))
      assert.is((await audit.verify()).checked, count + 1)
      assert.is(bench.anchor.read()?.isSigned, true)
    }
  })
}).run()
