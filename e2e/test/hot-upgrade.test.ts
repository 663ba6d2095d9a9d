import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Heard, type KeepAlive, keepAlive } from '../harness/http-client.ts'
import { type Footprint, INSPECTOR_FLAGS, type Inspector, openInspector } from '../harness/inspector.ts'
import { type Load, startLoad, type Task } from '../harness/load.ts'
import { lastingFiles } from '../harness/open-files.ts'
import { hotPluginSource } from '../harness/plugins/hot-plugin.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Answer, type Service, startService } from '../harness/service.ts'

/**
 * Bytes of heap that one imported module of this text costs for good, set up or not: modules are never unloaded.
 * Measured in a process of its own over `count` modules that differ in one line.
 */
async function moduleCost(source: string, count: number): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', '--no-warnings', '-e', SCRIPT],
    {
      env: { SOURCE: source, COUNT: String(count), CONTRACTS: import.meta.resolve('@steeple/contracts') },
    },
  )
  return Number(stdout)
}

/** The URL of each module names a file that does not exist; the hook gives the text, as the service's loader does. */
const SCRIPT = `
const { registerHooks } = require('node:module')
const { SOURCE, COUNT, CONTRACTS } = process.env
const modules = new Map()
registerHooks({
  resolve: (specifier, context, next) =>
    modules.has(specifier)
      ? { url: specifier, shortCircuit: true }
      : next(specifier === '@steeple/contracts' ? CONTRACTS : specifier, context),
  load: (url, context, next) => {
    const source = modules.get(url)
    if (source === undefined) return next(url, context)
    modules.set(url, null)
    return { format: 'module', source, shortCircuit: true }
  },
})
const bring = async (index) => {
  const url = 'file:///tmp/plugins/hot@1.0.' + index + '-00000000/plugin.js?sha=' + String(index).padStart(8, '0')
  modules.set(url, Buffer.from('// ' + index + '\\n' + SOURCE))
  await (await import(url)).plugin.migrations
}
const heap = async () => {
  for (let n = 0; n < 4; n++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}
const main = async () => {
  for (let index = 0; index < 20; index++) await bring(index)
  const before = await heap()
  for (let index = 20; index < 20 + Number(COUNT); index++) await bring(index)
  process.stdout.write(String(Math.round(((await heap()) - before) / Number(COUNT))))
}
main()
`

const UPGRADES = 100
/** Caches have filled and lazy code is compiled by then. */
const SETTLED_AFTER = 20
/** The heap is looked at here too: what a busy machine fills or compiles late grows in one of both stretches alone. */
const HALFWAY = 60
const CONNECTIONS = 16
/**
 * What the service keeps of a version beside its module: its manifest, its record of contents, its name in lists, its
 * place in maps. 13 KiB are seen with the heap's own pace, 22 to 28 KiB with the slow growth that floods need, 33 KiB on a
 * busy machine, though no object of an old copy is reachable (asserted above). One that stayed would show outside of the
 * heap too, by its ballast.
 */
const KEPT_BYTES_PER_VERSION = 65_536
const hot = suite('e2e/hot-upgrade')

let service: Service
let inspector: Inspector
hot.before(async () => {
  service = await startService({ nodeFlags: INSPECTOR_FLAGS })
  inspector = await openInspector(service)
  install(0)
  assert.is((await load()).status, 200)
})
hot.after(async () => {
  if (inspector === undefined) return
  inspector.close()
  assert.is(await service.stop(), 0)
})

function install(patch: number): void {
  const version = versionOf(patch)
  installVersion(service.dataDir, {
    id: 'hot',
    version,
    code: hotPluginSource(version),
    manifest: { provides: ['hot.version'] },
  })
}

function versionOf(patch: number): string {
  return `1.0.${patch}`
}

function load(body: object = {}): Promise<Answer> {
  return service.request('POST', '/v1/plugins/hot/load', { body })
}

/** What is known of the versions while the load runs. */
interface Progress {
  /** Patch of the version whose load was answered last, and of the one that is being loaded. */
  loaded: number
  loading: number
  /** Names of the items whose creation was answered. */
  readonly created: string[]
  replays: number
  streams: number
}

