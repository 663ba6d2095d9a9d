import { appendFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { failureOf, loadedHost, recordOf, type TestHost } from './test-host.ts'
import { ANYBODY, codeOf, type PluginSpec, writePlugin } from './test-plugin.ts'

const failed = suite('kernel/plugins/failed-upgrade')

/** Installs a version of `sample` and gives its entry file. */
async function install(root: string, spec: PluginSpec): Promise<string> {
  const { dir } = await installPlugin(await writePlugin(root, spec), join(root, 'plugins'), ANYBODY)
  return join(dir, 'plugin.js')
}

async function hostOf(root: string): Promise<TestHost> {
  const host = await loadedHost({ packages: [], pluginsDir: join(root, 'plugins') })
  return host
}

failed('says why the newest version is unusable instead of passing over it', async () => {
  await using root = await tempDir()
  await install(root.path, { version: '1.0.0' })
  await using host = await hostOf(root.path)
  await appendFile(await install(root.path, { version: '1.2.0' }), '\n')
  await appendFile(await install(root.path, { version: '1.1.0' }), '\n')
  const { code, message } = await failureOf(() => host.registry.load('sample'))
  assert.is(code, 'plugin_failed')
  assert.match(
    message,
    'step check: version 1.2.0 is unusable: its files are not the ones that were installed',
  )
  assert.match(
    (await failureOf(() => host.registry.load('sample', { version: '1.1.0' }))).message,
    'version 1.1.0 is',
  )
  assert.is(
    (await failureOf(() => host.registry.load('sample', { version: '1.3.0' }))).code,
    'plugin_not_found',
  )
  const { state, version, error } = recordOf(host, 'sample')
  assert.equal({ state, version }, { state: 'running', version: '1.0.0' })
  assert.match(error ?? '', 'SHA-256')
  assert.is((await host.registry.load('sample', { version: '1.0.0' })).state, 'running')
  await install(root.path, { version: '1.3.0' })
  const mended = await host.registry.load('sample')
  assert.equal([mended.version, mended.error], ['1.3.0', undefined])
})

failed('passes over an unusable version at the start, and shows it', async () => {
  await using root = await tempDir()
  await install(root.path, { version: '1.0.0' })
  await appendFile(await install(root.path, { version: '1.1.0' }), '\n')
  await using host = await hostOf(root.path)
  const { state, version, error } = recordOf(host, 'sample')
  assert.equal({ state, version }, { state: 'running', version: '1.0.0' })
  assert.match(error ?? '', 'SHA-256')
})

failed('starts the version that stayed anew, without the migrations of the one that failed', async () => {
  await using root = await tempDir()
  await install(root.path, { version: '1.0.0' })
  await using host = await hostOf(root.path)
  await install(root.path, { version: '1.1.0', code: codeOf({ setup: 'throw new Error("no")' }) })
  assert.match((await failureOf(() => host.registry.load('sample'))).message, 'step setup: no')
  host.migrated.clear()
  assert.is((await host.registry.reload('sample')).version, '1.0.0')
  assert.is(host.migrated.size, 0, 'the tables of the later version stay as they are')

  await using next = await hostOf(root.path)
  assert.equal([recordOf(next, 'sample').version, recordOf(next, 'sample').state], ['1.0.0', 'running'])
  assert.is((await next.registry.reload('sample')).version, '1.0.0')
  assert.is(next.migrated.size, 0, 'a restart stays with the version that ran')

  await install(root.path, { version: '1.1.1' })
  assert.is((await next.registry.load('sample')).version, '1.1.1')
  await using last = await hostOf(root.path)
  assert.is(recordOf(last, 'sample').version, '1.1.1')
})

/** A host whose `sample` runs after 1.1.0 has failed. */
async function afterFailure(root: string, running = '1.0.0'): Promise<TestHost> {
  await install(root, { version: running })
  const host = await hostOf(root)
  await install(root, { version: '1.1.0', code: codeOf({ setup: 'throw new Error("no")' }) })
  await failureOf(() => host.registry.load('sample'))
  assert.match(recordOf(host, 'sample').error ?? '', 'step setup: no')
  return host
}

const MOVES: readonly (readonly [string, (host: TestHost) => Promise<unknown>])[] = [
  ['a reload', async (host) => host.registry.reload('sample')],
  ['a load of the version that runs', async (host) => host.registry.load('sample', { version: '1.0.0' })],
]

for (const [what, move] of MOVES) {
  failed(`shows the failure of an upgrade until ${what} succeeds`, async () => {
    await using root = await tempDir()
    await using host = await afterFailure(root.path)
    await move(host)
    const { state, version, error } = recordOf(host, 'sample')
    assert.equal([state, version, error], ['running', '1.0.0', undefined])
  })
}

failed('shows the failure of an upgrade until a rollback succeeds', async () => {
  await using root = await tempDir()
  await install(root.path, { version: '0.9.1' })
  await using host = await afterFailure(root.path, '0.9.2')
  const record = await host.registry.load('sample', { rollback: true })
  assert.equal([record.version, record.error], ['0.9.1', undefined])
})

failed('does not show the failure of a version that lies there no more', async () => {
  await using root = await tempDir()
  await using host = await afterFailure(root.path)
  for (const name of await readdir(join(root.path, 'plugins')))
    if (name.startsWith('sample@1.1.0-')) await rm(join(root.path, 'plugins', name), { recursive: true })
  await host.registry.scan()
  const { state, error, versions } = recordOf(host, 'sample')
  assert.equal([state, error, versions], ['running', undefined, ['1.0.0']])
})

failed.run()
