import { eventually, suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createTestHost, failureOf, loadedHost, recordOf, type TestHost } from './test-host.ts'
import { codeOf, type PluginSpec, rewritePlugin, writePlugin } from './test-plugin.ts'

const upgrade = suite('kernel/plugins/hot-upgrade')

/** Adds another version of `sample` to a running host's packages. */
async function add(host: TestHost, root: string, spec: PluginSpec): Promise<void> {
  const packages = host.options.sources.packages as string[]
  packages.push(await writePlugin(root, spec))
}

upgrade('starts the new copy before the old one leaves, and loses no request', async () => {
  await using root = await tempDir()
  const code = codeOf({
    setup: `ctx.defer(() => ctx.log.info({ version: ctx.plugin.version }, 'closed'))`,
    instance: `
      start: async () => ctx.log.info({ version: ctx.plugin.version }, 'started'),
      stop: async (why) => ctx.log.info({ version: ctx.plugin.version, why }, 'stopped'),`,
  })
  await using host = await loadedHost({ packages: [await writePlugin(root.path, { code })] })
  const answers: unknown[] = []
  let isOver = false
  const client = (async () => {
    while (!isOver) answers.push(await host.get('/v1/sample'))
  })()
  await add(host, root.path, { version: '1.1.0', code })
  const record = await host.registry.load('sample')
  assert.is(record.version, '1.1.0')
  assert.equal(record.versions, ['1.1.0', '1.0.0'])
  isOver = true
  await client
  const seen = new Set(answers.map((answer) => JSON.stringify(answer)))
  for (const one of seen) assert.match(one, /^\{"status":200,"body":\{"version":"1\.[01]\.0"\}\}$/)
  assert.equal((await host.get('/v1/sample')).body, { version: '1.1.0' })
  const events = host.lines
    .filter(({ message }) => ['started', 'stopped', 'closed'].includes(message))
    .map(({ facts, message }) => `${String(facts.version)} ${message}`)
  assert.equal(events, ['1.0.0 started', '1.1.0 started', '1.0.0 stopped', '1.0.0 closed'])
})

upgrade('finishes slow requests on the old copy and ends streams by the retiring signal', async () => {
  await using root = await tempDir()
  const code = codeOf({
    head: `
      async function* events(signal) {
        yield 'hello\\n'
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        yield 'bye\\n'
      }`,
    body: "undefined, stream: events(ctx.retiring), ...ctx.log.info({}, 'streaming')",
    setup: "ctx.defer(() => ctx.log.info({ version: ctx.plugin.version }, 'closed'))",
  })
  await using host = await loadedHost({ packages: [await writePlugin(root.path, { code })] })
  const stream = fetch(`${host.edge.url}/v1/sample`).then((response) => response.text())
  await eventually(() => host.lines.some(({ message }) => message === 'streaming'))
  await add(host, root.path, { version: '1.0.1' })
  await host.registry.load('sample')
  assert.is(await stream, 'hello\nbye\n')
  const closed = host.lines.findIndex(({ message }) => message === 'closed')
  const loaded = host.lines.findIndex(({ facts }) => facts.version === '1.0.1')
  assert.ok(closed >= 0 && closed < loaded, 'the old copy has closed when the upgrade is over')
})

for (const [what, spec, expected] of [
  ['cannot be set up', { code: codeOf({ setup: 'throw new Error("no")' }) }, /step setup: no/],
  [
    'duplicates a route',
    { code: codeOf().replace("'/v1/' + ctx.plugin.id", "'/v1/other'") },
    /step routes: duplicate/,
  ],
  [
    'does not start',
    { code: codeOf({ instance: 'start: async () => { throw new Error("no") },' }) },
    /step start: no/,
  ],
  ['needs newer contracts', { manifest: { contracts: '>=7' } }, /step check: it was built for contracts >=7/],
  [
    'is of another kind',
    { manifest: { kind: 'ran' } },
    /step check: its kind ran is not that of the running one/,
  ],
  ['is another package', { packageName: '@evil/sample' }, /step check: its id belongs to @test\/sample/],
] as const) {
  upgrade(`keeps the old copy when the new one ${what}`, async () => {
    await using root = await tempDir()
    const other = await writePlugin(root.path, { id: 'other' })
    const old = await writePlugin(root.path, {
      manifest: { provides: ['sample.version'] },
      metrics: ['svc_sample_things'],
      code: codeOf({
        setup: "ctx.metrics.gauge('svc_sample_things', 'x').set(7)",
        instance: "services: new Map([['sample.version', { get: async () => ctx.plugin.version }]]),",
      }),
    })
    await using host = await loadedHost({ packages: [other, old] })
    const service = host.options.services.use<{ get(): Promise<string> }>({ id: 'sample.version' })
    await add(host, root.path, { version: '2.0.0', ...spec })
    assert.match((await failureOf(() => host.registry.load('sample'))).message, expected)
    assert.equal((await host.get('/v1/sample')).body, { version: '1.0.0' })
    assert.is(await service.get(), '1.0.0')
    assert.match(await host.options.metrics.text(), 'svc_sample_things 7')
    const record = recordOf(host, 'sample')
    assert.is(record.state, 'running')
    assert.is(record.version, '1.0.0')
    assert.match(record.error ?? '', expected)
    await host.options.health.poll()
    assert.is(recordOf(host, 'sample').health, 'ok')
  })
}