function patchFrom(heard: Heard): number {
  const { version } = JSON.parse(heard.text)
  const patch = /^1\.0\.(\d+)$/.exec(String(version))?.[1]
  if (patch === undefined) throw new Error(`no version in ${heard.text}`)
  return Number(patch)
}

function expectStatus(heard: Heard, status: number): void {
  if (heard.status !== status) throw new Error(`answered ${heard.status}: ${heard.text}`)
}

/** Reads a route of the plugin: the version never goes back, and is that of the last answered load or later. */
function reader(progress: Progress, path: string): Task {
  let seen = 0
  return async (client) => {
    const least = Math.max(seen, progress.loaded)
    const heard = await client.send('GET', path)
    expectStatus(heard, 200)
    seen = patchFrom(heard)
    if (seen < least || seen > progress.loading)
      throw new Error(`${path} said 1.0.${seen}, expected 1.0.${least} to 1.0.${progress.loading}`)
  }
}

/** Adds an item, and now and then sends the same request again: same answer, nothing added. */
function writer(progress: Progress, who: number): Task {
  let last: { readonly name: string; readonly text: string } | undefined
  return async (client, turn) => {
    if (last !== undefined && turn % 5 === 4) {
      const again = await create(client, last.name)
      expectStatus(again, 201)
      if (again.text !== last.text || again.headers['idempotency-replayed'] !== 'true')
        throw new Error(`a repeated request was answered otherwise: ${again.text}`)
      progress.replays += 1
      return
    }
    const name = `item-${who}-${turn}`
    const least = progress.loaded
    const heard = await create(client, name)
    expectStatus(heard, 201)
    if (patchFrom(heard) < least) throw new Error(`${name} was added by ${heard.text}`)
    progress.created.push(name)
    last = { name, text: heard.text }
  }
}

function create(client: KeepAlive, name: string): Promise<Heard> {
  return client.send('POST', '/v1/hot/items', { body: { name }, headers: { 'idempotency-key': name } })
}

/** Reads a route of another plugin. */
function bystander(path: string, field: string): Task {
  return async (client) => {
    const heard = await client.send('GET', path)
    expectStatus(heard, 200)
    if (!(field in JSON.parse(heard.text))) throw new Error(`${path} answered ${heard.text}`)
  }
}

/** Listens to the plugin's stream until the copy that sends it leaves: it says bye, and the same copy said hello. */
function listener(progress: Progress): Task {
  return async (client) => {
    const { status, text } = await client.stream('/v1/hot/stream', () => undefined)
    const said = [...text.matchAll(/^event: (hello|bye)\ndata: \{"version":"1\.0\.(\d+)"\}$/gm)]
    const [hello, bye] = said
    if (status !== 200 || hello?.[1] !== 'hello' || bye?.[1] !== 'bye' || hello[2] !== bye[2])
      throw new Error(`the stream was ${status} ${JSON.stringify(text)}`)
    progress.streams += 1
  }
}

function everyTask(progress: Progress): readonly Task[] {
  const tasks = [
    ...Array.from({ length: 5 }, () => reader(progress, '/v1/hot')),
    ...Array.from({ length: 2 }, () => reader(progress, '/v1/hot/slow')),
    ...Array.from({ length: 3 }, (_, who) => writer(progress, who)),
    bystander('/v1/policy', 'revision'),
    bystander('/v1/policy', 'revision'),
    bystander('/v1/tokens', 'tokens'),
    bystander('/v1/tokens', 'tokens'),
    bystander('/v1/healthz', 'status'),
    bystander('/v1/plugins', 'plugins'),
  ]
  assert.is(tasks.length, CONNECTIONS)
  return tasks
}

interface Measured extends Footprint {
  readonly files: readonly string[]
}

/** Measures while the clients rest and the stream, if any, is open. */
function measure(clients: Load): Promise<Measured> {
  return clients.whileQuiet(async () => ({
    ...(await inspector.footprint()),
    files: (await lastingFiles(service.child.pid)).toSorted(),
  }))
}

async function upgradeTo(patch: number, progress: Progress): Promise<number> {
  install(patch)
  progress.loading = patch
  const startedMs = performance.now()
  const answer = await load()
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  assert.is(answer.body.version, versionOf(patch))
  assert.is(answer.body.state, 'running')
  progress.loaded = patch
  return performance.now() - startedMs
}

