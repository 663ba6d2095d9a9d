import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import { buildProject, linkModules } from './plugin-project.ts'
import { cleanEnv, MAIN, svc } from './svc.ts'

const service = suite('cli/service')
const ADMIN = 'admin-of-this-test-0123456789'

interface Running {
  readonly folder: TempDir
  readonly child: ChildProcess
  readonly env: Readonly<Record<string, string>>
}
let running: Running | undefined

/** Starts the service on a free port of a fresh node; resolves when it says where it listens. */
async function start(): Promise<Running> {
  const folder = await tempDir()
  await svc(['node', 'init', '--data-dir', folder.path])
  const flags = ['--data-dir', folder.path, '--listen', '127.0.0.1:0']
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...flags], {
    env: cleanEnv({ SVC_ADMIN_TOKEN: ADMIN }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { readonly msg?: string; readonly url?: string }
    if (msg !== 'listening' || url === undefined) continue
    child.stdout.resume()
    return { folder, child, env: { SVC_URL: url, SVC_ADMIN_TOKEN: ADMIN } }
  }
  throw new Error('the service ended before it listened')
}

function here(): Running {
  if (running === undefined) throw new Error('the service does not run')
  return running
}

async function ask<Body>(...args: readonly string[]): Promise<Body> {
  const { code, out, err } = await svc([...args, '--json'], { env: here().env })
  assert.is(code, 0, err)
  return JSON.parse(out) as Body
}

service.before(async () => {
  running = await start()
})

service.after(async () => {
  if (running?.child.exitCode === null) running.child.kill('SIGKILL')
  await running?.folder.remove()
})

service('makes a token, uses it, and loses it when it is revoked', async () => {
  const { id, token } = await ask<{ id: string; token: string }>('token', 'create', 'eye', '--role', 'viewer')
  const env = { ...here().env, SVC_TOKEN: token }
  assert.is((await svc(['status'], { env })).code, 0)
  const denied = await svc(['token', 'list'], { env })
  assert.is(denied.code, 1)
  assert.match(denied.err, /^forbidden: /)
  await ask('token', 'revoke', id)
  assert.match((await svc(['status'], { env })).err, /^unauthenticated: /)
})

service('changes the policy under its revision and refuses a stale one', async () => {
  const before = await ask<{ revision: number }>('policy', 'get')
  const after = await ask<{ revision: number; retention_days: { audit: number } }>(
    'policy',
    'set',
    'retention_days.audit=300',
  )
  assert.equal([after.revision, after.retention_days.audit], [before.revision + 1, 300])
  const stale = await svc(['policy', 'set', '--file', '-'], {
    env: here().env,
    input: JSON.stringify({ ...before, sim_swap_cooldown_hours: 3 }),
  })
  assert.is(stale.code, 1)
  assert.match(stale.err, /^policy_conflict: /)
})

service(
  'installs a plugin that plugin new wrote into the running service, and takes it out again',
  async () => {
    const { folder, env } = here()
    assert.is((await svc(['plugin', 'new', 'board', '--kind', 'feature'], { cwd: folder.path })).code, 0)
    const dir = join(folder.path, 'board')
    await linkModules(dir)
    await buildProject(dir)
    const loaded = await ask<{ state: string }>(
      'plugin',
      'load',
      '--allow-unsigned',
      dir,
      '--data-dir',
      folder.path,
    )
    assert.is(loaded.state, 'running')
    const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' }
    const url = `${env.SVC_URL}/v1/board/notes/mast`
    const put = await fetch(url, { method: 'PUT', headers, body: '{"body":"the ladder is wet"}' })
    assert.is(put.status, 200)
    await ask('plugin', 'unload', 'board')
    assert.is((await fetch(url, { headers })).status, 404)
  },
)

/** A built plugin package in `root`, whose setup is that. */
async function writeBuilt(root: string, id: string, setup: string): Promise<string> {
  const dir = join(root, id)
  await mkdir(dir)
  const steeple = {
    id,
    kind: 'feature',
    contracts: '*',
    config_path: id,
    handover: 'overlap',
  }
  const manifest = { name: id, version: '1.0.0', type: 'module', exports: { '.': './plugin.js' }, steeple }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(dir, 'plugin.js'), `export const plugin = { setup: async () => { ${setup} } }`)
  return dir
}

