import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert, suite, tempDir } from '@steeple/testkit'
import { KINDS } from '../src/scaffold/kinds.ts'
import { buildProject, linkModules, PACKAGES } from './plugin-project.ts'
import { cleanEnv, svc } from './svc.ts'

const scaffold = suite('cli/plugin-new')
const run = promisify(execFile)
interface Manifest {
  readonly name: string
  readonly steeple: { readonly id: string; readonly kind: string; readonly provides?: readonly string[] }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

async function manifestOf(dir: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as Manifest
}

for (const kind of KINDS)
  scaffold(
    `writes a ${kind} plugin that type-checks, builds to one file, and passes its tests or says what is left to write`,
    async () => {
      await using folder = await tempDir()
      const name = `tiny-${kind}`
      const { code, out } = await svc(['plugin', 'new', name, '--kind', kind], { cwd: folder.path })
      assert.is(code, 0)
      assert.match(out, /svc plugin load/)
      const dir = join(folder.path, name)
      assert.equal((await manifestOf(dir)).steeple.id, name)
      await linkModules(dir)
      const options = { cwd: dir, env: cleanEnv({ NO_COLOR: '1', FORCE_COLOR: '0' }) }
      await buildProject(dir)
      const own = kind === 'feature' ? ['commands.js', 'plugin.js'] : ['plugin.js']
      assert.equal(await readdir(join(dir, 'dist')), own)
      const built = await readFile(join(dir, 'dist', 'plugin.js'), 'utf8')
      const imports = [...built.matchAll(/from "([^"]+)"/g)].map((match) => match[1] ?? '')
      assert.ok(imports.every((from) => from === '@steeple/contracts' || from.startsWith('node:')))
      const tests = await readdir(join(dir, 'test'))
      assert.ok(tests.includes('conformance.test.ts'))
      for (const file of tests.filter((test) => test.endsWith('.test.ts'))) {
        const { stdout } = await run(process.execPath, ['--no-warnings', join('test', file)], options).catch(
          (error: { readonly stdout: string }) => error,
        )
        const [, total = '0', passed = '0'] = /Total:\s+(\d+)\s+Passed:\s+(\d+)/.exec(stdout) ?? []
        const failed = Number(total) - Number(passed)
        // Whatever fails names what to write, and nothing else fails.
        assert.is(stdout.split('here is what to write: ').length - 1, failed, stdout)
        const isLeft = file === 'conformance.test.ts' && (kind === 'core' || kind === 'hss')
        assert.ok(Number(total) > 0 && failed > 0 === isLeft, stdout)
      }
      const texts = await Promise.all(
        (await readdir(dir, { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
          .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')),
      )
      for (const text of texts) assert.not.match(text, /sample.?plugin|TODO/i)
    },
  )

scaffold(
  'asks outside of the workspace for packages of this version, or takes them from a folder, and overwrites nothing',
  async () => {
    await using folder = await tempDir()
    const { version } = JSON.parse(await readFile(join(PACKAGES, 'contracts/package.json'), 'utf8'))
    const args = ['plugin', 'new', 'far', '--kind', 'collector', '--json']
    assert.is((await svc(args, { cwd: folder.path })).code, 0)
    const manifest = await manifestOf(join(folder.path, 'far'))
    assert.is(manifest.name, 'far')
    assert.equal(manifest.steeple.provides, ['collector.far'])
    assert.is(manifest.dependencies, undefined)
    const names = ['contracts', 'plugin-kit', 'testkit']
    const asked = names.map((name) => [`@steeple/${name}`, `^${version}`])
    assert.equal(manifest.devDependencies, Object.fromEntries(asked))
    const again = await svc(args, { cwd: folder.path })
    assert.is(again.code, 1)
    assert.match(again.err, /folder_not_empty/)
    const fromFiles = ['plugin', 'new', 'near', '--kind', 'core', '--packages', 'packed', '--json']
    await mkdir(join(folder.path, 'packed'))
    const missing = await svc(fromFiles, { cwd: folder.path })
    assert.match(missing.err, /packages_missing[\s\S]*packed lacks steeple-contracts-.*; no \.tgz is there/)
    for (const name of names)
      await writeFile(join(folder.path, 'packed', `steeple-${name}-${version}.tgz`), name)
    assert.is((await svc(fromFiles, { cwd: folder.path })).code, 0)
    const own = await manifestOf(join(folder.path, 'near'))
    const kept = `steeple-testkit-${version}.tgz`
    assert.is(own.devDependencies['@steeple/testkit'], `file:vendor/${kept}`)
    assert.is(await readFile(join(folder.path, 'near/vendor', kept), 'utf8'), 'testkit')
  },
)

scaffold('becomes a package of the workspace that it is called in', async () => {
  await using folder = await tempDir()
  const contracts = join(folder.path, 'packages', 'contracts')
  await mkdir(contracts, { recursive: true })
  await writeFile(join(folder.path, 'pnpm-workspace.yaml'), 'packages:\n  - packages/*\n')
  await writeFile(join(contracts, 'package.json'), '{"name":"@steeple/contracts"}')
  const { code, out } = await svc(['plugin', 'new', 'near', '--kind', 'ran'], { cwd: contracts })
  assert.is(code, 0)
  assert.match(out, /svc plugin load \.\/packages\/near/)
  const dir = join(folder.path, 'packages', 'near')
  const manifest = await manifestOf(dir)
  assert.is(manifest.name, '@steeple/near')
  assert.equal(manifest.dependencies, { '@steeple/contracts': 'workspace:*' })
  assert.match(await readFile(join(dir, 'turbo.json'), 'utf8'), /"plugin"/)
  assert.match(await readFile(join(dir, 'tsconfig.json'), 'utf8'), /tsconfig\.base\.json/)
})

scaffold.run()
