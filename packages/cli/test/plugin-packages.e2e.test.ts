import { execFile } from 'node:child_process'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { cleanEnv } from './svc.ts'

const build = suite('cli/plugin-packages')
const OWN = fileURLToPath(new URL('..', import.meta.url))

/** The command as somebody has copied it to another place, with those of the packages beside it. */
async function copyOf(root: TempDir, beside: readonly string[]): Promise<string> {
  const cli = join(root.path, 'packages', 'cli')
  await mkdir(cli, { recursive: true })
  for (const part of ['src', 'package.json']) await cp(join(OWN, part), join(cli, part), { recursive: true })
  await symlink(join(OWN, 'node_modules'), join(cli, 'node_modules'))
  for (const name of beside) await symlink(join(OWN, '..', name), join(root.path, 'packages', name))
  return cli
}

/** Runs the copy to its end: its exit code, and all that it wrote. */
async function run(
  cli: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly said: string }> {
  const command = ['--no-warnings', join(cli, 'src', 'main.ts'), ...args]
  return await promisify(execFile)(process.execPath, command, { env: cleanEnv() }).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({
      code,
      stdout,
      stderr,
    }: {
      readonly code: number
      readonly stdout: string
      readonly stderr: string
    }) => ({
      code,
      said: stdout + stderr,
    }),
  )
}

build('does not start without what is part of every build, and names it', async () => {
  await using root = await tempDir()
  const cli = await copyOf(root, ['access', 'nodes'])
  const { code, said } = await run(cli, ['--data-dir', root.path])
  assert.match(said, /^incomplete_build: this build lacks policy, sims, sessions:/m)
  assert.is(code, 1)
})

build('leaves out what the build was told to', async () => {
  await using root = await tempDir()
  const cli = await copyOf(root, [
    'access',
    'nodes',
    'policy',
    'sessions',
    'sims',
    'driver-ran',
    'driver-hss',
  ])
  await writeFile(join(cli, 'left-out.json'), '["driver-ran"]')
  const { pluginPackages, incompleteBuild } = (await import(
    join(cli, 'src', 'composition', 'plugin-packages.ts')
  )) as typeof import('../src/composition/plugin-packages.ts')
  const found = pluginPackages()
  assert.equal(
    found.map((folder) => basename(folder)),
    ['access', 'driver-hss', 'nodes', 'policy', 'sessions', 'sims'],
  )
  assert.is(incompleteBuild(found), undefined)
})

build('refuses what is switched on in a build that lacks it, offline and at the start', async () => {
  await using root = await tempDir()
  const cli = await copyOf(root, ['access', 'nodes', 'policy', 'sessions', 'sims', 'fair-use'])
  await writeFile(join(cli, 'left-out.json'), '["fair-use"]')
  const file = join(root.path, 'control.yaml')
  await writeFile(file, `server: {data_dir: ${root.path}}\nfairuse: {enabled: true}\n`)
  for (const args of [
    ['config', 'check', file],
    ['--config', file],
  ]) {
    const { code, said } = await run(cli, args)
    assert.is(code, 1)
    assert.match(said, ':2:20: fairuse.enabled is true, and this build has no fair-use')
  }
})

build.run()
