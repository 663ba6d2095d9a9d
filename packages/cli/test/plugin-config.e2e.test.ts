import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import { cleanEnv, MAIN, svc } from './svc.ts'

const config = suite('cli/plugin-config')
const ADMIN = 'admin-of-this-test-0123456789'
const SECRET = `sesame-${randomBytes(12).toString('hex')}`
const EVENTUALLY_MS = 90_000

const SCHEMA = {
  properties: {
    beacon: {
      required: ['url'],
      properties: {
        url: { description: 'Where the beacon is.', type: 'string', format: 'url', minLength: 1 },
        level: { type: 'integer', minimum: 1, default: 1, 'x-env': { name: 'SVC_BEACON_LEVEL' } },
        api_key: { type: 'string', default: '', 'x-secret': true },
      },
    },
  },
}
const MANIFEST = {
  id: 'beacon',
  kind: 'feature',
  contracts: '*',
  config_path: 'beacon',
  config: './config.schema.json',
  errors: [{ code: 'beacon_dark', status: 409, meaning: 'the beacon gives no light' }],
  metrics: { svc_beacon_flashes_total: 'Flashes.' },
  paths: { '/v1/beacon': { group: 'Beacons', about: 'Lights that warn.' } },
  handover: 'overlap',
}
const CODE = `
import { createHash } from 'node:crypto'
import { defineError } from '@steeple/contracts'
const dark = defineError('beacon_dark', 409, 'beacon %s is dark')
const other = defineError('beacon_unsaid', 409, 'never declared')
const get = (path, handle, errors) => ({ method: 'GET', path, role: 'viewer', summary: 'test', handle, errors })
export const plugin = {
  setup: async (context) => {
    context.metrics.counter('svc_beacon_flashes_total', 'Flashes.').inc()
    return {
      routes: [
        get('/v1/beacon', async () => {
          const secret = await context.secret('api_key')
          context.log.info({ secretly: 'it is ' + secret }, 'asked')
          const known = secret === undefined ? null : createHash('sha256').update(secret).digest('hex')
          return { status: 200, body: { config: context.config, known } }
        }),
        get('/v1/beacon/dark', async () => { throw dark('north') }, ['beacon_dark']),
        get('/v1/beacon/unsaid', async () => { throw other() }),
      ],
    }
  },
}
`

interface Node {
  readonly folder: TempDir
  readonly file: string
  readonly log: string[]
  child: ChildProcess
  env: Readonly<Record<string, string>>
}

async function write({ file, folder }: Pick<Node, 'file' | 'folder'>, text: string): Promise<void> {
  await writeFile(file, `server: {data_dir: ${join(folder.path, 'data')}}\n${text}`)
}

async function launch(file: string, log: string[]): Promise<Pick<Node, 'child' | 'env'>> {
  const child = spawn(
    process.execPath,
    ['--no-warnings', MAIN, '--config', file, '--listen', '127.0.0.1:0', '--log-level', 'debug'],
    { env: cleanEnv({ SVC_ADMIN_TOKEN: ADMIN }), stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const url = Promise.withResolvers<string>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    log.push(line)
    const said = JSON.parse(line) as { readonly msg?: string; readonly url?: string }
    if (said.msg === 'listening') url.resolve(said.url ?? '')
  })
  child.once('exit', () => url.reject(new Error(`the service ended: ${log.join('\n')}`)))
  return { child, env: { SVC_URL: await url.promise, SVC_ADMIN_TOKEN: ADMIN } }
}

async function start(text: string): Promise<Node> {
  const folder = await tempDir()
  const file = join(folder.path, 'control.yaml')
  await write({ file, folder }, text)
  await svc(['node', 'init', '--data-dir', join(folder.path, 'data')])
  const log: string[] = []
  return { folder, file, log, ...(await launch(file, log)) }
}

async function stop(node: Node): Promise<void> {
  if (node.child.exitCode !== null) return
  node.child.kill('SIGTERM')
  await once(node.child, 'exit')
}

