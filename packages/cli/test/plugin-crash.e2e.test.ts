import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { assert, suite, tempDir } from '@steeple/testkit'
import { cleanEnv, MAIN, svc } from './svc.ts'

const crash = suite('cli/plugin-crash')
const ADMIN = 'admin-of-this-test-0123456789'

/** Installs plugins whose setup is that, as an operator does it by hand: the folder's name has the entry's hash. */
async function install(dataDir: string, id: string, setup: string): Promise<void> {
  const { createHash } = await import('node:crypto')
  const code = `export const plugin = { setup: async () => { ${setup}; return {} } }`
  const sha8 = createHash('sha256').update(code).digest('hex').slice(0, 8)
  const dir = join(dataDir, 'plugins', `${id}@1.0.0-${sha8}`)
  await mkdir(dir, { recursive: true, mode: 0o755 })
  const steeple = {
    id,
    kind: 'feature',
    contracts: '*',
    config_path: id,
    handover: 'overlap',
  }
  const manifest = { name: id, version: '1.0.0', type: 'module', exports: { '.': './plugin.js' }, steeple }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest), { mode: 0o644 })
  await writeFile(join(dir, 'plugin.js'), code, { mode: 0o644 })
}

type Line = Readonly<Record<string, unknown>>

/** One life of the service: its log until it ends by itself, or until `work` with it is done. */
async function live(
  dataDir: string,
  flags: readonly string[],
  work: (env: Readonly<Record<string, string>>) => Promise<void> = async () => undefined,
): Promise<{ readonly code: number | null; readonly lines: readonly Line[] }> {
  const child = spawn(
    process.execPath,
    ['--no-warnings', MAIN, '--data-dir', dataDir, '--listen', '127.0.0.1:0', ...flags],
    {
      env: cleanEnv({ SVC_ADMIN_TOKEN: ADMIN, SVC_PLUGINS_ALLOW_UNSIGNED: 'true' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const lines: Line[] = []
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as Line
    lines.push(line)
    if (line.msg !== 'listening') continue
    await work({ SVC_URL: String(line.url), SVC_ADMIN_TOKEN: ADMIN })
    if (work.length > 0) child.kill('SIGTERM')
  }
  return { code: await ended, lines }
}

/**
 * Long after the setup, when it has been noted that the plugin runs, a promise is rejected for which nobody waits: the first time an error
 * of its own, then one of Node's, which shows no file of the plugin.
 */
const lateIn = (folder: string): string => `setTimeout(async () => {
  const fs = await import('node:fs/promises')
  const isFirst = await fs.mkdir('${folder}/was-here').then(() => true, () => false)
  if (isFirst) throw new Error('too late')
  void fs.readFile('/nonexistent')
}, 3_000)`

crash(
  'goes on without a plugin that ended the service twice by a late rejection, says so, and removes it offline',
  async () => {
    await using folder = await tempDir()
    const place = ['--data-dir', folder.path]
    await svc(['node', 'init', ...place])
    await install(folder.path, 'late', lateIn(folder.path))
    for (const life of [1, 2]) {
      const { code, lines } = await live(folder.path, [])
      assert.is(code, 1, `life ${life}`)
      const last = lines.find(({ msg }) => msg === 'a promise was not awaited')
      assert.match(JSON.stringify(last?.plugin_folders), 'late@1.0.0-')
    }
    const third = await live(folder.path, [], async (env) => {
      const { plugins } = JSON.parse((await svc(['plugin', 'list', '--json'], { env })).out) as {
        readonly plugins: readonly Line[]
      }
      const late = plugins.find(({ name }) => name === 'late')
      assert.is(late?.state, 'failed')
      assert.match(String(late?.error), 'an error that may be its own has ended the service 2 times in a row')
      assert.match((await svc(['health'], { env })).out, /late +\S+ +down/)
    })
    assert.is(third.code, 0)
    assert.ok(third.lines.some(({ msg, plugin }) => msg === 'plugin failed' && plugin === 'late'))
    assert.match((await svc(['doctor', ...place])).out, /late@1\.0\.0-\w{8} is not loaded: an error/)
    const away = await svc(['plugin', 'uninstall', 'late', '--url', 'http://127.0.0.1:1'])
    assert.match(away.err, 'svc plugin uninstall late --offline')
    const removed = await svc(['plugin', 'uninstall', 'late', '--offline', ...place])
    assert.is(removed.code, 0, removed.err)
    assert.equal((await readdir(join(folder.path, 'plugins'))).sort(), ['contents.json', 'state.json'])
    assert.equal(JSON.parse(await readFile(join(folder.path, 'plugins', 'state.json'), 'utf8')), {})
  },
)

crash(
  'leaves a plugin alone that was disabled offline, and every installed one in safe mode, and says so',
  async () => {
    await using folder = await tempDir()
    const place = ['--data-dir', folder.path]
    await svc(['node', 'init', ...place])
    await install(folder.path, 'deadly', 'process.exit(7)')
    const safe = await live(folder.path, ['--safe-mode'], async (env) => {
      const health = await svc(['health', '--json'], { env })
      assert.match(health.out, /safe mode; left alone: deadly@1\.0\.0/)
      assert.match((await svc(['plugin', 'list'], { env })).out, /deadly +1\.0\.0 +feature +disabled/)
    })
    assert.is(safe.code, 0)
    assert.ok(safe.lines.some(({ msg }) => msg === 'safe mode: installed plugins are left alone'))
    const off = await svc(['plugin', 'disable', 'deadly', '--offline', ...place])
    assert.is(off.code, 0, off.err)
    assert.match((await svc(['doctor', ...place])).out, 'disabled: deadly')
    const { code, lines } = await live(folder.path, [], async (env) => {
      assert.match((await svc(['plugin', 'list'], { env })).out, /deadly +1\.0\.0 +feature +disabled/)
    })
    assert.is(code, 0)
    assert.not.ok(lines.some(({ msg, plugin }) => msg === 'plugin loaded' && plugin === 'deadly'))
  },
)

crash.run()