upgrade('refuses a version that drops a service which others require', async () => {
  await using root = await tempDir()
  const provider = await writePlugin(root.path, {
    manifest: { provides: ['sample.x'] },
    code: codeOf({ instance: "services: new Map([['sample.x', {}]])," }),
  })
  const user = await writePlugin(root.path, { id: 'user', manifest: { requires: ['sample.x'] } })
  await using host = await loadedHost({ packages: [provider, user] })
  await add(host, root.path, { version: '1.1.0' })
  const { message } = await failureOf(() => host.registry.load('sample'))
  assert.match(message, 'it no longer provides sample.x, which user requires')
})

upgrade('lets those that hold a service follow its provider', async () => {
  await using root = await tempDir()
  const provider: PluginSpec = {
    manifest: { provides: ['sample.version'] },
    code: codeOf({
      instance: "services: new Map([['sample.version', { get: async () => ctx.plugin.version }]]),",
    }),
  }
  const user = await writePlugin(root.path, {
    id: 'user',
    manifest: { requires: ['sample.version'] },
    code: codeOf({ setup: "const v = ctx.use({ id: 'sample.version' })", body: '{ of: await v.get() }' }),
  })
  await using host = await loadedHost({ packages: [await writePlugin(root.path, provider), user] })
  assert.equal((await host.get('/v1/user')).body, { of: '1.0.0' })
  await add(host, root.path, { ...provider, version: '1.1.0' })
  await host.registry.load('sample')
  assert.equal((await host.get('/v1/user')).body, { of: '1.1.0' })
})

upgrade('says that there is nothing to go back to, and what cannot be uninstalled', async () => {
  await using root = await tempDir()
  const packages = [await writePlugin(root.path, { version: '1.0.0', manifest: { essential: true } })]
  await using host = await loadedHost({ packages })
  const back = await failureOf(() => host.registry.load('sample', { rollback: true }))
  assert.is(back.code, 'plugin_state_conflict')
  assert.match(back.message, 'no version before 1.0.0 to go back to')
  const { message } = await failureOf(() => host.registry.uninstall('sample'))
  assert.match(message, 'not installed; it is part of every build')
})

upgrade('goes back only when asked to, and to the version before', async () => {
  await using root = await tempDir()
  const packages = [
    await writePlugin(root.path, { version: '1.0.0' }),
    await writePlugin(root.path, { version: '1.1.0' }),
    await writePlugin(root.path, { version: '1.2.0' }),
    await writePlugin(root.path, { version: '0.9.0' }),
  ]
  await using host = await loadedHost({ packages, pluginsDir: root.path })
  assert.is(recordOf(host, 'sample').version, '1.2.0')
  const { code, message } = await failureOf(() => host.registry.load('sample', { version: '1.0.0' }))
  assert.is(code, 'plugin_state_conflict')
  assert.match(message, 'going back to 1.0.0 must be asked for as a rollback')
  host.migrated.clear()
  assert.is((await host.registry.load('sample', { rollback: true })).version, '1.1.0')
  assert.is(host.migrated.size, 0, 'the tables of the later version stay as they are')
  assert.is(
    (await failureOf(() => host.registry.load('sample', { version: '0.9.0', rollback: true }))).code,
    code,
  )
  assert.is(
    (await failureOf(() => host.registry.load('sample', { version: '7.0.0' }))).code,
    'plugin_not_found',
  )

  await using next = await createTestHost({ packages, pluginsDir: root.path })
  await next.registry.loadAll()
  assert.is(recordOf(next, 'sample').version, '1.1.0', 'a restart keeps the rollback')
  assert.is(next.migrated.size, 0)
  assert.is((await next.registry.load('sample', { version: '1.2.0' })).version, '1.2.0')

  await using last = await createTestHost({ packages, pluginsDir: root.path })
  await last.registry.loadAll()
  assert.is(recordOf(last, 'sample').version, '1.2.0')
})

