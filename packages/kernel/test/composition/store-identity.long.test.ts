import { randomBytes } from 'node:crypto'
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemPrincipal } from '@steeple/contracts'
import { initNode, openSecrets } from '@steeple/secrets'
import { loadConfig } from '@steeple/settings'
import { openSqliteConnection } from '@steeple/store'
import { failure, onPostgres } from '@steeple/store/testing'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { rotateVaultAudited } from '../../src/composition/housekeeping.ts'
import { openOffline } from '../../src/composition/offline.ts'
import { acceptStoreLoss, permitNewStore } from '../../src/composition/open-store.ts'
import type { Kernel } from '../../src/create-kernel.ts'
import { startKernel } from '../start-kernel.ts'

const LIMIT = { limitMs: 360_000 }
const identity = suite('kernel/store/identity', LIMIT)
const quiet = (): void => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const clock = fakeClock()

async function node(path: string): Promise<string> {
  await initNode({ dataDir: path, clock, name: 'box' })
  return path
}

/** A stopped box that has written something sealed. */
async function used(path: string): Promise<string> {
  const kernel = await startKernel(await node(path), { clock })
  await sealSomething(kernel, 'first')
  await kernel.close()
  return path
}

/** An answer with a secret, as a request with an Idempotency-Key leaves it. */
async function sealSomething(kernel: Kernel, scope: string): Promise<void> {
  await kernel.mutations.run({
    principal: systemPrincipal('test'),
    action: 'test.seal',
    target: scope,
    owner: 'kernel',
    idempotency: { scope, bodySha256: 'b' },
    work: async () => ({ status: 201, body: { token: scope }, sealed: true }),
  })
}

const settingsOf = (dataDir: string) =>
  loadConfig({ env: { SVC_SERVER_DATADIR: dataDir }, readFile: () => '{}', file: '/none.yaml' }).settings

function sql(dataDir: string, text: string): void {
  const db = openSqliteConnection(join(dataDir, 'svc.db'), 'write')
  db.exec(text)
  db.close()
}

identity(
  'refuses another vault key at the start, seals nothing, and goes on with the right one',
  async () => {
    await using dir = await tempDir()
    const path = await used(dir.path)
    const file = join(path, 'keys', 'vault.key')
    const right = await readFile(file)
    await writeFile(file, randomBytes(32))
    const error = await failure(() => startKernel(path, { clock }))
    assert.is(error?.code, 'secrets_invalid')
    assert.match(
      error?.message ?? '',
      /vault\.key \(key [0-9a-f]{8}\) is not the key of this store, which is sealed under the key [0-9a-f]{8}; put back/,
    )
    const secrets = openSecrets(path)
    for (const use of ['read', 'exclusive'] as const) {
      const offline = await failure(() =>
        openOffline({ settings: settingsOf(path), secrets, clock, log, use }),
      )
      assert.is(offline?.code, 'secrets_invalid', use)
    }
    await writeFile(file, right)
    const kernel = await startKernel(path, { clock })
    assert.equal((await kernel.mutations.stored('first'))?.reply.body, { token: 'first' })
    await kernel.close()
  },
)

identity('refuses the keys of another box, and another box its store', async () => {
  await using dir = await tempDir()
  const one = await used(join(dir.path, 'one'))
  const two = await used(join(dir.path, 'two'))
  await rename(join(one, 'svc.db'), join(one, 'own.db'))
  await cp(join(two, 'svc.db'), join(one, 'svc.db'))
  assert.match(
    (await failure(() => startKernel(one, { clock })))?.message ?? '',
    /is not the key of this store/,
  )
  await rename(join(one, 'own.db'), join(one, 'svc.db'))
  await (await startKernel(one, { clock })).close()
})

identity('refuses the store of before a rotation beside the keys of after it', async () => {
  await using dir = await tempDir()
  const path = await used(dir.path)
  await cp(join(path, 'svc.db'), join(path, 'old.db'))
  const store = await openOffline({
    settings: settingsOf(path),
    secrets: openSecrets(path),
    clock,
    log,
    use: 'exclusive',
  })
  const { db, vault, audit } = store
  const report = await rotateVaultAudited({
    db,
    vault,
    mutations: store.mutations(),
    tables: [],
    settle: async () => undefined,
  })
  const [entry] = await audit.list({ action: 'vault.rotate' }, 1, undefined)
  assert.equal([entry?.outcome, entry?.detail.to], ['ok', vault.keyId])
  await store.close()
  // The table of the answers is unknown here, so that its key stays; without it nothing of the old store opens.
  for (const { id } of openSecrets(path).keyring.replaced) await rm(join(path, 'keys', `vault-${id}.key`))
  assert.ok(report.resealed > 0)
  await (await startKernel(path, { clock })).close()
  await rename(join(path, 'old.db'), join(path, 'svc.db'))
  assert.match(
    (await failure(() => startKernel(path, { clock })))?.message ?? '',
    /lacks the last \d+ answered/,
  )
  await acceptStoreLoss(settingsOf(path), clock, async () => undefined)
  assert.match((await failure(() => startKernel(path, { clock })))?.message ?? '', /sealed under the key/)
})