/** Versions of the copies of which something is still reachable, by what that is. */
async function alive(): Promise<Readonly<Record<string, readonly string[]>>> {
  const text = await inspector.evaluate(
    `JSON.stringify(Object.groupBy(
      globalThis.hotCopies.filter(({ reference }) => reference.deref() !== undefined), ({ what }) => what))`,
  )
  const groups: Readonly<Record<string, readonly { readonly version: string }[]>> = JSON.parse(String(text))
  return Object.fromEntries(
    Object.entries(groups).map(([what, copies]) => [what, copies.map(({ version }) => version)]),
  )
}

async function metricsText(): Promise<string> {
  return (await service.request('GET', '/metrics')).body
}

hot(
  `upgrades a plugin ${UPGRADES} times under ${CONNECTIONS} connections and loses, resets and leaks nothing`,
  async () => {
    const progress: Progress = { loaded: 0, loading: 0, created: [], replays: 0, streams: 0 }
    const clients = startLoad(service, everyTask(progress))
    const stop = { isOver: false }
    const streaming = listenOn(progress, stop)
    const times: number[] = []
    let before: Measured | undefined
    let halfway: Measured | undefined
    for (let patch = 1; patch <= UPGRADES; patch += 1) {
      times.push(await upgradeTo(patch, progress))
      if (patch === SETTLED_AFTER) before = await measure(clients)
      if (patch === HALFWAY) halfway = await measure(clients)
    }
    assert.ok(before)
    assert.ok(halfway)
    const after = await measure(clients)
    const left = await clients.whileQuiet(alive)
    await clients.stop()
    stop.isOver = true
    progress.loading = UPGRADES + 1
    await upgradeTo(UPGRADES + 1, progress)
    const streamProblems = await streaming

    assert.equal(clients.problems, [])
    assert.equal(streamProblems, [])
    assert.is(clients.connections, CONNECTIONS, 'every client kept its one connection')
    assert.ok(progress.streams >= UPGRADES / 2, `${progress.streams} streams ended with their copy`)
    const { items } = (await service.request('GET', '/v1/hot/items')).body
    assert.is(items, progress.created.length)

    assert.equal(Object.keys(left).sort(), [
      'ballast',
      'context',
      'instance',
      'reconciler',
      'route',
      'service',
      'signal',
    ])
    for (const [what, versions] of Object.entries(left))
      assert.equal(versions, [versionOf(UPGRADES)], `${what} of an old copy is still reachable`)
    assert.ok(after.files.length <= before.files.length, `files: ${before.files} then ${after.files}`)
    assert.ok(after.timers <= before.timers + 2, `timers: ${before.timers} then ${after.timers}`)
    assert.is(after.listeners, before.listeners)

    const upgrades = UPGRADES - SETTLED_AFTER
    const growths = [
      (halfway.heapUsed - before.heapUsed) / (HALFWAY - SETTLED_AFTER),
      (after.heapUsed - halfway.heapUsed) / (UPGRADES - HALFWAY),
    ]
    const growth = Math.min(...growths)
    const cost = await moduleCost(hotPluginSource('1.0.0'), upgrades)
    const sorted = times.toSorted((a, b) => a - b)
    process.stdout.write(
      `\n# ${clients.answered} requests on ${clients.connections} connections, ${progress.created.length} writes, ` +
        `${progress.replays} replays and ${progress.streams} streams over ${UPGRADES} upgrades: 0 lost, 0 reset\n` +
        `# an upgrade took ${Math.round(sorted[UPGRADES / 2] ?? 0)} ms in the middle, ${Math.round(sorted.at(-1) ?? 0)} ms at most, its slow requests included\n` +
        `# heap per upgrade ${growths.map((bytes) => (bytes / 1024).toFixed(1)).join(' then ')} KiB, of which the module alone ${(cost / 1024).toFixed(1)} KiB; ` +
        `external ${((after.external - before.external) / upgrades / 1024).toFixed(1)} KiB; ` +
        `files ${before.files.length} → ${after.files.length}, timers ${before.timers} → ${after.timers}\n`,
    )
    assert.ok(
      growth <= cost + KEPT_BYTES_PER_VERSION,
      `the heap grew by ${growths} bytes per upgrade, a module costs ${cost}`,
    )
    assert.ok(after.external - before.external < upgrades * 16_384, 'memory outside of the heap grew')
  },
)

