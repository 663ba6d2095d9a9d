import { writeFile } from 'node:fs/promises'
import { type Database, gentlePace, openDatabase, scanMemory } from '@steeple/store'
import { TOY, TOY_MIGRATIONS, toy } from '@steeple/store/testing'
import { assert, cpuMs, fakeClock, suite, tempDir } from '@steeple/testkit'
import type { PacedAuditTrail } from '../../src/audit/audit-trail.ts'
import { createStoreCheck, type StoreCheck } from '../../src/composition/store-check.ts'
import type { KernelMetrics } from '../../src/telemetry/metrics.ts'

const check = suite('kernel/composition/store-check')
const clock = fakeClock()
const note = (): void => undefined
const log = { debug: note, info: note, warn: note, error: note }
const NEVER = new AbortController().signal

check('rests nine times as long as it works, after a head start', async () => {
  const pace = gentlePace(NEVER, 0.1)
  const startedMs = performance.now()
  for (let piece = 0; piece < 40; piece++) {
    const untilMs = cpuMs() + 10
    while (cpuMs() < untilMs);
    await pace.rest()
  }
  // 400 ms of work, 250 of them without a rest.
  assert.ok(performance.now() - startedMs > 250 + 140 * 10, `${performance.now() - startedMs} ms`)
})

check('takes no more than its share with another that is under way', async () => {
  const paces = [gentlePace(NEVER, 0.1), gentlePace(NEVER, 0.1)]
  const startedMs = performance.now()
  const looks = paces.map(async (pace) => {
    for (let piece = 0; piece < 40; piece++) {
      const untilMs = cpuMs() + 10
      while (cpuMs() < untilMs);
      await pace.rest()
    }
  })
  await Promise.all(looks)
  // Each has 140 ms of work at least for which it rests, and not while the other does.
  assert.ok(performance.now() - startedMs > 2 * 140 * 9, `${performance.now() - startedMs} ms`)
})

check('looks at more rows at once where they are little work, and at fewer where they are much', async () => {
  const pace = gentlePace(NEVER, 0.1)
  const first = pace.rows
  for (let piece = 0; piece < 3; piece++) await pace.rest()
  const many = pace.rows
  assert.ok(many > first, `${first} and ${many}`)
  for (let piece = 0; piece < 10; piece++) {
    const untilMs = cpuMs() + 4
    while (cpuMs() < untilMs);
    await pace.rest()
  }
  assert.ok(pace.rows < many, `${many} and ${pace.rows}`)
})

check('does not rest nine times as long as its pieces waited for a processor', async () => {
  const pace = gentlePace(NEVER, 0.1)
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  const ms = { waited: 0, rested: 0 }
  for (let piece = 0; piece < 5; piece++) {
    const begunMs = performance.now()
    Atomics.wait(nothing, 0, 0, 300)
    const waitedMs = performance.now()
    await pace.rest()
    ms.waited += waitedMs - begunMs
    ms.rested += performance.now() - waitedMs
  }
  assert.ok(ms.rested < 6 * ms.waited, JSON.stringify(ms))
})

check('goes on after a restart where it stopped, and then looks at everything again', async () => {
  await using dir = await tempDir()
  const db = await openDatabase({ url: `sqlite:${dir.path}/svc.db`, clock, log })
  await db.migrate('toy', TOY_MIGRATIONS)
  for (let n = 0; n < 100; n++)
    await db.transact((tx) => TOY.insert(tx, toy(`id-${String(n).padStart(3, '0')}`)))
  const memory = scanMemory(dir.path)
  memory.write({ position: { table: 'toy_item', key: { id: 'id-049' }, rows: 50 }, rows: 100 })
  await db.transact((tx) => tx.run("update toy_item set label = 'changed' where id = 'id-007'"))
  const seen: string[] = []
  const resumed = checkOf(db, dir.path, (rows) => seen.push(rows))
  assert.equal(await resumed.run(NEVER), [], 'the damage lies before where the last one stopped')
  assert.equal(scanMemory(dir.path).read(), { rows: 100 })
  const found = await checkOf(db, dir.path).run(NEVER)
  assert.equal(
    found.map(({ table, key }) => [table, key]),
    [['toy_item', { id: 'id-007' }]],
  )
  await db.close()
})

check('says how far it is while it runs, and remembers that when it is cut off', async () => {
  await using dir = await tempDir()
  const db = await openDatabase({ url: `sqlite:${dir.path}/svc.db`, clock, log })
  await db.migrate('toy', TOY_MIGRATIONS)
  await db.transact(async (tx) => {
    for (let n = 0; n < 2_000; n++) await TOY.insert(tx, toy(idOf(n)))
  })
  const stop = new AbortController()
  const texts: (string | undefined)[] = []
  const slow: Database = {
    ...db,
    all: async (...args) => {
      texts.push(running.progress())
      if (texts.length === 4) stop.abort()
      return await db.all(...args)
    },
  }
  const running = checkOf(slow, dir.path)
  assert.is(running.progress(), undefined)
  let error: unknown
  await running.run(stop.signal).catch((thrown: unknown) => {
    error = thrown
  })
  assert.ok(error !== undefined)
  const told = Number(/toy_item: (\d+) rows/.exec(String(texts[3]))?.[1])
  assert.is(running.progress(), undefined)
  const { position } = scanMemory(dir.path).read()
  const rows = position?.rows ?? 0
  // The piece that was being read when it was cut off counts, and it is of 32 rows at least.
  assert.ok(told >= 3 * 32 && rows >= told + 32, `${told} and ${rows}`)
  assert.equal(position, { table: 'toy_item', key: { id: idOf(rows - 1) }, rows })
  await db.close()
})

check('takes a state that nobody wrote for none', async () => {
  await using dir = await tempDir()
  for (const text of [
    '',
    '[]',
    '{"position":{"table":1,"rows":0}}',
    '{"position":{"table":"a","key":[{}],"rows":1}}',
  ]) {
    await writeFile(`${dir.path}/store-check.json`, text)
    assert.equal(scanMemory(dir.path).read(), {}, text)
  }
})

function idOf(n: number): string {
  return `id-${String(n).padStart(4, '0')}`
}

function checkOf(db: Database, dataDir: string, note: (help: string) => void = () => undefined): StoreCheck {
  const audit: Pick<PacedAuditTrail, 'verifyGently'> = {
    verifyGently: async () => ({ ok: true, checked: 0 }),
  }
  const metrics: Pick<KernelMetrics, 'observed'> = { observed: (name) => note(name) }
  return createStoreCheck({
    db,
    // What the check uses of them.
    audit: audit as PacedAuditTrail,
    metrics: metrics as KernelMetrics,
    memory: scanMemory(dataDir),
    log,
    tables: () => [TOY],
  })
}

check.run()