service('takes a plugin that was refused back, on the disk and in the list', async () => {
  const { folder, env } = here()
  const dir = await writeBuilt(folder.path, 'broken', "throw new Error('no antenna')")
  const before = await readdir(join(folder.path, 'plugins'))
  const refused = await svc(['plugin', 'load', '--allow-unsigned', dir, '--data-dir', folder.path], { env })
  assert.is(refused.code, 1)
  assert.match(refused.err, /^plugin_state_conflict: plugin broken failed at step setup: no antenna/m)
  assert.match(refused.err, /removed .*broken@1\.0\.0/)
  assert.equal(await readdir(join(folder.path, 'plugins')), before)
  const { plugins } = await ask<{ plugins: readonly { readonly name: string }[] }>('plugin', 'list')
  assert.not.ok(plugins.some(({ name }) => name === 'broken'))
  const again = await svc(['plugin', 'unload', 'broken'], { env })
  assert.match(again.err, /^plugin_not_found: /m)
})

service('keeps a plugin off by disable, and removes it by uninstall, from a package too', async () => {
  const { folder } = here()
  const dir = await writeBuilt(folder.path, 'lasting', 'return {}')
  await promisify(execFile)('tar', ['-czf', 'lasting.tgz', '--transform=s/^lasting/package/', 'lasting'], {
    cwd: folder.path,
  })
  type Answer = { state: string; version: string }
  const place = ['--data-dir', folder.path]
  assert.is(
    (await ask<Answer>('plugin', 'load', '--allow-unsigned', `${dir}.tgz`, ...place)).state,
    'running',
  )
  assert.is((await ask<Answer>('plugin', 'disable', 'lasting')).state, 'disabled')
  assert.is((await ask<Answer>('plugin', 'enable', 'lasting')).state, 'running')
  const manifest = join(dir, 'package.json')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('1.0.0', '1.1.0'))
  const { env } = here()
  const later = await svc(['plugin', 'load', '--allow-unsigned', '.', ...place, '--json'], {
    env,
    cwd: dir,
  })
  assert.is(JSON.parse(later.out).version, '1.1.0', later.err)
  assert.is((await ask<Answer>('plugin', 'rollback', 'lasting')).version, '1.0.0')
  const early = await svc(['plugin', 'uninstall', 'lasting', '--offline', ...place], { env })
  assert.match(early.err, /^data_dir_in_use: /m)
  assert.is((await ask<Answer>('plugin', 'uninstall', 'lasting')).state, 'unloaded')
  const left = await readdir(join(folder.path, 'plugins'))
  assert.not.ok(left.some((name) => name.startsWith('lasting')))
})

