import { appendFileSync, chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, stretched, suite } from '@steeple/testkit'
import { type Footprint, INSPECTOR_FLAGS, type Inspector, openInspector } from '../harness/inspector.ts'
import { type Load, startLoad, type Task } from '../harness/load.ts'
import { childrenOf, lastingFiles } from '../harness/open-files.ts'
import {
  FAILING_VERSIONS,
  type FailingVersion,
  HANGING_VERSIONS,
  sourceOf,
} from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Answer, type Service, startService } from '../harness/service.ts'

/** What the service keeps of its log for a support bundle fills up meanwhile (640 KiB of text). */
const LOG_LINES_BYTES = 700_000
/** Between two requests of a client: while a version is tried all of them together send dozens. */
const BETWEEN_MS = 8
/** The same where a version hangs: that lasts for seconds. */
const WHILE_HANGING_MS = 25
const failures = suite('e2e/plugin-failures')
/** The routes and the reconciler that other versions try to take, and a service that somebody requires. */
const BYSTANDER = sourceOf({
  instance: `
    services: new Map([['bystander.word', { word: async () => 'hello' }]]),
    reconcilers: [{ resource: 'bystander', resyncMs: 60000, keys: async () => [], reconcile: async () => new Map() }],`,
  routes: `{
    method: 'GET',
    path: '/v1/bystander/:name',
    role: 'viewer',
    summary: 'x',
    handle: async () => ({ body: { version } }),
  },`,
})
const DEPENDENT = sourceOf({
  setup: "const word = context.use({ id: 'bystander.word' })",
  routes: `{
    method: 'GET',
    path: '/v1/dependent/word',
    role: 'viewer',
    summary: 'x',
    handle: async () => ({ body: { version, word: await word.word() } }),
  },`,
})

/** While a version starts, its routes are served already: the swap comes before the start. */
const STARTED = FAILING_VERSIONS.flatMap(({ step }, index) => (step === 'start' ? [versionAt(index)] : []))

/** A service with three plugins beside its own, and clients that use all of them. */
interface World {
  readonly service: Service
  readonly inspector: Inspector
  readonly clients: Load
}

interface Listed {
  readonly name: string
  readonly version: string
  readonly state: string
  readonly error: string | null
}

let world: World
failures.before(async () => {
  world = await openWorld(STARTED, BETWEEN_MS)
})
failures.after(async () => {
  if (world !== undefined) await closeWorld(world)
})

/** The version as which the failing one with that index is installed. */
function versionAt(index: number): string {
  return `1.${index + 1}.0`
}

/** `started`: versions of the victim that may answer for a while, beside the one that stays. `pauseMs`: of each client. */
async function openWorld(started: readonly string[], pauseMs: number): Promise<World> {
  const service = await startService({
    nodeFlags: INSPECTOR_FLAGS,
    env: { SVC_PLUGINS_DISABLED: 'sleepy' },
  })
  const { dataDir } = service
  installVersion(dataDir, { id: 'victim', version: '1.0.0', code: sourceOf() })
  installVersion(dataDir, {
    id: 'bystander',
    version: '1.0.0',
    code: BYSTANDER,
    manifest: { provides: ['bystander.word'] },
  })
  installVersion(dataDir, {
    id: 'dependent',
    version: '1.0.0',
    code: DEPENDENT,
    manifest: { requires: ['bystander.word'] },
  })
  for (const id of ['victim', 'bystander', 'dependent']) assert.is((await load(service, id)).status, 200, id)
  const expecting = expectingEvery(pauseMs)
  const clients = startLoad(service, [
    expecting('/v1/victim', 'version', '1.0.0', ...started),
    expecting('/v1/victim', 'version', '1.0.0', ...started),
    expecting('/v1/bystander', 'version', '1.0.0'),
    expecting('/v1/bystander/x', 'version', '1.0.0'),
    expecting('/v1/dependent/word', 'word', 'hello'),
    expecting('/v1/policy', 'revision', 1),
    expecting('/v1/tokens?limit=1', 'next_cursor', null),
    expecting('/v1/healthz', 'status', 'ok'),
  ])
  return { service, clients, inspector: await openInspector(service) }
}

