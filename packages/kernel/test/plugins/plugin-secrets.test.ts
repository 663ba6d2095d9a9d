import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Vault } from '@steeple/contracts'
import { initNode, openSecrets } from '@steeple/secrets'
import type { Section } from '@steeple/settings'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { createPluginSecrets } from '../../src/plugins/plugin-secrets.ts'
import { scrubText } from '../../src/telemetry/log-redaction.ts'
import { startKernel } from '../start-kernel.ts'
import { failureOf } from './test-host.ts'
import { ANYBODY, writePlugin } from './test-plugin.ts'

const secrets = suite('kernel/plugins/plugin-secrets')

function sectionOf(plugin: string): Section {
  const key = { type: 'string', default: '' }
  const own = { properties: { api_key: { ...key, 'x-secret': true }, url: key } }
  const schema = { properties: { [plugin]: own } }
  return {
    plugin,
    version: '1.0.0',
    origin: 'installed',
    configPath: plugin,
    schema,
    metrics: [],
    rules: [],
    paths: [],
  }
}
const MINE = sectionOf('mine')
const THEIRS = sectionOf('theirs')

secrets('seals a value for one plugin, takes a file before it, and lets no log show either', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  await initNode({ dataDir: dir.path, clock })
  const kernel = await startKernel(dir.path, { clock })
  try {
    const settings = { mine: { api_key: '' } }
    const vault: Vault = kernel.vault
    const kept = createPluginSecrets(kernel.db, vault, () => settings)
    const write = (section: Section, key: string, value: string | undefined): Promise<void> =>
      kernel.db.transact((tx) => kept.write(tx, section, key, value))
    assert.is(await kept.read(MINE, 'api_key'), undefined)
    await write(MINE, 'api_key', 'open sesame')
    await write(MINE, 'api_key', 'open barley')
    assert.is(await kept.read(MINE, 'api_key'), 'open barley')
    assert.is(await kept.read(THEIRS, 'api_key'), undefined)
    assert.equal(await kept.list(MINE), [{ key: 'api_key', from: 'store' }])
    assert.is(scrubText('say open barley twice'), 'say [redacted] twice')
    const wrong = await failureOf(() => write(MINE, 'url', 'x'))
    assert.is(wrong.code, 'not_found')
    assert.match(wrong.message, 'it has api_key')

    settings.mine.api_key = join(dir.path, 'key.txt')
    assert.match((await failureOf(() => kept.read(MINE, 'api_key'))).message, /key\.txt is missing/)
    await writeFile(settings.mine.api_key, 'from the file\n')
    await chmod(settings.mine.api_key, 0o644)
    assert.match(
      (await failureOf(() => kept.read(MINE, 'api_key'))).message,
      /is open to others \(mode 0?644\)/,
    )
    await chmod(settings.mine.api_key, 0o600)
    assert.is(await kept.read(MINE, 'api_key'), 'from the file')
    assert.equal(await kept.list(MINE), [{ key: 'api_key', from: 'file' }])
    assert.is(scrubText('it is from the file'), 'it is [redacted]')
    settings.mine.api_key = ''
    await write(MINE, 'api_key', undefined)
    assert.is(await kept.read(MINE, 'api_key'), undefined)
    assert.ok(
      openSecrets(dir.path)
        .keyring.tables.all()
        .some(({ table }) => table === 'kernel_secret'),
    )
  } finally {
    await kernel.close()
  }
})

secrets('forgets what was sealed for a plugin with its last version, and nothing of another', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  await initNode({ dataDir: dir.path, clock })
  const kernel = await startKernel(dir.path, { clock })
  try {
    await kernel.registry.loadAll()
    await kernel.db.transact(async (tx) => {
      for (const id of ['mine/api_key', 'mine-too/api_key'])
        await tx.run('insert into kernel_secret (id, sealed) values (:id, :sealed)', {
          id,
          sealed: Buffer.of(1),
        })
    })
    const left = () => kernel.db.all('select id from kernel_secret order by id', {})
    for (const version of ['1.0.0', '1.1.0']) {
      const made = await writePlugin(join(dir.path, `mine-${version}`), { id: 'mine', version })
      await installPlugin(made, join(dir.path, 'plugins'), ANYBODY)
    }
    await kernel.registry.load('mine')
    await kernel.registry.uninstall('mine', '1.1.0')
    assert.is((await left()).length, 2)
    await kernel.registry.uninstall('mine')
    assert.equal(await left(), [{ id: 'mine-too/api_key' }])
  } finally {
    await kernel.close()
  }
})

secrets.run()