/** A command that runs until it is told to end, and what it has said so far. */
function commandOf(args: readonly string[]): {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  said(): string
} {
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...args], {
    env: cleanEnv(here().env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const hear = (chunk: Buffer): void => {
    said += chunk.toString()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  return { child, said: () => said, ended: once(child, 'close') }
}

/** The entry of a plugin that answers with a word. */
function answering(word: string): string {
  return `export const plugin = { setup: async () => ({ routes: [{
    method: 'GET', path: '/v1/worked', role: 'viewer', summary: 'x', handle: async () => ({ body: '${word}' }) }] }) }`
}

/** A plugin package whose build copies source.js, unless there is a typo in it. */
async function writeBuilding(root: string): Promise<string> {
  const dir = await writeBuilt(root, 'worked', 'return {}')
  await mkdir(join(dir, 'dist'))
  const manifest = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as object
  const more = { exports: { '.': './dist/plugin.js' }, scripts: { build: 'node build.mjs' } }
  await writeFile(join(dir, 'package.json'), JSON.stringify({ ...manifest, ...more }))
  await writeFile(
    join(dir, 'build.mjs'),
    `import { cpSync, readFileSync } from 'node:fs'
    if (readFileSync('source.js', 'utf8').includes('typo')) throw new Error('no such word')
    cpSync('source.js', 'dist/plugin.js')`,
  )
  return dir
}

service('builds and loads a plugin at each change, shows what fails, and leaves nothing behind', async () => {
  const { folder, env } = here()
  const dir = await writeBuilding(folder.path)
  const answer = async (): Promise<unknown> => {
    const response = await fetch(`${env.SVC_URL}/v1/worked`, {
      headers: { authorization: `Bearer ${ADMIN}` },
    })
    return response.status === 200 ? await response.json() : response.status
  }
  const save = (source: string) => writeFile(join(dir, 'source.js'), source)
  await save(answering('one'))
  const dev = commandOf(['plugin', 'dev', dir, '--data-dir', folder.path])
  const heard = (words: string) => eventually(() => dev.said().includes(words), 60_000)
  await heard('worked 1.0.1-dev.1 running; waiting')
  assert.is(await answer(), 'one')
  await save(answering('two'))
  await heard('dev.2 running; waiting')
  assert.is(await answer(), 'two')
  await save(answering('typo'))
  await heard('build_failed')
  assert.match(dev.said(), 'no such word')
  await save("export const plugin = { setup: async () => { throw new Error('no antenna') } }")
  await heard('no antenna')
  assert.is(await answer(), 'two', 'what ran before runs on')
  await save(answering('three'))
  await heard('dev.5 running; waiting')
  assert.is(await answer(), 'three')
  dev.child.kill('SIGINT')
  assert.equal(await dev.ended, [0, null])
  assert.is(await answer(), 404)
  const left = await readdir(join(folder.path, 'plugins'))
  assert.not.ok(left.some((name) => name.startsWith('worked')))
  const { plugins } = await ask<{ plugins: readonly { readonly name: string }[] }>('plugin', 'list')
  assert.not.ok(plugins.some(({ name }) => name === 'worked'))
})

service('leaves nothing where the service does not look, nor when there is no service', async () => {
  const { folder, env } = here()
  const dir = await writeBuilt(folder.path, 'lost', 'return {}')
  const elsewhere = join(folder.path, 'else', 'where')
  for (const [url, code] of [
    [env.SVC_URL ?? '', 'plugin_not_found'],
    ['http://127.0.0.1:1', 'unreachable'],
  ] as const) {
    const refused = await svc(
      ['plugin', 'load', '--allow-unsigned', dir, '--data-dir', elsewhere, '--url', url],
      { env },
    )
    assert.is(refused.code, 1)
    assert.match(refused.err, new RegExp(`^${code}: `, 'm'))
    assert.not.ok(existsSync(join(folder.path, 'else')), 'the directories that it made are gone too')
  }
})

service('writes no plugin into the folders of another node, nor of none', async () => {
  const { folder, env } = here()
  const dir = await writeBuilt(folder.path, 'stray', 'return {}')
  await using other = await tempDir()
  await svc(['node', 'init', '--data-dir', other.path])
  const before = await readdir(other.path)
  const refused = await svc(['plugin', 'load', '--allow-unsigned', dir, '--data-dir', other.path], { env })
  assert.is(refused.code, 1)
  assert.match(refused.err, /^plugin_not_found: the service is not the one of .*nothing was installed/m)
  assert.match(refused.err, /--data-dir or --config/)
  assert.equal(await readdir(other.path), before)
})

service('goes back to an older version of a plugin', async () => {
  const { folder } = here()
  const dir = await writeBuilt(folder.path, 'steps', 'return {}')
  const manifest = join(dir, 'package.json')
  const load = (): Promise<{ version: string }> =>
    ask('plugin', 'load', '--allow-unsigned', dir, '--data-dir', folder.path)
  assert.is((await load()).version, '1.0.0')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('1.0.0', '1.1.0'))
  assert.is((await load()).version, '1.1.0')
  assert.is((await ask<{ version: string }>('plugin', 'rollback', 'steps', '1.0.0')).version, '1.0.0')
})

service(
  'verifies the audit trail and is found well while the service runs, and rotates no key under it',
  async () => {
    const { folder, env } = here()
    const place = ['--data-dir', folder.path]
    const { ok, checked } = await ask<{ ok: boolean; checked: number }>('audit', 'verify', ...place)
    const listed = await ask<{ entries: readonly unknown[] }>('audit', 'list', '--limit', '1')
    assert.equal([ok, checked > 3, listed.entries.length], [true, true, 1])
    const address = new URL(env.SVC_URL ?? '').host
    const doctor = await svc(['doctor', ...place, '--listen', address])
    assert.match(doctor.out, /^ok {4}listen +svc .* answers/m)
    assert.match(doctor.out, /^warn {2}service +it was not asked how it is[^\n]*\n +.*SVC_TOKEN/m)
    // Its HSS is a container that is not there, and a SIM waits for it.
    const sick = await svc(['doctor', ...place, '--listen', address], { env })
    assert.is(sick.code, 1)
    assert.match(sick.out, /^fail {2}service +\S*(?:hss|provisioning)\S* is (?:degraded|down): /m)
    await using other = await tempDir()
    const second = await svc(['--first-start', '--data-dir', other.path, '--listen', address], {
      env: { SVC_HSS_DRIVER: 'none' },
    })
    assert.is(second.code, 1)
    assert.match(second.err, /^config_invalid: server\.listen is .*: something listens there already/m)
    const rotate = await svc(['vault', 'rotate', ...place])
    assert.is(rotate.code, 1)
    assert.match(rotate.err, /^data_dir_in_use: /)
  },
)

service(
  'ends on SIGTERM with exit code 0; then the vault key is rotated and the trail is still whole',
  async () => {
    const { folder, child } = here()
    const place = ['--data-dir', folder.path]
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    assert.is((await ended)[0], 0)
    const rotated = await ask<{ retired: readonly string[]; kept: readonly string[] }>(
      'vault',
      'rotate',
      ...place,
    )
    assert.equal([rotated.retired.length, rotated.kept], [1, []])
    assert.is((await ask<{ ok: boolean }>('audit', 'verify', ...place)).ok, true)
  },
)

service.run()
