import { execFile } from 'node:child_process'
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { isServiceError } from '@steeple/contracts'
import { assert, suite, tempDir } from '@steeple/testkit'
import { scanSources } from '../../src/plugin-packages/catalogue.ts'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { tarOf } from '../../src/plugin-packages/pack.ts'

const install = suite('plugin-packages/install')

/** Installs whatever there is. */
const ANYBODY = { policy: { trust: [], allow_unsigned: true } } as const

async function packageAt(root: string): Promise<string> {
  const dir = join(root, 'sample')
  await mkdir(dir)
  const steeple = {
    id: 'sample',
    kind: 'feature',
    contracts: '*',
    config_path: 'sample',
    handover: 'overlap',
  }
  const exported = { '.': { default: './plugin.js' } }
  const text = { name: '@test/sample', version: '1.0.0', type: 'module', exports: exported, steeple }
  await writeFile(join(dir, 'package.json'), JSON.stringify(text))
  await writeFile(join(dir, 'plugin.js'), 'export const plugin = {}\n')
  return dir
}

install('finds what was installed, until a byte of it is another', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { dir } = await installPlugin(await packageAt(root.path), pluginsDir, ANYBODY)
  const scan = () => scanSources({ packages: [], pluginsDir })
  const before = await scan()
  assert.equal(
    before.found.map(({ manifest, version }) => [manifest.id, version]),
    [['sample', '1.0.0']],
  )
  await appendFile(join(dir, 'plugin.js'), '\n')
  const after = await scan()
  assert.equal(after.found, [])
})

install(
  'takes a folder of plugins that is not there for none, and one that cannot be read for an error',
  async () => {
    await using root = await tempDir()
    assert.equal(await scanSources({ packages: [], pluginsDir: join(root.path, 'plugins') }), {
      found: [],
      rejected: [],
    })
    const file = join(root.path, 'file')
    await writeFile(file, '')
    const error = await scanSources({ packages: [], pluginsDir: join(file, 'plugins') }).catch(String)
    assert.match(String(error), /ENOTDIR/)
  },
)

install('refuses a version that no folder can be named by', async () => {
  await using root = await tempDir()
  const source = await packageAt(root.path)
  const file = join(source, 'package.json')
  const text = JSON.parse(await readFile(file, 'utf8'))
  for (const version of ['1.0.0\n', ' 1.0.0', 'v1.0.0', '=1.0.0']) {
    await writeFile(file, JSON.stringify({ ...text, version }))
    const refused = await installPlugin(source, join(root.path, 'plugins'), ANYBODY).catch(String)
    assert.match(String(refused), /is not a semantic version/)
  }
  assert.equal(await readdir(root.path), ['sample'])
})

install(
  'refuses packages whose names collide, pipes and folders with words, and writes nothing beside them',
  async () => {
    await using root = await tempDir()
    const pluginsDir = join(root.path, 'plugins')
    const file = join(root.path, 'sample.tgz')
    const refusal = async (source: string): Promise<string> =>
      await installPlugin(source, pluginsDir, ANYBODY).then(
        () => 'installed',
        (error: unknown) =>
          isServiceError(error) ? `${error.code} ${error.message}` : `raw ${String(error)}`,
      )
    for (const names of [['a', 'a/b'], [''], ['x'.repeat(90) + '/'.repeat(2)], ['c/../../../out']]) {
      await writeFile(file, gzipSync(await tarOf(new Map(names.map((name) => [name, Buffer.from('text')])))))
      assert.match(await refusal(file), /^plugin_failed .*(cannot be written|package\.json)/)
    }
    await mkdir(join(root.path, 'folder.tgz'))
    assert.match(await refusal(join(root.path, 'folder.tgz')), /^plugin_failed .*it is no file/)
    await promisify(execFile)('mkfifo', [join(root.path, 'pipe.tgz')])
    assert.match(await refusal(join(root.path, 'pipe.tgz')), /^plugin_failed .*it is no file/)
    assert.equal((await readdir(root.path)).sort(), ['folder.tgz', 'pipe.tgz', 'sample.tgz'])
  },
)

install.run()