upgrade('comes back from a disable as it was rolled back, at the next start too', async () => {
  await using root = await tempDir()
  const packages = [
    await writePlugin(root.path, { version: '1.0.0' }),
    await writePlugin(root.path, { version: '1.1.0' }),
  ]
  {
    await using host = await loadedHost({ packages, pluginsDir: root.path })
    await host.registry.load('sample', { rollback: true })
    await host.registry.disable('sample')
    host.migrated.clear()
    assert.is((await host.registry.enable('sample')).version, '1.0.0')
    assert.is(host.migrated.size, 0, 'the tables of the later version stay as they are')
    assert.equal(recordOf(host, 'sample').installed, [], 'both are of the build')
  }
  await using next = await createTestHost({ packages, pluginsDir: root.path })
  await next.registry.loadAll()
  assert.is(recordOf(next, 'sample').version, '1.0.0')
  assert.is((await next.registry.load('sample', { version: '1.1.0' })).version, '1.1.0')
})

const EXCLUSIVE = { handover: 'exclusive' }
const OWNS_PORT = {
  head: 'globalThis.portOwner ??= undefined',
  setup: `
    if (globalThis.portOwner !== undefined) throw new Error('the port is taken by ' + globalThis.portOwner)
    globalThis.portOwner = ctx.plugin.version
    ctx.defer(() => { globalThis.portOwner = undefined })`,
}

upgrade('lets an exclusive copy leave before the next one comes', async () => {
  await using root = await tempDir()
  const spec = { manifest: EXCLUSIVE, code: codeOf(OWNS_PORT) }
  await using host = await loadedHost({ packages: [await writePlugin(root.path, spec)] })
  await add(host, root.path, { ...spec, version: '1.1.0' })
  await host.registry.load('sample')
  assert.is(Reflect.get(globalThis, 'portOwner'), '1.1.0')
  assert.equal((await host.get('/v1/sample')).body, { version: '1.1.0' })
})

upgrade('answers 503 between two exclusive copies', async () => {
  await using root = await tempDir()
  const spec = { manifest: EXCLUSIVE, code: codeOf() }
  await using host = await loadedHost({ packages: [await writePlugin(root.path, spec)] })
  const slow = codeOf({ setup: 'await new Promise((resolve) => { globalThis.goOn = resolve })' })
  await add(host, root.path, { ...spec, version: '1.1.0', code: slow })
  const loading = host.registry.load('sample')
  await eventually(() => typeof Reflect.get(globalThis, 'goOn') === 'function')
  const { status, body } = await host.get('/v1/sample')
  assert.is(status, 503)
  assert.is((body as { error: { code: string } }).error.code, 'not_ready')
  Reflect.get(globalThis, 'goOn')()
  await loading
  assert.is((await host.get('/v1/sample')).status, 200)
})

upgrade('sets the exclusive copy before up again when the next one fails', async () => {
  await using root = await tempDir()
  const spec = { manifest: EXCLUSIVE, code: codeOf(OWNS_PORT) }
  await using host = await loadedHost({ packages: [await writePlugin(root.path, spec)] })
  const code = codeOf({ ...OWNS_PORT, instance: 'start: async () => { throw new Error("no") },' })
  await add(host, root.path, { manifest: EXCLUSIVE, version: '1.1.0', code })
  assert.match((await failureOf(() => host.registry.load('sample'))).message, 'step start: no')
  assert.is(Reflect.get(globalThis, 'portOwner'), '1.0.0')
  assert.equal((await host.get('/v1/sample')).body, { version: '1.0.0' })
  assert.is(recordOf(host, 'sample').state, 'running')
  assert.is(recordOf(host, 'sample').version, '1.0.0')
})

upgrade('says so when neither exclusive copy comes up', async () => {
  await using root = await tempDir()
  const old = codeOf({
    setup: 'if (globalThis.wasThere) throw new Error("cannot twice"); globalThis.wasThere = true',
  })
  const other = await writePlugin(root.path, { id: 'other' })
  const dir = await writePlugin(root.path, { manifest: EXCLUSIVE, code: old })
  await using host = await loadedHost({ packages: [dir, other] })
  await add(host, root.path, {
    manifest: EXCLUSIVE,
    version: '1.1.0',
    code: codeOf({ setup: 'throw new Error("no")' }),
  })
  await failureOf(() => host.registry.load('sample'))
  assert.is(recordOf(host, 'sample').state, 'failed')
  assert.is((await host.get('/v1/sample')).status, 404)
  assert.is((await host.get('/v1/other')).status, 200)
})

