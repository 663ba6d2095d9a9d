import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { failureOf, loadedHost, recordOf } from './test-host.ts'
import { ANYBODY, codeOf, writePlugin } from './test-plugin.ts'

const install = suite('kernel/plugins/install')

install('installs a version that the running service then loads', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  await using host = await loadedHost({ packages: [], pluginsDir })
  const source = await writePlugin(root.path, { version: '1.0.0' })
  const installed = await installPlugin(source, pluginsDir, ANYBODY)
  assert.match(installed.dir, /plugins\/sample@1\.0\.0-[0-9a-f]{8}$/)
  assert.ok(installed.isNew)
  assert.equal((await readdir(installed.dir)).sort(), ['package.json', 'plugin.js'])
  assert.equal((await readdir(pluginsDir)).sort(), ['contents.json', basename(installed.dir)])
  await host.registry.load('sample')
  assert.equal((await host.get('/v1/sample')).body, { version: '1.0.0' })
  assert.not((await installPlugin(source, pluginsDir, ANYBODY)).isNew)
  await installPlugin(await writePlugin(root.path, { version: '1.1.0' }), pluginsDir, ANYBODY)
  await host.registry.scan()
  assert.equal(recordOf(host, 'sample').versions, ['1.1.0', '1.0.0'])
  assert.equal(recordOf(host, 'sample').installed, ['1.1.0', '1.0.0'])
  await host.registry.load('sample')
  assert.equal((await host.get('/v1/sample')).body, { version: '1.1.0' })
})

install('names the folder that has a version, and not where on the machine it is', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { dir } = await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  await using host = await loadedHost({ packages: [], pluginsDir })
  const { code, message } = await failureOf(() => host.registry.load('sample', { folder: 'another' }))
  assert.is(code, 'plugin_state_conflict')
  assert.ok(message.includes(`lies in the folder ${basename(dir)} already`), message)
  assert.not.ok(message.includes(root.path), message)
})

install('refuses another build of a version that is installed', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  const other = await writePlugin(root.path, { code: codeOf({ body: '{ other: true }' }) })
  assert.is((await failureOf(() => installPlugin(other, pluginsDir, ANYBODY))).code, 'plugin_state_conflict')
})

install(
  'gives an installed plugin the contracts of the service, and nothing else that is not in its file',
  async () => {
    await using root = await tempDir()
    const pluginsDir = join(root.path, 'plugins')
    const head = "import { ERROR_CATALOGUE } from '@steeple/contracts'\nimport { join } from 'node:path'\n"
    const body = '{ same: ERROR_CATALOGUE === globalThis.hostCatalogue, join: join("a", "b") }'
    await installPlugin(await writePlugin(root.path, { code: codeOf({ head, body }) }), pluginsDir, ANYBODY)
    const foreign = codeOf({ head: "import semver from 'semver'\n" })
    await installPlugin(await writePlugin(root.path, { id: 'foreign', code: foreign }), pluginsDir, ANYBODY)
    const own = codeOf({ head: "import './other.js'\n" })
    await installPlugin(await writePlugin(root.path, { id: 'own', code: own }), pluginsDir, ANYBODY)
    Reflect.set(globalThis, 'hostCatalogue', (await import('@steeple/contracts')).ERROR_CATALOGUE)
    await using host = await loadedHost({ packages: [], pluginsDir })
    assert.equal((await host.get('/v1/sample')).body, { same: true, join: 'a/b' })
    assert.match(
      recordOf(host, 'foreign').error ?? '',
      /step import: an installed plugin is one file: bundle semver/,
    )
    assert.match(
      recordOf(host, 'own').error ?? '',
      /step import: an installed plugin is one file: bundle \.\/other\.js/,
    )
  },
)

