import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rowSum } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { bareService, restoreBackup, sendBackup, takeBackup } from '../harness/backups.ts'
import { runSvc } from '../harness/service.ts'

const test = suite('e2e/backup-release', { limitMs: 1_200_000 })
const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url))
const RELEASE = '0.1.0'
const SIMS = 5

/** What `scripts/freeze-release.mjs` has kept of a plugin's tables. */
interface Frozen {
  readonly migrations: readonly { readonly id: string; readonly up: readonly string[] }[]
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[] }[]
}

/** The plugins that the release is frozen of, by their ids. */
function frozen(): ReadonlyMap<string, Frozen> {
  const paths = readdirSync(PACKAGES).map((id) => [
    id,
    join(PACKAGES, id, 'fixtures/released', `${RELEASE}.json`),
  ])
  return new Map(
    paths
      .filter(([, path = '']) => existsSync(path))
      // Written by the script, never by hand.
      .map(([id = '', path = '']) => [id, JSON.parse(readFileSync(path, 'utf8')) as Frozen]),
  )
}

/** Makes the tables of a plugin those of the release, with the rows as that one would have written them. */
function asReleased(store: DatabaseSync, owner: string, { migrations, tables }: Frozen): void {
  const rows = tables.map(({ name }) => store.prepare(`select * from ${name}`).all())
  const own = store
    .prepare("select name from sqlite_schema where type = 'table' and name glob ?")
    .all(`${owner}_*`)
  for (const { name } of own) store.exec(`drop table ${name}`)
  for (const { up } of migrations) for (const step of up) store.exec(step)
  tables.forEach(({ name, columns }, index) => {
    const listed = [...columns, 'row_sum']
    const insert = store.prepare(
      `insert into ${name} (${listed.join(', ')}) values (${listed.map(() => '?').join(', ')})`,
    )
    for (const row of rows[index] ?? []) {
      const values = columns.map((column): SQLInputValue => row[column] ?? null)
      insert.run(...values, rowSum(columns, row))
    }
  })
  const known = migrations.flatMap(({ id }) => [id, `${id}:rows`])
  for (const { id } of store.prepare('select id from kernel_migration where owner = ?').all(owner))
    if (!known.includes(String(id)))
      store.prepare('delete from kernel_migration where owner = ? and id = ?').run(owner, id ?? '')
}

/** A backup without keys whose store a function has changed, packed anew as docs/reference/backup-file.md says. */
async function repacked(
  backup: Uint8Array,
  change: (store: DatabaseSync) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  await using dir = await tempDir()
  writeFileSync(join(dir.path, 'backup.tar.gz'), backup)
  // Its second member is empty: `gzip` reads over it.
  execFileSync('tar', ['xzf', 'backup.tar.gz'], { cwd: dir.path })
  const store = new DatabaseSync(join(dir.path, 'store.db'))
  change(store)
  store.close()
  const path = join(dir.path, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8')) // our own service wrote it
  manifest.members = manifest.members.map(({ name }: { readonly name: string }) => {
    const sha256 = createHash('sha256')
      .update(readFileSync(join(dir.path, name)))
      .digest('hex')
    return { name, size: statSync(join(dir.path, name)).size, sha256 }
  })
  writeFileSync(path, JSON.stringify(manifest))
  const names = manifest.members.map(({ name }: { readonly name: string }) => name)
  const tar = execFileSync('tar', ['--format=ustar', '-cf', '-', 'manifest.json', ...names], {
    cwd: dir.path,
    maxBuffer: 1 << 30,
  })
  const packed = gzipSync(tar)
  const comment = `svc-backup sha256:${createHash('sha256').update(packed).digest('hex')}\0`
  const head = Buffer.from([0x1f, 0x8b, 0x08, 0x10, 0, 0, 0, 0, 0, 0xff])
  const empty = Buffer.from([0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  return new Uint8Array(Buffer.concat([packed, head, Buffer.from(comment, 'latin1'), empty]))
}

test('a backup of the first release is brought up, and its SIMs are served', async () => {
  await using dir = await tempDir()
  const service = await bareService({ dataDir: dir.path })
  assert.is((await service.request('POST', '/v1/sims', { body: { count: SIMS } })).status, 201)
  const before = await service.request('GET', '/v1/sims')
  const old = frozen()
  assert.ok(old.has('sims') && old.has('nodes'))
  const file = await repacked(await takeBackup(service, {}), (store) => {
    for (const [owner, release] of old) asReleased(store, owner, release)
  })
  assert.is((await service.request('POST', '/v1/sims', { body: { count: 1 } })).status, 201)
  const tried = await sendBackup(service, file, '?dry_run=true', {})
  assert.is(tried.status, 200, JSON.stringify(tried.body))
  const restored = await restoreBackup(service, file, '', {})
  const after = await restored.request('GET', '/v1/sims')
  assert.equal(after.body.sims, before.body.sims)
  assert.is((await restored.request('POST', '/v1/sims', { body: { count: 1 } })).status, 201)
  assert.is(await restored.stop(), 0)
  const store = new DatabaseSync(join(dir.path, 'svc.db'), { readOnly: true })
  const applied = store.prepare('select owner, max(id) as id from kernel_migration group by owner').all()
  store.close()
  const newest = new Map(applied.map(({ owner, id }) => [owner, String(id)]))
  for (const owner of ['sims', 'nodes'])
    assert.ok((newest.get(owner) ?? '') > (old.get(owner)?.migrations.at(-1)?.id ?? '~'), owner)
  const { code, stdout, stderr } = await runSvc(['audit', 'verify', '--data-dir', dir.path])
  assert.is(code, 0, stdout + stderr)
})

test.run()
