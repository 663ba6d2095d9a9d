import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeSigningKey } from '@steeple/contracts'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { packPlugin } from '../../src/plugin-packages/pack.ts'
import { createTestHost, failureOf, recordOf, type TestHost } from './test-host.ts'
import { codeOf, type PluginSpec, writePlugin } from './test-plugin.ts'

const signed = suite('kernel/plugins/signed')

interface Place {
  readonly host: TestHost
  readonly pluginsDir: string
  /** The octets of a package, signed with the key that the host trusts or another. */
  pack(spec?: PluginSpec, isForeign?: boolean): Promise<Buffer>
}

/** A host that trusts one key, and takes nothing unsigned. */
async function inPlace(work: (place: Place) => Promise<void>): Promise<void> {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const key = await makeSigningKey(join(root.path, 'own.key'))
  const foreign = await makeSigningKey(join(root.path, 'foreign.key'))
  await using host = await createTestHost({ packages: [], pluginsDir })
  host.settings.allowUnsigned = false
  host.settings.trust = [`${key.publicKey} alice`]
  await host.registry.loadAll()
  const pack = async (spec: PluginSpec = {}, isForeign = false): Promise<Buffer> => {
    const dir = await writePlugin(root.path, spec)
    return await readFile((await packPlugin(dir, { out: root.path, key: isForeign ? foreign : key })).file)
  }
  await work({ host, pluginsDir, pack })
}

signed('installs a package and loads it, and says who has signed it', async () => {
  await inPlace(async ({ host, pack }) => {
    const record = await host.registry.install(await pack())
    assert.is(record.state, 'running')
    assert.match(record.signedBy ?? '', /^alice \([0-9a-f]{4}(-[0-9a-f]{4}){3}\)$/)
    assert.equal((await host.get('/v1/sample')).body, { version: '1.0.0' })
    await host.registry.install(await pack({ version: '1.1.0' }))
    assert.equal((await host.get('/v1/sample')).body, { version: '1.1.0' })
    // An older one does not come back by itself.
    const older = await failureOf(async () => host.registry.install(await pack({ version: '0.9.0' })))
    assert.match(older.message, /must be asked for as a rollback/)
    assert.equal(recordOf(host, 'sample').versions, ['1.1.0', '1.0.0'])
  })
})

signed('leaves nothing of what it refuses, and what ran runs on', async () => {
  await inPlace(async ({ host, pluginsDir, pack }) => {
    const foreign = await failureOf(async () => host.registry.install(await pack({}, true)))
    assert.match(foreign.message, /which is not in plugins\.trust/)
    const broken = codeOf({ setup: "throw new Error('no')" })
    await failureOf(async () => host.registry.install(await pack({ code: broken })))
    assert.equal(host.registry.list(), [])
    await host.registry.install(await pack())
    await failureOf(async () => host.registry.install(await pack({ version: '1.1.0', code: broken })))
    assert.is(recordOf(host, 'sample').state, 'running')
    const folders = (await readdir(pluginsDir)).filter((name) => name.includes('@'))
    assert.is(folders.length, 1)
  })
})

signed('goes on with what runs when its key is trusted no more, says so, and loads it no more', async () => {
  await inPlace(async ({ host, pack }) => {
    await host.registry.install(await pack())
    const { trust } = host.settings
    host.settings.trust = []
    await host.registry.applySettings()
    const { state, error } = recordOf(host, 'sample')
    assert.is(state, 'running')
    assert.match(error ?? '', /which is not in plugins\.trust/)
    const reload = await failureOf(() => host.registry.reload('sample'))
    assert.match(reload.message, /which is not in plugins\.trust/)
    assert.is((await host.get('/v1/sample')).status, 200)
    await host.registry.unload('sample')
    const load = await failureOf(() => host.registry.load('sample'))
    assert.match(load.message, /which is not in plugins\.trust/)
    host.settings.trust = trust
    assert.is((await host.registry.load('sample')).state, 'running')
  })
})

signed('takes what nobody has signed for as long as the configuration allows that', async () => {
  await inPlace(async ({ host, pack }) => {
    host.settings.allowUnsigned = true
    const record = await host.registry.install(await pack({}, true))
    assert.equal([record.state, record.signedBy], ['running', undefined])
    host.settings.allowUnsigned = false
    await host.registry.unload('sample')
    const load = await failureOf(() => host.registry.load('sample'))
    assert.match(load.message, /it is not signed/)
  })
})

/** What the health says of signatures: status and detail; undefined when it has nothing to say. */
function trustOf(host: TestHost): string | undefined {
  const found = host.options.health.components().find(({ name }) => name === 'plugins.trust')
  return found && `${found.status}: ${found.detail}`
}

signed('names in the health what runs without a signature that is believed', async () => {
  await inPlace(async ({ host, pack }) => {
    await host.registry.install(await pack())
    assert.is(trustOf(host), undefined)
    host.settings.allowUnsigned = true
    await host.registry.install(await pack({ id: 'other' }, true))
    assert.match(trustOf(host) ?? '', /^ok: runs without a signature of plugins\.trust.*: other 1\.0\.0$/)
    await host.registry.unload('other')
    assert.is(trustOf(host), undefined)
  })
})

signed('has the health degraded while something runs that no start would load again', async () => {
  await inPlace(async ({ host, pack }) => {
    await host.registry.install(await pack())
    const { trust } = host.settings
    host.settings.trust = []
    await host.registry.applySettings()
    assert.match(trustOf(host) ?? '', /^degraded: .*sample 1\.0\.0 \(.*which is not in plugins\.trust/)
    host.settings.trust = trust
    await host.registry.applySettings()
    assert.is(trustOf(host), undefined)
  })
})

signed.run()
