import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { keepAlive } from '../harness/keep-alive.ts'
import { childrenOf, openFiles } from '../harness/open-files.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { processPluginSource } from '../harness/plugins/process-plugin.ts'
import { type Answer, type Service, startService, until } from '../harness/service.ts'

const isolation = suite('e2e/isolation')
const SECRET = 'a-value-of-the-environment-that-no-child-may-see'
const OWN_PROCESS = { isolation: 'process', provides: ['apart.word'] }

let dataDir = ''
let service: Service
isolation.before(
  async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-e2e-'))
    service = await startService({ dataDir, env: { MY_SECRET: SECRET, NODE_OPTIONS: '--no-warnings' } })
    install('1.0.0')
    installVersion(dataDir, {
      id: 'user',
      version: '1.0.0',
      manifest: { requires: ['apart.word'] },
      code: sourceOf({
        setup: "const word = context.use({ id: 'apart.word' })",
        routes: `{
          method: 'GET', path: '/v1/user/word', role: 'viewer', summary: 'x',
          handle: async () => ({ body: { word: await word.word() } }),
        },`,
      }),
    })
    for (const id of ['apart', 'user']) {
      const { status, body } = await service.request('POST', `/v1/plugins/${id}/load`)
      assert.is(status, 200, JSON.stringify(body))
    }
  },
  { limitMs: 30_000 },
)
isolation.after(
  async () => {
    if (service === undefined) return
    await service.kill()
    rmSync(dataDir, { recursive: true, force: true })
  },
  { limitMs: 20_000 },
)

function install(version: string, setup = ''): void {
  installVersion(dataDir, {
    id: 'apart',
    version,
    code: processPluginSource({ setup }),
    manifest: OWN_PROCESS,
  })
}

function get(path = '/v1/apart'): Promise<Answer> {
  return service.request('GET', path)
}

