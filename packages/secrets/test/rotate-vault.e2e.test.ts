import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { suite, type TempDir, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { type RotationReport, rotateVault } from '../src/rotate-vault.ts'
import { createVault, openKeyring, sealedKeyId } from '../src/vault.ts'
import { withFrozenDisk } from './frozen-disk.ts'
import { addRows, type Bench, openBench, plainOf, SECRETS, sealedRow } from './rotation-bench.ts'

const rotation = suite('secrets/rotate-vault')

let root: TempDir
let count = 0
rotation.before(async () => {
  root = await tempDir()
})
rotation.after(() => root.remove())

function fresh(): string {
  count++
  return join(root.path, `${count}`)
}

function rotate(bench: Bench): Promise<RotationReport> {
  return rotateVault({ ...bench, tables: [SECRETS], settle: async () => undefined })
}

/** Every row opens with keys read anew from the disk, and its checksum holds. */
async function assertWhole({ db, keys }: Bench, expected: number): Promise<void> {
  const vault = createVault(openKeyring(keys))
  const rows = await SECRETS.select(db, 'order by id')
  assert.is(rows.length, expected)
  for (const { id, ki } of rows) {
    assert.is(Buffer.from(vault.open(ki, `sims_secrets/${id}`)).toString(), plainOf(id))
  }
}

rotation('seals every value anew, keeps the checksums true, and removes the old key', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 450)
  const old = bench.vault.keyId
  const report = await rotate(bench)
  assert.is(report.resealed, 450 + 450 - 45)
  assert.equal(report.retired, [old])
  assert.equal(report.kept, [])
  assert.is.not(report.keyId, old)
  const rows = await SECRETS.select(bench.db, 'order by id')
  assert.ok(
    rows.every(
      ({ ki, opc }) =>
        sealedKeyId(ki) === report.keyId && (opc === null || sealedKeyId(opc) === report.keyId),
    ),
  )
  await assertWhole(bench, 450)
  assert.equal(readdirSync(bench.keys).toSorted(), ['sealed-tables.json', 'vault.key'])
  await bench.db.close()
})

rotation('does nothing when it is only to resume and nothing is unfinished', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 3)
  const { keyId } = bench.vault
  const report = await rotateVault({ ...bench, tables: [SECRETS], isResumeOnly: true })
  assert.equal(report, { keyId, resealed: 0, retired: [], kept: [] })
  await bench.db.close()
})

rotation('keeps a key that values name which nobody has registered, and finishes when they are', async () => {
  const path = fresh()
  const bench = await openBench(path)
  await addRows(bench, 30)
  const old = bench.vault.keyId
  await bench.db.close()
  // As of a process that ended before its plugins had come.
  rmSync(join(bench.keys, 'sealed-tables.json'))
  const { db } = await openBench(path)
  rmSync(join(bench.keys, 'sealed-tables.json'))
  const unaware = { db, vault: createVault(openKeyring(bench.keys)), tables: [SECRETS] }
  const report = await rotateVault({ ...unaware, settle: async () => undefined })
  assert.equal(report.retired, [])
  assert.equal(
    report.kept.map((line) => line.split(' has ')[0]),
    ['sims_secrets.ki', 'sims_secrets.opc'],
  )
  await db.close()
  const again = await openBench(path)
  await assertWhole(again, 30)
  const finished = await rotateVault({
    ...again,
    tables: [SECRETS],
    settle: async () => undefined,
  })
  assert.equal(finished.retired, [old])
  assert.is(finished.resealed, 30 + 27)
  await assertWhole(again, 30)
  await again.db.close()
})

rotation('goes on where it was stopped instead of making yet another key', async () => {
  const path = fresh()
  const bench = await openBench(path)
  await addRows(bench, 500)
  const stop = new AbortController()
  let transactions = 0
  const stopping: Bench['db'] = {
    ...bench.db,
    transact: (job) => {
      transactions++
      if (transactions === 2) stop.abort()
      return bench.db.transact(job)
    },
  }
  await rotateVault({ ...bench, db: stopping, tables: [SECRETS], signal: stop.signal }).catch(() => undefined)
  const { keyId } = bench.vault
  await bench.db.close()
  const again = await openBench(path)
  assert.is(again.vault.keyId, keyId)
  assert.is(again.vault.keyring.replaced.length, 1)
  await assertWhole(again, 500)
  const report = await rotateVault({
    ...again,
    tables: [SECRETS],
    isResumeOnly: true,
    settle: async () => undefined,
  })
  assert.is(report.keyId, keyId)
  assert.is(report.retired.length, 1)
  assert.ok(report.resealed > 0 && report.resealed < 1000)
  await assertWhole(again, 500)
  await again.db.close()
})

