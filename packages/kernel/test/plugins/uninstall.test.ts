import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { initNode } from '@steeple/secrets'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { startKernel } from '../start-kernel.ts'
import { failureOf } from './test-host.ts'
import { ANYBODY, type PluginSpec, writePlugin } from './test-plugin.ts'

const uninstalling = suite('kernel/plugins/uninstall')

/** A driver that `tool: NAME` chooses. */
function driverOf(id: string, version = '1.0.0'): PluginSpec {
  return { id, version, manifest: { selected_by: { key: 'tool', values: [id] } } }
}

uninstalling('keeps whole what the configuration chooses, and says what to change first', async () => {
  await using dir = await tempDir()
  const clock = fakeClock()
  await initNode({ dataDir: dir.path, clock })
  const schema = { properties: { tool: { type: 'string', 'x-selects': true, default: 'own' } } }
  const packages = [
    await writePlugin(dir.path, { id: 'keys', schema }),
    await writePlugin(dir.path, driverOf('own')),
  ]
  const pluginsDir = join(dir.path, 'plugins')
  for (const version of ['1.0.0', '1.1.0'])
    await installPlugin(await writePlugin(dir.path, driverOf('mine', version)), pluginsDir, ANYBODY)
  const kernel = await startKernel(dir.path, { clock, packages, yaml: 'tool: mine\n' })
  try {
    await kernel.registry.loadAll()
    assert.is(kernel.registry.list().find(({ name }) => name === 'mine')?.state, 'running')
    assert.equal((await kernel.registry.uninstall('mine', '1.1.0')).versions, ['1.0.0'])
    const { code, message } = await failureOf(() => kernel.registry.uninstall('mine'))
    assert.is(code, 'plugin_state_conflict')
    assert.match(message, /tool must name an installed driver, one of own, not "mine".*send SIGHUP/)
    assert.is(kernel.registry.list().find(({ name }) => name === 'mine')?.state, 'running')
    assert.is((await readdir(pluginsDir)).filter((name) => name.startsWith('mine@')).length, 1)
  } finally {
    await kernel.close()
  }
})

uninstalling.run()