upgrade('reloads a changed file of the same version, with the configuration of the moment', async () => {
  await using root = await tempDir()
  const dir = await writePlugin(root.path, { code: codeOf({ body: '{ a: 1, config: ctx.config }' }) })
  await using host = await createTestHost({ packages: [dir] })
  host.settings.config.sample = { limit: 1 }
  await host.registry.loadAll()
  assert.equal((await host.get('/v1/sample')).body, { a: 1, config: { limit: 1 } })
  host.settings.config.sample = { limit: 2 }
  await rewritePlugin(dir, { code: codeOf({ body: '{ a: 2, config: ctx.config }' }) })
  await host.registry.reload('sample')
  assert.equal((await host.get('/v1/sample')).body, { a: 2, config: { limit: 2 } })
})

upgrade('reloads after a change of settings those plugins alone whose own part changed', async () => {
  await using root = await tempDir()
  const body = '{ config: ctx.config, seen }'
  const setup = 'let seen = 0; ctx.onSettings(() => { seen += 1 })'
  const keys = { hot: { type: 'integer', 'x-apply': 'hot' }, cold: { type: 'integer', 'x-apply': 'reload' } }
  const code = codeOf({ body, setup })
  const spec = (id: string) => ({ id, code, schema: { properties: { [id]: { properties: keys } } } })
  const one = await writePlugin(root.path, spec('one'))
  const two = await writePlugin(root.path, spec('two'))
  await using host = await createTestHost({ packages: [one, two] })
  host.settings.config = { one: { hot: 1, cold: 1 }, two: { hot: 1, cold: 1 } }
  await host.registry.loadAll()
  host.settings.config = { one: { hot: 2, cold: 1 }, two: { hot: 1, cold: 2 } }
  host.changed()
  await host.registry.applySettings()
  assert.equal((await host.get('/v1/one')).body, { config: { hot: 1, cold: 1 }, seen: 1 })
  assert.equal((await host.get('/v1/two')).body, { config: { hot: 1, cold: 2 }, seen: 0 })
})

upgrade('upgrades a hundred times under load without a lost request, timer, handle or listener', async () => {
  await using root = await tempDir()
  const code = codeOf({
    setup: `
        ctx.every(60_000, async () => {})
        ctx.onSettings(() => {})
        ctx.metrics.counter('svc_sample_total', 'x').inc()
        const timer = setInterval(() => {}, 60_000)
        ctx.defer(() => clearInterval(timer))`,
    instance: `
        reconcilers: [{ resource: 'sample', resyncMs: 60_000, keys: async () => ['a'], reconcile: async () => new Map() }],
        services: new Map([['sample.x', { get: async () => 1 }]]),
        health: async () => [{ name: 'sample', kind: 'feature', status: 'ok', detail: '' }],`,
  })
  const spec = { manifest: { provides: ['sample.x'] }, metrics: ['svc_sample_total'], code }
  const dir = await writePlugin(root.path, spec)
  await using host = await loadedHost({ packages: [dir] })
  const bad: unknown[] = []
  let requests = 0
  let isOver = false
  const clients = [1, 2, 3, 4].map(async () => {
    while (!isOver) {
      const answer = await host.get('/v1/sample')
      requests += 1
      if (answer.status !== 200) bad.push(answer)
    }
  })
  const count = (): Record<string, number> => {
    const kinds: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) {
      // Sockets come and go with the clients.
      if (kind === 'Timeout' || kind === 'Immediate' || kind.startsWith('FS'))
        kinds[kind] = (kinds[kind] ?? 0) + 1
    }
    return { ...kinds, signals: process.listenerCount('SIGTERM'), exits: process.listenerCount('exit') }
  }
  const upgradeTo = async (version: number): Promise<void> => {
    const answered = requests
    await rewritePlugin(dir, { ...spec, version: `1.0.${version}` })
    await host.registry.load('sample')
    // The load goes on through all of them, however slow the clients are.
    await eventually(() => requests > answered)
  }
  for (let version = 1; version <= 5; version += 1) await upgradeTo(version)
  const before = count()
  for (let version = 6; version <= 105; version += 1) await upgradeTo(version)
  const after = count()
  isOver = true
  await Promise.all(clients)
  assert.equal(bad, [])
  assert.ok(requests > 100, `${requests} requests`)
  assert.equal((await host.get('/v1/sample')).body, { version: '1.0.105' })
  assert.ok((after.Timeout ?? 0) <= (before.Timeout ?? 0) + 4, JSON.stringify({ before, after }))
  assert.is(after.signals, before.signals)
  assert.is(after.exits, before.exits)
  assert.is((await host.options.metrics.text()).match(/^svc_sample_total /gm)?.length, 1)
  assert.equal(
    host.lines.filter(({ level }) => level === 'error' || level === 'warn'),
    [],
  )
})

upgrade.run()