async function plugin(root: string): Promise<string> {
  const dir = join(root, 'beacon')
  await mkdir(dir)
  const manifest = {
    name: 'beacon',
    version: '1.0.0',
    exports: './plugin.js',
    type: 'module',
    steeple: MANIFEST,
  }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(dir, 'config.schema.json'), JSON.stringify(SCHEMA))
  await writeFile(join(dir, 'plugin.js'), CODE)
  return dir
}

interface Answer {
  readonly status: number
  // Tests look into bodies of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: read by assertions only
  readonly body: any
}

async function get({ env }: Node, path: string): Promise<Answer> {
  const response = await fetch(`${env.SVC_URL}${path}`, { headers: { authorization: `Bearer ${ADMIN}` } })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

async function stateOf({ env }: Node): Promise<string | undefined> {
  const { out } = await svc(['plugin', 'list', '--json'], { env })
  const { plugins } = JSON.parse(out) as { readonly plugins: readonly { name: string; state: string }[] }
  return plugins.find(({ name }) => name === 'beacon')?.state
}

config(
  'takes a section with its plugin: load, then SIGHUP, and reloads, forgives and outlives it without a restart',
  async () => {
    const node = await start('tac: 9\n')
    try {
      const place = ['--config', node.file]
      const dir = await plugin(node.folder.path)
      const load = await svc(['plugin', 'load', '--allow-unsigned', dir, ...place, '--json'], {
        env: node.env,
      })
      assert.is(load.code, 0, load.err)
      assert.match(load.out, '"state": "needs_config"')
      assert.match(load.out, 'beacon needs the key url (Where the beacon is); set it and send SIGHUP')
      const early = await svc(['config', 'check', node.file])
      assert.is(early.code, 1)
      assert.match(early.err, 'beacon needs the key url (Where the beacon is)')
      assert.match((await svc(['doctor', ...place])).out, /beacon needs the key url/)

      await write(node, 'tac: 9\nbeacon: {url: "http://north", level: 0}\n')
      node.child.kill('SIGHUP')
      await eventually(async () => {
        const { out } = await svc(['plugin', 'list'], { env: node.env })
        assert.match(out, /^beacon .*needs_config/m)
        assert.match(out, 'beacon.level must be at least 1, not 0; correct it and send SIGHUP')
      }, EVENTUALLY_MS)

      await write(node, 'tac: 9\nbeacon: {url: "http://north"}\n')
      assert.is((await svc(['config', 'check', node.file])).out, 'ok\n')
      node.child.kill('SIGHUP')
      await eventually(async () => assert.is(await stateOf(node), 'running'), EVENTUALLY_MS)
      const first = await get(node, '/v1/beacon')
      assert.equal(first.body.config, { url: 'http://north', level: 1, api_key: '' })

      await write(node, 'tac: 9\nbeacon: {url: "http://north", level: 2}\n')
      node.child.kill('SIGHUP')
      await eventually(
        async () => assert.is((await get(node, '/v1/beacon')).body.config.level, 2),
        EVENTUALLY_MS,
      )

      await write(node, 'tac: 9\nbeacon: {url: "http://north", level: 2, lamp: 3}\n')
      node.child.kill('SIGHUP')
      await eventually(
        () => assert.ok(node.log.some((line) => /"level":"warn".*beacon\.lamp is no key/.test(line))),
        EVENTUALLY_MS,
      )
      assert.is((await get(node, '/v1/beacon')).body.config.level, 2, 'it goes on')

      await write(node, 'tac: 10\nbeacon: {url: "http://north", level: 0}\n')
      assert.match(
        (await svc(['config', 'check', node.file])).err,
        ':3:38: beacon.level must be at least 1, not 0',
      )
      node.child.kill('SIGHUP')
      await eventually(async () => assert.is((await get(node, '/v1/status')).body.tac, 10), EVENTUALLY_MS)
      assert.is((await get(node, '/v1/beacon')).body.config.level, 2, 'its own mistake costs it nothing')

      await write(node, 'tac: 10\nbeacon: {url: "http://north"}\n')
      await stop(node)
      Object.assign(node, await launch(node.file, node.log))
      await eventually(async () => assert.is(await stateOf(node), 'running'), EVENTUALLY_MS)
      assert.is((await svc(['plugin', 'uninstall', 'beacon'], { env: node.env })).code, 0)
      const left = await svc(['config', 'check', node.file])
      assert.is(left.code, 0)
      assert.match(left.out, 'beacon is a section of no plugin of this build and of none that is installed')
      await stop(node)
      Object.assign(node, await launch(node.file, node.log))
      await eventually(async () => assert.is((await get(node, '/v1/status')).body.tac, 10), EVENTUALLY_MS)
    } finally {
      await stop(node)
      await node.folder.remove()
    }
  },
)

config(
  "answers with a plugin's own error codes, groups its routes, lets alerts name its metrics, and keeps its secret",
  async () => {
    const node = await start('beacon: {url: "http://north"}\n')
    try {
      const dir = await plugin(node.folder.path)
      const load = await svc(['plugin', 'load', '--allow-unsigned', dir, '--config', node.file], {
        env: node.env,
      })
      assert.is(load.code, 0, load.err)
      const dark = await get(node, '/v1/beacon/dark')
      assert.equal(
        [dark.status, dark.body.error],
        [409, { code: 'beacon_dark', message: 'beacon north is dark' }],
      )
      assert.is((await get(node, '/v1/beacon/unsaid')).body.error.code, 'internal')
      const { body: api } = await get(node, '/v1/openapi.json')
      assert.equal(
        api['x-error-codes'].find(({ code }: { code: string }) => code === 'beacon_dark'),
        MANIFEST.errors[0],
      )
      assert.ok(JSON.stringify(api.paths['/v1/beacon/dark'].get.responses['409']).includes('beacon_dark'))
      assert.ok(api.tags.some(({ name }: { name: string }) => name === 'Beacons'))
      assert.equal(api.paths['/v1/beacon'].get.tags, ['Beacons'])

      const text = String((await get(node, '/metrics')).body)
      const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
      assert.ok(names.includes('svc_beacon_flashes_total') && names.length > 25, String(names.length))
      const rules = names.map(
        (metric, index) =>
          `{name: r${index}, metric: ${metric}, op: ">", threshold: 1, for: 1m, severity: info}`,
      )
      await write(node, `beacon: {url: "http://north"}\nalerts: {rules: [${rules.join(', ')}]}\n`)
      const check = await svc(['config', 'check', node.file])
      assert.is(check.code, 0, check.err)

      assert.is((await get(node, '/v1/beacon')).body.known, null)
      const set = await svc(['secret', 'set', 'beacon', 'api_key'], { env: node.env, input: `${SECRET}\n` })
      assert.is(set.code, 0, set.err)
      const hash = createHash('sha256').update(SECRET).digest('hex')
      assert.is((await get(node, '/v1/beacon')).body.known, hash)
      assert.match((await svc(['secret', 'list', 'beacon'], { env: node.env })).out, /api_key +store/)
      const unknown = await svc(['secret', 'set', 'beacon', 'url'], { env: node.env, input: 'x' })
      assert.is(unknown.code, 1)
      assert.match(unknown.err, 'it has api_key')
      const audit = await svc(['audit', 'list', '--json'], { env: node.env })
      assert.match(audit.out, 'plugin.secret.set')
      await stop(node)
      const rotation = await svc(['vault', 'rotate', '--config', node.file])
      assert.is(rotation.code, 0, rotation.err)
      Object.assign(node, await launch(node.file, node.log))
      await eventually(
        async () => assert.is((await get(node, '/v1/beacon')).body.known, hash, 'after the rotation'),
        EVENTUALLY_MS,
      )
      await stop(node)
      const said = [load, check, set, unknown, audit, rotation].map(({ out, err }) => out + err)
      assert.ok(node.log.some((line) => line.includes('"asked"')))
      for (const place of [...said, ...node.log]) assert.not.ok(place.includes(SECRET), place)
      for (const entry of await readdir(node.folder.path, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue
        const path = join(entry.parentPath, entry.name)
        assert.not.ok((await readFile(path)).includes(SECRET), path)
      }
    } finally {
      await stop(node)
      await node.folder.remove()
    }
  },
)

config.run()