/** The pid of the child that answers now. */
async function pidOf(): Promise<number> {
  const { status, body } = await get()
  assert.is(status, 200, JSON.stringify(body))
  return body.pid
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

interface Component {
  readonly name: string
  readonly status: string
  readonly detail: string
}

async function componentOf(name: string): Promise<Component | undefined> {
  const { components } = (await get('/v1/health')).body
  return components.find((component: Component) => component.name === name)
}

isolation(
  'serves the routes and the service of a plugin from a process of its own',
  async () => {
    const pid = await pidOf()
    assert.is.not(pid, service.child.pid)
    assert.ok(childrenOf(service.child.pid).includes(pid))
    assert.equal((await get('/v1/user/word')).body, { word: `from ${pid}` })
    const { plugins } = (await get('/v1/plugins')).body
    const record = plugins.find(({ name }: Component) => name === 'apart')
    assert.equal([record.state, record.isolation], ['running', 'process'])
    await until(async () => (await componentOf('apart'))?.detail === `pid ${pid}`)
  },
  { limitMs: 15_000 },
)

isolation('gives the process no credential, no store and no file of the service', async () => {
  const { body } = await get()
  assert.is(body.hasDatabase, false)
  assert.is(body.authorization, null)
  const seen = [
    readFileSync(`/proc/${body.pid}/environ`, 'utf8'),
    readFileSync(`/proc/${body.pid}/cmdline`, 'utf8'),
    JSON.stringify(body),
  ].join('\n')
  assert.not.match(seen, 'SVC_ADMIN_TOKEN')
  assert.not.match(seen, service.adminToken)
  assert.not.match(seen, SECRET)
  assert.equal(
    Object.keys(body.environment)
      .filter((name) => !['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'].includes(name))
      .filter((name) => !name.startsWith('NODE_CHANNEL')),
    [],
  )
  const files = openFiles(body.pid)
  assert.equal(
    files.filter((file) => file.startsWith(dataDir)),
    [],
  )
  assert.equal(
    files.filter((file) => /\.db\b|secrets|\.pem|vault/.test(file)),
    [],
  )
  // What whoever runs the tests has left open is open in everybody.
  const inherited = openFiles(process.pid)
  const shared = openFiles(service.child.pid).filter(
    (file) => /^(socket|pipe):/.test(file) && !inherited.includes(file),
  )
  assert.equal(
    files.filter((file) => shared.includes(file)),
    [],
    'no end of a pipe or socket of the service is open in the child',
  )
})

isolation(
  'answers 503 while a killed process is away, shows it, and starts it again',
  async () => {
    const first = await pidOf()
    const client = keepAlive(service)
    const inFlight = client.send('GET', '/v1/apart/slow')
    await until(async () => (await get()).status === 200)
    process.kill(first, 'SIGKILL')
    const cut = await inFlight
    client.close()
    assert.is(cut.status, 503, 'a request in flight is answered')
    assert.is(JSON.parse(cut.text).error.code, 'not_ready')

    const away = await get()
    assert.is(away.status, 503)
    assert.is(away.body.error.code, 'not_ready')
    assert.match(away.body.error.message, /the plugin apart is restarting/)
    assert.ok(Number(away.headers.get('retry-after')) > 0)
    const word = await get('/v1/user/word')
    assert.is(word.status, 503, JSON.stringify(word.body))
    assert.is((await get('/v1/user')).status, 200, 'others are served')
    assert.is((await get('/v1/policy')).status, 200)

    await until(async () => (await get()).status === 200)
    const second = await pidOf()
    assert.is.not(second, first)
    assert.equal((await get('/v1/user/word')).body, { word: `from ${second}` })

    // Each end in a row doubles the pause: long enough for a health check to see it.
    const pauses: number[] = []
    for (let kill = 0; kill < 2; kill += 1) {
      process.kill(await pidOf(), 'SIGKILL')
      const killedMs = performance.now()
      if (kill === 1) await until(async () => (await componentOf('apart'))?.status === 'down', 8_000)
      await until(async () => (await get()).status === 200, 15_000)
      pauses.push(performance.now() - killedMs)
    }
    assert.ok((pauses[1] ?? 0) > (pauses[0] ?? 0), `the pauses were ${pauses} ms`)
    await until(async () => (await componentOf('apart'))?.status === 'ok')
    assert.match((await componentOf('apart'))?.detail ?? '', `pid ${await pidOf()}`)
    process.stdout.write(
      `\n# killed process answered again after ${pauses.map((ms) => Math.round(ms)).join(' and ')} ms (second and third end in a row)\n`,
    )
  },
  { limitMs: 60_000 },
)

for (const [version, setup, reason] of [
  ['1.1.0', 'process.exit(3)', /step setup: .*exit code 3/],
  ['1.1.1', "process.kill(process.pid, 'SIGSEGV')", /step setup: .*SIGSEGV/],
  ['1.1.2', "throw new Error('no setup today')", /step setup: no setup today/],
] as const)
  isolation(`refuses a version that does ${setup} in setup; the one before runs on`, async () => {
    const pid = await pidOf()
    install(version, setup)
    const { status, body } = await service.request('POST', '/v1/plugins/apart/load', { body: { version } })
    assert.is(status, 409, JSON.stringify(body))
    assert.is(body.error.code, 'plugin_state_conflict')
    assert.match(body.error.message, reason)
    assert.is(await pidOf(), pid, 'the same process serves')
    await until(async () => childrenOf(service.child.pid).length === 1)
  })

isolation(
  'refuses migrations, mutating routes and an exit at the import',
  async () => {
    const pid = await pidOf()
    for (const [version, code, reason] of [
      [
        '1.2.0',
        sourceOf({ plugin: "migrations: [{ id: '0001_a', up: ['create table apart_a (a text)'] }]," }),
        /no tables/,
      ],
      [
        '1.2.1',
        sourceOf({
          routes:
            "{ method: 'POST', path: '/v1/apart/x', role: 'operator', audit: 'apart.x', summary: 'x', handle: async () => ({}) },",
        }),
        /route POST \/v1\/apart\/x may change desired state/,
      ],
      ['1.2.2', 'process.exit(5)', /step import: .*exit code 5/],
    ] as const) {
      installVersion(dataDir, {
        id: 'apart',
        version,
        code,
        manifest: { isolation: 'process', provides: ['apart.word'] },
      })
      const { status, body } = await service.request('POST', '/v1/plugins/apart/load', { body: { version } })
      assert.is(status, 409, JSON.stringify(body))
      assert.match(body.error.message, reason)
    }
    assert.is(await pidOf(), pid)
    await until(async () => childrenOf(service.child.pid).length === 1)
  },
  { limitMs: 15_000 },
)

isolation(
  'upgrades to a new process under load without a lost request, and ends the old one',
  async () => {
    const old = await pidOf()
    let isOver = false
    const bad: unknown[] = []
    const clients = Array.from({ length: 4 }, async () => {
      const client = keepAlive(service)
      while (!isOver) {
        const heard = await client
          .send('GET', '/v1/apart')
          .catch((error: unknown) => ({ status: 0, text: String(error) }))
        if (heard.status !== 200) bad.push(heard)
      }
      assert.is(client.connections, 1)
      client.close()
    })
    const slow = get('/v1/apart/slow')
    install('1.3.0')
    const { status, body } = await service.request('POST', '/v1/plugins/apart/load')
    assert.equal([status, body.version], [200, '1.3.0'], JSON.stringify(body))
    isOver = true
    await Promise.all(clients)
    assert.equal(bad, [])
    assert.equal((await slow).body, { pid: old }, 'a slow request ends in the process that began it')
    const next = await pidOf()
    assert.is.not(next, old)
    assert.is(isAlive(old), false)
    assert.equal(childrenOf(service.child.pid), [next])
  },
  { limitMs: 20_000 },
)

isolation(
  'ends its process when it is unloaded, and when the service stops or is killed',
  async () => {
    const unloaded = await pidOf()
    assert.is((await service.request('POST', '/v1/plugins/user/unload')).status, 200)
    assert.is((await service.request('POST', '/v1/plugins/apart/unload')).status, 200)
    assert.is(isAlive(unloaded), false)
    assert.equal([(await get()).status, (await get()).body.error.code], [404, 'feature_not_installed'])

    assert.is(
      (await service.request('POST', '/v1/plugins/apart/load', { body: { version: '1.3.0' } })).status,
      200,
    )
    const stopped = await pidOf()
    assert.is(await service.stop(), 0)
    assert.is(isAlive(stopped), false)

    service = await startService({ dataDir })
    await service.request('POST', '/v1/plugins/apart/load', { body: { version: '1.3.0' } })
    const orphan = await pidOf()
    await service.kill()
    await until(async () => !isAlive(orphan), 5_000)
  },
  { limitMs: 40_000 },
)

isolation.run()