rotation('loses nothing when the disk of the keys stops at any point', async () => {
  const path = fresh()
  let bench = await openBench(path)
  await addRows(bench, 20)
  for (let points = 0; ; points++) {
    const { isFrozen } = await withFrozenDisk(points, () => rotate(bench))
    await bench.db.close()
    bench = await openBench(path)
    await assertWhole(bench, 20)
    if (!isFrozen) break
  }
  assert.is((await rotate(bench)).retired.length, 1)
  await assertWhole(bench, 20)
  await bench.db.close()
})

rotation('survives a real kill and finishes afterwards', async () => {
  const path = fresh()
  const bench = await openBench(path)
  await addRows(bench, 1500)
  await bench.db.close()
  for (const delayMs of [0, 10, 25, 50]) {
    const child = spawn(process.execPath, [new URL('./rotate-child.ts', import.meta.url).pathname, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    await delay(delayMs)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const after = await openBench(path)
    await assertWhole(after, 1500)
    await after.db.close()
  }
  const last = await openBench(path)
  const report = await rotate(last)
  assert.equal(report.kept, [])
  await assertWhole(last, 1500)
  await last.db.close()
})

rotation('takes in what writers add and change meanwhile', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 400)
  let isOver = false
  const writer = (async () => {
    for (let index = 0; !isOver; index++) {
      await bench.db.transact(async (tx) =>
        SECRETS.put(tx, sealedRow(bench.vault, `w${String(index % 50).padStart(4, '0')}`)),
      )
    }
  })()
  // Sealed before the switch, written after the first pass: the settling time is for this.
  const late = sealedRow(bench.vault, 'late')
  const settle = (): Promise<void> => bench.db.transact((tx) => SECRETS.insert(tx, late))
  const report = await rotateVault({ ...bench, tables: [SECRETS], settle })
  isOver = true
  await writer
  assert.equal(report.kept, [])
  assert.is(report.retired.length, 1)
  const written = await bench.db.get<{ readonly n: number }>(
    "select count(*) as n from sims_secrets where id like 'w%'",
  )
  await assertWhole(bench, 401 + (written?.n ?? 0))
  await bench.db.close()
})

rotation('keeps the old key for a value that does not open, and says which table', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 5)
  await bench.db.transact((tx) =>
    SECRETS.put(tx, { ...sealedRow(bench.vault, 'r0001'), ki: sealedRow(bench.vault, 'r0002').ki }),
  )
  const report = await rotate(bench)
  assert.equal(report.retired, [])
  assert.equal(report.kept, ['a value of sims_secrets.ki does not open; restore its row or remove it'])
  assert.is(bench.vault.keyring.replaced.length, 1)
  await bench.db.transact((tx) => SECRETS.remove(tx, { id: 'r0001' }))
  assert.is((await rotate(bench)).retired.length, 1)
  await assertWhole(bench, 4)
  await bench.db.close()
})

rotation('does not give a damaged row a checksum that makes it look sound', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 5)
  await bench.db.transact((tx) => tx.run("update sims_secrets set label = 'flipped' where id = 'r0003'"))
  const report = await rotate(bench)
  assert.equal(report.kept, ['a row of sims_secrets fails its checksum; restore it or remove it'])
  await bench.db.close()
})

rotation('keeps the old key while a table of a plugin that is not loaded needs it', async () => {
  const bench = await openBench(fresh())
  await addRows(bench, 5)
  const report = await rotateVault({ ...bench, tables: [], settle: async () => undefined })
  assert.equal(report.retired, [])
  assert.match(report.kept[0] ?? '', /^the columns of sims_secrets are not known; load the plugin/)
  await assertWhole(bench, 5)
  assert.is((await rotate(bench)).retired.length, 1)
  await bench.db.close()
})

rotation('rotates a node without sealed values', async () => {
  const bench = await openBench(fresh())
  assert.is((await rotate(bench)).retired.length, 1)
  await bench.db.close()
})

rotation.run()
