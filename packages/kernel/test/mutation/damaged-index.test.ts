import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase, openSqliteConnection, scanIntegrity } from '@steeple/store'
import type { StoreBox } from '@steeple/store/testing'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { ANN, type MutationBench, mutationBench } from './mutation-fixture.ts'

const damaged = suite('kernel/mutation/damaged-index')
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

/** Enough for an index of several pages. */
const KEYS = 300
const scopeOf = (n: number): string => n.toString(16).padStart(4, '0').repeat(16)
const BODY = 'b'.repeat(64)

async function benchAt(path: string): Promise<MutationBench> {
  const clock = fakeClock()
  const box = { clock, open: () => openDatabase({ url: `sqlite:${path}`, clock, log }) }
  // The bench asks nothing else of a box.
  return await mutationBench(box as unknown as StoreBox)
}

const write = (bench: MutationBench, n: number) =>
  bench.mutations.run({
    principal: ANN,
    action: undefined,
    target: 'x',
    owner: 'toy',
    idempotency: { scope: scopeOf(n), bodySha256: BODY },
    work: async () => ({ status: 201, body: { n } }),
  })

/** Flips a byte of every copy of `text` that stands in an index: there its row does not follow. */
async function damageIndexEntry(path: string, text: string, follows: string): Promise<number> {
  const bytes = await readFile(path)
  let count = 0
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    if (bytes.subarray(at + text.length).includes(follows) && bytes.indexOf(follows, at) === at + text.length)
      continue
    bytes[at + 1] = (bytes[at + 1] ?? 0) ^ 0x40
    count++
  }
  await writeFile(path, bytes)
  return count
}

damaged('finds the answer of a request although its index entry is damaged, and the damage too', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'svc.db')
  const bench = await benchAt(path)
  for (let n = 0; n < KEYS; n++) await write(bench, n)
  await bench.db.close()
  assert.is(await damageIndexEntry(path, scopeOf(150), BODY), 1)

  const raw = openSqliteConnection(path, 'read')
  const byIndex = raw.prepare('select body_sha256 from kernel_idempotency where scope = ?')
  assert.is(byIndex.get(scopeOf(150)), undefined, 'the index itself misses it')
  raw.close()
  const after = await benchAt(path)
  const stored = await after.mutations.stored(scopeOf(150))
  assert.equal([stored?.bodySha256, stored?.reply], [BODY, { status: 201, body: { n: 150 } }])
  for (const n of [0, 149, 151, KEYS - 1]) assert.ok(await after.mutations.stored(scopeOf(n)))
  assert.is(await after.mutations.stored('f'.repeat(64)), undefined)

  const { ok, problems } = await scanIntegrity(after.db, [])
  assert.is(ok, false)
  assert.match(problems.map(({ reason }) => reason).join('; '), /index sqlite_autoindex_kernel_idempotency_1/)
  await after.db.close()
})

damaged.run()
