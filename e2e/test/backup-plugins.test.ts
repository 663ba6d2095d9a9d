import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { bareService, restoreBackup, sendBackup, takeBackup } from '../harness/backups.ts'
import { hotPluginSource } from '../harness/plugins/hot-plugin.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import type { Service } from '../harness/service.ts'

const test = suite('e2e/backup-plugins', { limitMs: 1_200_000 })

/** The plugin; a later version has one more migration. */
function sourceOf(version: string): string {
  const source = hotPluginSource(version)
  if (version === '1.0.0') return source
  return source.replace(
    /( {2}migrations: \[\n)([\s\S]*?)( {2}\],\n)/,
    "$1$2    { id: '0002_note', up: ['alter table hot_item add column note text'] },\n$3",
  )
}

async function install(service: Service, version: string): Promise<void> {
  installVersion(service.dataDir, {
    id: 'hot',
    version,
    code: sourceOf(version),
    manifest: { provides: ['hot.version'] },
  })
  const { status, body } = await service.request('POST', '/v1/plugins/hot/load', { body: {} })
  assert.is(status, 200, JSON.stringify(body))
}

async function add(service: Service, name: string): Promise<void> {
  const { status, body } = await service.request('POST', '/v1/hot/items', { body: { name } })
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
}

/** Once its version answers. */
async function runs(service: Service, version: string): Promise<void> {
  await eventually(async () => (await service.request('GET', '/v1/hot')).body.version === version)
}

test('an installed plugin comes along with its rows, in the version that the backup has of it', async () => {
  await using dir = await tempDir()
  const old = await bareService()
  await install(old, '1.1.0')
  await add(old, 'one')
  const file = await takeBackup(old)
  await old.stop()

  // A machine that never had it, and one with an earlier version, which knows less of its tables.
  for (const has of ['nothing', '1.0.0']) {
    const next = await bareService({ dataDir: `${dir.path}/${has}` })
    if (has !== 'nothing') {
      await install(next, has)
      await add(next, 'other')
    }
    const restored = await restoreBackup(next, file, '?adopt=true')
    await runs(restored, '1.1.0')
    const { body } = await sendBackup(restored, await takeBackup(restored), '?dry_run=true')
    assert.is(body.counts.hot_item, 1)
    assert.is(body.schema.hot, '0002_note')
    await add(restored, 'two')
    assert.is(await restored.stop(), 0)
  }
})

test('an earlier version of an installed plugin comes back with its tables as it knew them', async () => {
  const service = await bareService()
  await install(service, '1.0.0')
  await add(service, 'one')
  const file = await takeBackup(service)
  await install(service, '1.1.0')
  await add(service, 'two')
  const restored = await restoreBackup(service, file)
  await runs(restored, '1.0.0')
  const { body } = await sendBackup(restored, await takeBackup(restored), '?dry_run=true')
  assert.is(body.counts.hot_item, 1)
  assert.is(body.schema.hot, '0001_item')
  assert.is(await restored.stop(), 0)
})

test.run()