install('does not load a file that was changed after it was installed', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { dir } = await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  await writeFile(join(dir, 'plugin.js'), 'globalThis.wasChanged = true')
  await using host = await loadedHost({ packages: [], pluginsDir })
  assert.is(recordOf(host, 'sample').state, 'rejected')
  assert.match(recordOf(host, 'sample').error ?? '', /not the ones that were installed/)
  assert.is((await failureOf(() => host.registry.load('sample'))).code, 'plugin_failed')
  assert.is(Reflect.get(globalThis, 'wasChanged'), undefined)
})

install('does not load a folder that carries another name, or is a link', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const { dir } = await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  await rename(dir, join(pluginsDir, `other@1.0.0-${dir.slice(-8)}`))
  const away = await installPlugin(
    await writePlugin(root.path, { id: 'away' }),
    join(root.path, 'elsewhere'),
    ANYBODY,
  )
  await symlink(away.dir, join(pluginsDir, away.dir.slice(-('away@1.0.0-'.length + 8))))
  await using host = await loadedHost({ packages: [], pluginsDir })
  assert.match(
    recordOf(host, 'other').error ?? '',
    /the folder is named other@1\.0\.0, its package is sample@1\.0\.0/,
  )
  assert.match(recordOf(host, 'away').error ?? '', /a link or no folder/)
})

install('does not install or load files that are links or that everybody may change', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  const linked = await writePlugin(root.path, { id: 'linked', package: { exports: './link.js' } })
  await symlink('/etc/hostname', join(linked, 'link.js'))
  assert.match(
    (await failureOf(() => installPlugin(linked, pluginsDir, ANYBODY))).message,
    'link.js is a link or no file',
  )
  const outside = await writePlugin(root.path, { id: 'outside', package: { exports: './lib/plugin.js' } })
  await mkdir(join(root.path, 'lib'))
  await writeFile(join(root.path, 'lib', 'plugin.js'), codeOf())
  await symlink(join(root.path, 'lib'), join(outside, 'lib'))
  assert.match(
    (await failureOf(() => installPlugin(outside, pluginsDir, ANYBODY))).message,
    'lies outside of the folder',
  )
  const { dir } = await installPlugin(await writePlugin(root.path), pluginsDir, ANYBODY)
  await chmod(join(dir, 'plugin.js'), 0o666)
  await using host = await loadedHost({ packages: [], pluginsDir })
  assert.match(
    recordOf(host, 'sample').error ?? '',
    /plugin\.js may be changed by others \(mode 0666\); run: chmod go-w/,
  )
  const missing = await writePlugin(root.path, { id: 'missing', package: { exports: './dist/plugin.js' } })
  assert.match(
    (await failureOf(() => installPlugin(missing, pluginsDir, ANYBODY))).message,
    'dist/plugin.js is missing',
  )
  assert.match(
    (await failureOf(() => installPlugin(root.path, pluginsDir, ANYBODY))).message,
    'package.json is missing',
  )
})

install('installs a package that npm pack made, and nothing that leads out of it', async () => {
  await using root = await tempDir()
  const dir = await writePlugin(root.path, { id: 'packed' })
  const file = join(root.path, 'packed.tgz')
  await rename(dir, join(root.path, 'package'))
  await writeFile(join(root.path, 'outside.txt'), 'x')
  const members = ['package', 'package/../outside.txt']
  await promisify(execFile)('tar', ['-czPf', file, ...members], { cwd: root.path })
  const pluginsDir = join(root.path, 'plugins')
  const { version, dir: installed } = await installPlugin(file, pluginsDir, ANYBODY)
  assert.is(version, '1.0.0')
  assert.equal((await readdir(installed)).sort(), ['package.json', 'plugin.js'])
  await using host = await loadedHost({ packages: [], pluginsDir })
  assert.is((await host.get('/v1/packed')).status, 200)
  await writeFile(file, 'no archive')
  assert.match(
    (await failureOf(() => installPlugin(file, pluginsDir, ANYBODY))).message,
    'no package as npm pack makes it',
  )
  assert.is(
    (await installPlugin(join(root.path, 'package'), pluginsDir, { ...ANYBODY, version: '1.0.1-dev.1' }))
      .version,
    '1.0.1-dev.1',
  )
})

install.run()