/** Keeps one stream open all the time, on a connection of its own; gives the problems. */
async function listenOn(progress: Progress, stop: { isOver: boolean }): Promise<readonly string[]> {
  const client = keepAlive(service)
  const task = listener(progress)
  const problems: string[] = []
  while (!stop.isOver) {
    await task(client, 0).catch((error: unknown) => problems.push(String(error)))
  }
  if (client.connections !== 1) problems.push(`the streams used ${client.connections} connections`)
  client.close()
  return problems
}

hot('shows the metrics, health and service of the newest copy alone', async () => {
  const copies = (await metricsText()).match(/^svc_hot_copies\{.*$/gm)
  assert.equal(copies, [`svc_hot_copies{version="${versionOf(UPGRADES + 1)}"} 1`])
  await eventually(async () => {
    const { components } = (await service.request('GET', '/v1/health')).body
    const own = components.filter(({ name }: { readonly name: string }) => name === 'hot')
    return own.length === 1 && own[0].detail.startsWith(versionOf(UPGRADES + 1))
  })
  const { plugins } = (await service.request('GET', '/v1/version')).body
  assert.equal(
    plugins.filter(({ name }: { readonly name: string }) => name === 'hot'),
    [{ name: 'hot', version: versionOf(UPGRADES + 1), pages: [], panels: [] }],
  )
})

hot('goes back to the version before, and forward again', async () => {
  const back = await load({ rollback: true })
  assert.is(back.body.version, versionOf(UPGRADES))
  assert.is((await service.request('GET', '/v1/hot')).body.version, versionOf(UPGRADES))
  const forward = await load()
  assert.is(forward.body.version, versionOf(UPGRADES + 1))
  assert.is((await service.request('GET', '/v1/hot')).body.version, versionOf(UPGRADES + 1))
})

hot(
  'answers for a plugin that was unloaded that the feature is not installed, until it is loaded again',
  async () => {
    const other = keepAlive(service)
    await other.send('GET', '/v1/hot')
    const slow = other.send('GET', '/v1/hot/slow')
    const client = keepAlive(service)
    let heard = ''
    const stream = client.stream('/v1/hot/stream', (text) => {
      heard = text
    })
    await eventually(async () => heard.includes('event: hello'))
    assert.is((await service.request('POST', '/v1/plugins/hot/unload')).body.state, 'unloaded')
    assert.match((await stream).text, /event: bye/)
    assert.is((await slow).status, 200, 'a request in flight is finished')
    client.close()
    other.close()
    for (const [method, path] of [
      ['GET', '/v1/hot'],
      ['GET', '/v1/hot/slow'],
      ['POST', '/v1/hot/items'],
    ] as const) {
      const { status, body } = await service.request(
        method,
        path,
        method === 'POST' ? { body: { name: 'x' } } : {},
      )
      assert.is(status, 404)
      assert.is(body.error.code, 'feature_not_installed')
      assert.match(body.error.message, /\bhot\b/)
    }
    assert.is((await service.request('GET', '/v1/policy')).status, 200)
    assert.not.match(await metricsText(), /^svc_hot_/m)
    assert.not.ok('/v1/hot' in (await service.request('GET', '/v1/openapi.json')).body.paths)
    assert.is((await service.request('POST', '/v1/plugins/hot/reload')).body.state, 'running')
    assert.is((await service.request('GET', '/v1/hot')).body.version, versionOf(UPGRADES + 1))
    assert.is((await service.request('POST', '/v1/hot/items', { body: { name: 'later' } })).status, 201)
  },
)

hot('starts a new copy of the same version at a reload', async () => {
  const before = (await service.request('GET', '/v1/plugins')).body.plugins.find(
    ({ name }: { readonly name: string }) => name === 'hot',
  )
  await inspector.evaluate('globalThis.hotCopies.length = 0')
  const after = await service.request('POST', '/v1/plugins/hot/reload')
  assert.is(after.status, 200)
  assert.is(after.body.version, before.version)
  assert.ok(after.body.loaded_at > before.loaded_at)
  await inspector.footprint()
  assert.equal((await alive()).instance, [before.version])
})

hot.run()
