import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { pluginConfigPaths } from '../../src/composition/plugin-config-paths.ts'
import { loadConfig } from '../../src/config/load-config.ts'

const paths = suite('kernel/config/plugin config paths')

async function plugin(folder: string, configPath: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ steeple: { config_path: configPath } }))
  return folder
}

paths('lets the file hold keys of plugins that are installed or part of the build', async () => {
  await using dir = await tempDir()
  const bundled = await plugin(join(dir.path, 'packages/one'), 'acme.one')
  await plugin(join(dir.path, 'data/plugins/two@1.0.0-00000000'), 'two')
  const options = {
    file: 'control.yaml',
    env: {},
    readFile: () =>
      `server: { data_dir: ${join(dir.path, 'data')} }\nacme: { one: { a: 1 } }\ntwo: { b: 2 }\n`,
  }
  const extraSchemas = pluginConfigPaths(options, [bundled])
  assert.equal(extraSchemas, [{ configPath: 'acme.one' }, { configPath: 'two' }])
  assert.equal(loadConfig({ ...options, extraSchemas }).pluginConfig('two'), { b: 2 })
  assert.throws(() => loadConfig(options), /acme/)
})

paths(
  "leaves the paths of the service's own schema alone and bears folders that are no plugins",
  async () => {
    await using dir = await tempDir()
    const own = await plugin(join(dir.path, 'fair-use'), 'fairuse')
    const broken = await plugin(join(dir.path, 'broken'), '../x')
    assert.equal(pluginConfigPaths({ env: { SVC_PLUGINS_DIR: dir.path } }, [own, broken, '/nowhere']), [])
  },
)

paths.run()