async function closeWorld({ service, clients, inspector }: World): Promise<void> {
  await clients.stop()
  inspector.close()
  assert.is(await service.stop(), 0)
}

/** Reads a route again and again; `field` of its body stays as it is. A pause keeps the machine free for the plugins. */
function expectingEvery(
  pauseMs: number,
): (path: string, field: string, ...values: readonly unknown[]) => Task {
  return (path, field, ...values) =>
    async (client) => {
      const heard = await client.send('GET', path)
      if (heard.status !== 200 || !values.includes(JSON.parse(heard.text)[field]))
        throw new Error(`${path} answered ${heard.status} ${heard.text}`)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
}

function load(service: Service, id: string, body: object = {}): Promise<Answer> {
  return service.request('POST', `/v1/plugins/${id}/load`, { body })
}

async function recordOf(service: Service, id: string): Promise<Listed> {
  const { status, body } = await service.request('GET', '/v1/plugins')
  assert.is(status, 200)
  const found = body.plugins.find(({ name }: Listed) => name === id)
  assert.ok(found, `${id} is not in GET /v1/plugins`)
  return found
}

/** The plugins as they are listed, without what a failure is meant to change. */
async function runningSet(service: Service): Promise<readonly object[]> {
  const { plugins } = (await service.request('GET', '/v1/plugins')).body
  return plugins
    .filter(({ state }: Listed) => state === 'running')
    .map(({ name, version, state, loaded_at }: Listed & { loaded_at: string }) => ({
      name,
      version,
      state,
      loaded_at,
    }))
}

async function routesOf(service: Service): Promise<readonly string[]> {
  return Object.keys((await service.request('GET', '/v1/openapi.json')).body.paths)
}

function assertRefused(
  answer: Answer,
  id: string,
  { step, reason }: Pick<FailingVersion, 'step' | 'reason'>,
): void {
  const text = JSON.stringify(answer.body)
  assert.is(answer.status, 409, text)
  assert.is(answer.body.error.code, 'plugin_state_conflict')
  assert.match(answer.body.error.message, `plugin ${id} failed at step ${step}: `, text)
  assert.match(answer.body.error.message, reason, text)
}

/** The entry of the audit trail about the newest change of plugins. */
async function newestAudit(service: Service): Promise<{ readonly outcome: string; readonly target: string }> {
  const { entries } = (await service.request('GET', '/v1/audit?action=plugin.load&limit=500')).body
  return entries.reduce((newest: { readonly id: number }, entry: { readonly id: number }) =>
    entry.id > newest.id ? entry : newest,
  )
}

async function refuses({ service, clients }: World, failing: FailingVersion, version: string): Promise<void> {
  const before = await runningSet(service)
  const paths = await routesOf(service)
  const build = { id: 'victim', version, ...failing.build }
  const packageJson = build.packageJson?.replace('VERSION', version)
  installVersion(service.dataDir, { ...build, ...(packageJson === undefined ? {} : { packageJson }) })

  assertRefused(await load(service, 'victim', { version }), 'victim', failing)

  assert.equal(await runningSet(service), before)
  assert.equal(await routesOf(service), paths)
  const { state, version: shown, error } = await recordOf(service, 'victim')
  assert.equal({ state, shown }, { state: 'running', shown: '1.0.0' })
  assert.match(error ?? '', failing.reason)
  // What is wrong with a package is said without a step.
  if (failing.step !== 'check') assert.match(error ?? '', `step ${failing.step}`)
  const entry = await newestAudit(service)
  assert.equal({ target: entry.target, outcome: entry.outcome }, { target: 'victim', outcome: 'failed' })
  assert.equal(clients.problems, [])
}

/** What has services of its own: the clients of the others' rest meanwhile. */
function alone(work: () => Promise<void>): () => Promise<void> {
  return () => world.clients.whileQuiet(work)
}

FAILING_VERSIONS.forEach((failing, index) => {
  failures(`refuses a version that ${failing.name}, says why, and the one before runs on`, async () => {
    await refuses(world, failing, versionAt(index))
  })
})

for (const [index, spoil] of [
  [
    'was changed after it was installed',
    (entry: string) => appendFileSync(entry, '\n'),
    /their SHA-256 is another|SHA-256 does not begin with/,
  ],
  [
    'may be changed by others',
    (entry: string) => chmodSync(entry, 0o666),
    /plugin\.js may be changed by others/,
  ],
  [
    'is a link',
    (entry: string) => {
      unlinkSync(entry)
      symlinkSync('/etc/passwd', entry)
    },
    /plugin\.js is a link or no file/,
  ],
  ['is missing', (entry: string) => unlinkSync(entry), /plugin\.js is missing/],
].entries() as Iterable<readonly [number, readonly [string, (entry: string) => void, RegExp]]>) {
  const [what, change, reason] = spoil
  failures(`refuses a version whose entry file ${what}`, async () => {
    const { service, clients } = world
    const version = `2.${index}.0`
    const before = await runningSet(service)
    const code = sourceOf({ head: `globalThis.ranTampered = ${index}` })
    change(join(installVersion(service.dataDir, { id: 'victim', version, code }), 'plugin.js'))
    assertRefused(await load(service, 'victim', { version }), 'victim', { step: 'check', reason })
    assert.equal(await runningSet(service), before)
    assert.is(await world.inspector.evaluate('globalThis.ranTampered'), undefined)
    assert.equal(clients.problems, [])
  })
}

failures('says what is wrong with a plugin of which no version is usable, and goes on', async () => {
  const { service, clients } = world
  installVersion(service.dataDir, { id: 'broken', version: '1.0.0', code: 'x', packageJson: '{}' })
  assertRefused(await load(service, 'broken'), 'broken', { step: 'check', reason: /package\.json/ })
  assert.is((await recordOf(service, 'broken')).state, 'rejected')

  installVersion(service.dataDir, {
    id: 'stubborn',
    version: '1.0.0',
    code: sourceOf({ setup: "throw new Error('not today')" }),
  })
  assertRefused(await load(service, 'stubborn'), 'stubborn', { step: 'setup', reason: /not today/ })
  const { state, error } = await recordOf(service, 'stubborn')
  assert.is(state, 'failed')
  assert.match(error ?? '', /step setup: not today/)
  assert.is((await service.request('GET', '/v1/stubborn')).status, 404)
  const { components } = (await service.request('GET', '/v1/health')).body
  assert.is(components.find(({ name }: Listed) => name === 'stubborn')?.status, 'down')

  installVersion(service.dataDir, { id: 'stubborn', version: '1.0.1', code: sourceOf() })
  const mended = await load(service, 'stubborn')
  assert.equal([mended.status, mended.body.state, mended.body.error], [200, 'running', null])
  assert.is((await service.request('GET', '/v1/stubborn')).body.version, '1.0.1')
  assert.is((await service.request('POST', '/v1/plugins/stubborn/unload')).status, 200)
  assert.equal(clients.problems, [])
})

failures('says that the newest version is unusable instead of passing over it', async () => {
  const { service, clients } = world
  installVersion(service.dataDir, { id: 'newest', version: '1.0.0', code: sourceOf() })
  assert.is((await load(service, 'newest')).status, 200)
  installVersion(service.dataDir, {
    id: 'newest',
    version: '1.1.0',
    code: sourceOf(),
    manifest: { requries: [] },
  })
  assertRefused(await load(service, 'newest'), 'newest', { step: 'check', reason: /1\.1\.0.*requries/ })
  const { state, version, error } = await recordOf(service, 'newest')
  assert.equal({ state, version }, { state: 'running', version: '1.0.0' })
  assert.match(error ?? '', /requries/)
  assert.is((await service.request('GET', '/v1/newest')).body.version, '1.0.0')
  assert.is((await service.request('POST', '/v1/plugins/newest/unload')).status, 200)
  assert.equal(clients.problems, [])
})

failures('refuses what the state of a plugin does not allow, and names the reason', async () => {
  const { service, clients } = world
  const { dataDir } = service
  installVersion(dataDir, { id: 'victim', version: '0.9.0', code: sourceOf() })
  installVersion(dataDir, { id: 'sleepy', version: '1.0.0', code: sourceOf() })
  const before = await runningSet(service)
  const refused = async (
    id: string,
    verb: string,
    body: object | undefined,
    reason: RegExp,
  ): Promise<void> => {
    const answer = await service.request(
      'POST',
      `/v1/plugins/${id}/${verb}`,
      body === undefined ? {} : { body },
    )
    assert.is(answer.status, 409, JSON.stringify(answer.body))
    assert.is(answer.body.error.code, 'plugin_state_conflict')
    assert.match(answer.body.error.message, reason)
    assert.match(answer.body.error.message, id)
  }
  await refused(
    'victim',
    'load',
    { version: '0.9.0' },
    /runs as 1\.0\.0; going back to 0\.9\.0 must be asked for as a rollback/,
  )
  await refused('victim', 'load', { version: '0.9.0', rollback: true }, /cannot go back over a major version/)
  await refused('sleepy', 'load', {}, /plugins\.disabled/)
  assert.is((await recordOf(service, 'sleepy')).state, 'disabled')
  await refused('sleepy', 'unload', undefined, /is not loaded/)
  for (const id of ['access', 'nodes', 'policy'])
    await refused(id, 'unload', undefined, /part of every build and cannot be unloaded/)
  await refused('bystander', 'unload', undefined, /required by dependent \(bystander\.word\)/)
  installVersion(dataDir, { id: 'bystander', version: '1.1.0', code: sourceOf() })
  await refused('bystander', 'load', {}, /it no longer provides bystander\.word, which dependent requires/)
  for (const verb of ['load', 'unload', 'reload']) {
    const { status, body } = await service.request('POST', `/v1/plugins/nobody/${verb}`)
    assert.equal([status, body.error.code], [404, 'plugin_not_found'])
  }
  const missing = await load(service, 'victim', { version: '7.7.7' })
  assert.equal([missing.status, missing.body.error.code], [404, 'plugin_not_found'])
  assert.equal(await runningSet(service), before)
  assert.equal(clients.problems, [])
})

failures('holds a plugin whose handlers, task and health check throw', async () => {
  const { service, clients } = world
  const route = (path: string, handle: string): string =>
    `{ method: 'GET', path: '/v1/moody/${path}', role: 'viewer', summary: 'x', handle: ${handle} },`
  installVersion(service.dataDir, {
    id: 'moody',
    version: '1.0.0',
    code: sourceOf({
      setup: "context.every(20, async () => { throw new Error('no task today') })",
      instance: "health: async () => { throw new Error('no health today') },",
      routes:
        route('throws', "() => { throw new Error('secret-of-the-handler') }") +
        route('rejects', "async () => { throw new Error('secret-of-the-handler') }") +
        route('nothing', 'async () => undefined') +
        route('circular', 'async () => { const body = {}; body.body = body; return { body } }'),
    }),
  })
  assert.is((await load(service, 'moody')).status, 200)
  for (const path of ['throws', 'rejects', 'nothing', 'circular']) {
    const { status, body } = await service.request('GET', `/v1/moody/${path}`)
    assert.is(status, 500, path)
    assert.is(body.error.code, 'internal')
    assert.not.match(JSON.stringify(body), 'secret-of-the-handler')
  }
  assert.is((await service.request('GET', '/v1/moody')).status, 200)
  assert.is((await service.request('POST', '/v1/plugins/moody/unload')).status, 200)
  assert.equal(clients.problems, [])
})

failures('keeps nothing of a version that was refused', async () => {
  const { service, clients, inspector } = world
  const measure = async (): Promise<Footprint & { readonly files: number }> =>
    clients.whileQuiet(async () => ({
      ...(await inspector.footprint()),
      files: (await lastingFiles(service.child.pid)).length,
    }))
  const before = await measure()
  const late = FAILING_VERSIONS.filter(({ step }) => ['setup', 'routes', 'start'].includes(step))
  const rounds = 3
  for (let round = 0; round < rounds; round += 1) {
    for (const { build } of late) {
      const index = FAILING_VERSIONS.findIndex((one) => one.build === build)
      const answer = await load(service, 'victim', { version: versionAt(index) })
      assert.is(answer.status, 409)
    }
  }
  const after = await measure()
  const text = await inspector.evaluate(`JSON.stringify([...new Set(
    globalThis.copies.filter(({ reference }) => reference.deref() !== undefined)
      .map(({ id, version }) => id + '@' + version))].sort())`)
  assert.equal(JSON.parse(String(text)), ['bystander@1.0.0', 'dependent@1.0.0', 'victim@1.0.0'])
  const tries = rounds * late.length
  process.stdout.write(
    `\n# ${FAILING_VERSIONS.length} kinds of failing versions; ${tries} more tries: heap ${before.heapUsed} → ${after.heapUsed} bytes, ` +
      `files ${before.files} → ${after.files}, timers ${before.timers} → ${after.timers}; ` +
      `${clients.answered} requests of others meanwhile, ${clients.problems.length} failed\n`,
  )
  assert.ok(after.files <= before.files, `files: ${before.files} then ${after.files}`)
  // What is under way beside it has timers of its own for a moment.
  await eventually(async () => {
    const { timers } = await measure()
    assert.ok(timers <= before.timers + 2, `timers: ${before.timers} then ${timers}`)
  })
  assert.is(after.listeners, before.listeners)
  assert.ok(
    (after.heapUsed - before.heapUsed - LOG_LINES_BYTES) / tries < 16_384,
    'a refused version leaves something behind',
  )
  await eventually(() => assert.equal(childrenOf(service.child.pid), []))
  assert.not.match(
    (await service.request('GET', '/metrics')).body,
    /svc_victim_copies\{version="(?!1\.0\.0")/,
  )
  assert.equal(
    readdirSync(join(service.dataDir, 'plugins')).filter((name) => name.startsWith('.')),
    [],
  )
})

failures(
  'starts what stayed anew and brings it up after a restart, although a failed version has migrated',
  alone(async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'steeple-e2e-'))
    const id = 'stays'
    const adminToken = 'failures-test-admin-token-0123456789'
    try {
      const service = await startService({ dataDir, adminToken })
      installVersion(dataDir, { id, version: '1.0.0', code: sourceOf() })
      assert.is((await load(service, id)).status, 200)
      const migrations =
        "migrations: [{ id: '0001_first', up: ['create table stays_first (name text primary key)'] }],"
      const code = sourceOf({ plugin: migrations, setup: "throw new Error('not today')" })
      installVersion(dataDir, { id, version: '1.1.0', code })
      assertRefused(await load(service, id), id, { step: 'setup', reason: /not today/ })
      const reloaded = await service.request('POST', `/v1/plugins/${id}/reload`)
      assert.equal([reloaded.status, reloaded.body.version], [200, '1.0.0'], JSON.stringify(reloaded.body))
      assert.is(await service.stop(), 0)

      const next = await startService({ dataDir, adminToken })
      await eventually(async () => (await next.request('GET', `/v1/${id}`)).body.version === '1.0.0')
      assert.is((await next.request('POST', `/v1/plugins/${id}/reload`)).status, 200)
      installVersion(dataDir, { id, version: '1.1.1', code: sourceOf({ plugin: migrations }) })
      assert.is((await load(next, id)).body.version, '1.1.1')
      await next.kill()

      const last = await startService({ dataDir, adminToken })
      await eventually(async () => (await last.request('GET', `/v1/${id}`)).body.version === '1.1.1')
      assert.is(await last.stop(), 0)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  }),
)

failures(
  'gives up a version that hangs, within its bound, while everything else is served',
  alone(async () => {
    await Promise.all(
      HANGING_VERSIONS.map(async (failing) => {
        const own = await openWorld(failing.step === 'start' ? ['1.1.0'] : [], WHILE_HANGING_MS)
        try {
          const startedMs = performance.now()
          await refuses(own, failing, '1.1.0')
          assert.ok(performance.now() - startedMs < stretched(15_000), 'it is given up soon after its bound')
          const next = await load(own.service, 'dependent')
          assert.is(next.status, 200, 'the registry goes on')
          await own.inspector.footprint()
          const left = await own.inspector.evaluate(
            `globalThis.copies.filter(({ version, reference }) => version === '1.1.0' && reference.deref()).length`,
          )
          if (failing.step !== 'setup') assert.is(left, 0)
        } finally {
          await closeWorld(own)
        }
      }),
    )
  }),
)

failures.run()