identity(
  'takes a store of before the known value, unless what is sealed in it names another key',
  async () => {
    await using dir = await tempDir()
    const path = await used(dir.path)
    sql(path, 'delete from kernel_vault')
    const file = join(path, 'keys', 'vault.key')
    const right = await readFile(file)
    await writeFile(file, randomBytes(32))
    assert.is((await failure(() => startKernel(path, { clock })))?.code, 'secrets_invalid')
    await writeFile(file, right)
    await (await startKernel(path, { clock })).close()
    await writeFile(file, randomBytes(32))
    assert.is((await failure(() => startKernel(path, { clock })))?.code, 'secrets_invalid')
  },
)

identity('does not take a damaged known value for another key', async () => {
  await using dir = await tempDir()
  const path = await used(dir.path)
  sql(path, "update kernel_vault set sealed = x'00'")
  const kernel = await startKernel(path, { clock })
  assert.equal((await kernel.mutations.stored('first'))?.reply.body, { token: 'first' })
  await kernel.close()
})

identity('makes no new store where the old one is missing, until somebody permits it, once', async () => {
  await using dir = await tempDir()
  const path = await used(dir.path)
  const remove = (): Promise<void> => rm(join(path, 'svc.db'))
  await remove()
  const error = await failure(() => startKernel(path, { clock }))
  assert.is(error?.code, 'store_invalid')
  assert.match(
    error?.message ?? '',
    /there is no store .*svc\.db, but this node has kept one since 2026-01-01.*svc store new --data-dir/,
  )
  assert.not.ok((await readdir(path)).includes('svc.db'), 'nothing was made')
  // An empty file is no store either.
  await writeFile(join(path, 'svc.db'), '')
  assert.match((await failure(() => startKernel(path, { clock })))?.message ?? '', /the store is empty/)
  assert.throws(() => permitNewStore(settingsOf(path)), /there is a store .*move it away/)
  await remove()
  permitNewStore(settingsOf(path))
  const kernel = await startKernel(path, { clock })
  assert.throws(() => permitNewStore(settingsOf(path)), /data_dir|another|in use/i)
  const [entry] = await kernel.audit.list({ action: 'audit.begin' }, 1, undefined)
  assert.is(entry?.detail.earlier_trails, 1)
  await kernel.close()
  await remove()
  assert.is((await failure(() => startKernel(path, { clock })))?.code, 'store_invalid', 'permitted once')
})

identity('makes the store of a node that was made and never started', async () => {
  await using dir = await tempDir()
  await (await startKernel(await node(dir.path), { clock })).close()
  assert.ok((await readdir(dir.path)).includes('svc.db'))
})

const onPg = onPostgres('kernel/store/identity', (test, store) => {
  test(
    'refuses a second instance with keys of its own, in plain words',
    async () => {
      await using box = await store()
      await using dir = await tempDir()
      const { url } = box
      const first = await startKernel(await node(join(dir.path, 'one')), { clock, url, instance: 'one' })
      const second = await node(join(dir.path, 'two'))
      const error = await failure(() => startKernel(second, { clock, url, instance: 'two' }))
      assert.is(error?.code, 'secrets_invalid')
      assert.match(error?.message ?? '', /put back the whole keys directory of this store/)
      await cp(join(dir.path, 'one', 'keys'), join(second, 'keys'), { recursive: true })
      await (await startKernel(second, { clock, url, instance: 'two' })).close()
      assert.ok((await first.audit.verify()).ok)
      await first.close()
    },
    LIMIT,
  )

  test(
    'does not take an empty database for the store that was there',
    async () => {
      await using box = await store()
      await using dir = await tempDir()
      const path = await node(dir.path)
      const url = box.url
      await (await startKernel(path, { clock, url })).close()
      const schema = new URL(url).searchParams.get('application_name')
      await box.raw(`drop schema ${schema} cascade; create schema ${schema}`)
      const error = await failure(() => startKernel(path, { clock, url }))
      assert.match(error?.message ?? '', /the database is empty, but this node has kept one/)
      permitNewStore({ ...settingsOf(path), store: { ...settingsOf(path).store, url } })
      await (await startKernel(path, { clock, url })).close()
    },
    LIMIT,
  )
})

identity.run()
onPg.run()
