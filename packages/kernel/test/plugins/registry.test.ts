import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createTestHost, failureOf, fastTimers, loadedHost, recordOf } from './test-host.ts'
import { codeOf, writePlugin } from './test-plugin.ts'

const registry = suite('kernel/plugins/registry')

const SERVICE = "services: new Map([['one.greeter', { greet: async () => 'hello' }]]),"

registry('loads all plugins, serves their routes and unloads one', async () => {
  await using root = await tempDir()
  const one = await writePlugin(root.path, { id: 'one' })
  const two = await writePlugin(root.path, { id: 'two' })
  await using host = await loadedHost({ packages: [one, two] })
  assert.equal(await host.get('/v1/one'), { status: 200, body: { version: '1.0.0' } })
  assert.is((await host.get('/v1/two')).status, 200)
  assert.is(host.edge.swaps, 1, 'all plugins of the start share one generation')
  await host.registry.unload('one')
  assert.is((await host.get('/v1/one')).status, 404)
  assert.is((await host.get('/v1/two')).status, 200)
  assert.is(recordOf(host, 'one').state, 'unloaded')
  assert.is(recordOf(host, 'one').loadedAtMs, undefined)
  assert.is(recordOf(host, 'two').state, 'running')
  await host.registry.load('one')
  assert.is((await host.get('/v1/one')).status, 200)
})

registry('records a plugin that fails and loads the others', async () => {
  await using root = await tempDir()
  const bad = await writePlugin(root.path, {
    id: 'bad',
    code: codeOf({ setup: 'throw new Error("no antenna")' }),
  })
  const good = await writePlugin(root.path, { id: 'good' })
  await using host = await loadedHost({ packages: [bad, good] })
  assert.is((await host.get('/v1/good')).status, 200)
  assert.is(recordOf(host, 'bad').state, 'failed')
  assert.is(recordOf(host, 'bad').error, 'plugin bad failed at step setup: no antenna')
  assert.is(recordOf(host, 'bad').health, 'down')
})

registry('stops the start when an essential plugin fails, after all others were tried', async () => {
  await using root = await tempDir()
  const bad = await writePlugin(root.path, {
    id: 'bad',
    manifest: { essential: true },
    code: codeOf({ instance: 'start: async () => { throw new Error("no store") },' }),
  })
  const good = await writePlugin(root.path, { id: 'good' })
  await using host = await createTestHost({ packages: [bad, good] })
  const failure = await failureOf(() => host.registry.loadAll())
  assert.equal(failure, { code: 'plugin_failed', message: 'plugin bad failed at step start: no store' })
  assert.is((await host.get('/v1/good')).status, 200)
  assert.is((await host.get('/v1/bad')).status, 404)
})

registry('loads providers before those that require them, whatever their names', async () => {
  await using root = await tempDir()
  const user = await writePlugin(root.path, {
    id: 'a-user',
    manifest: { requires: ['one.greeter'] },
    code: codeOf({ setup: "const g = ctx.use({ id: 'one.greeter' })", body: '{ said: await g.greet() }' }),
  })
  const provider = await writePlugin(root.path, {
    id: 'one',
    manifest: { provides: ['one.greeter'] },
    code: codeOf({ instance: SERVICE }),
  })
  await using host = await loadedHost({ packages: [user, provider] })
  assert.equal((await host.get('/v1/a-user')).body, { said: 'hello' })
  const refusal = await failureOf(() => host.registry.unload('one'))
  assert.equal(refusal, {
    code: 'plugin_state_conflict',
    message: 'plugin one is required by a-user (one.greeter); unload that first',
  })
  await host.registry.unload('a-user')
  await host.registry.unload('one')
})

registry('fails those whose provider failed, and says what they miss', async () => {
  await using root = await tempDir()
  const provider = await writePlugin(root.path, {
    id: 'one',
    manifest: { provides: ['one.greeter'] },
    code: codeOf({ instance: `${SERVICE} start: async () => { throw new Error('no port') },` }),
  })
  const user = await writePlugin(root.path, { id: 'user', manifest: { requires: ['one.greeter'] } })
  await using host = await loadedHost({ packages: [provider, user] })
  assert.is(recordOf(host, 'one').state, 'failed')
  assert.is(
    recordOf(host, 'user').error,
    'plugin user failed at step start: nobody provides one.greeter any more',
  )
  assert.is((await host.get('/v1/user')).status, 404)
})

registry('protects a provider also from the unload that a use without requires would break', async () => {
  await using root = await tempDir()
  const provider = await writePlugin(root.path, {
    id: 'one',
    manifest: { provides: ['one.greeter'] },
    code: codeOf({ instance: SERVICE }),
  })
  const user = await writePlugin(root.path, {
    id: 'user',
    code: codeOf({ setup: "ctx.use({ id: 'one.greeter' })" }),
  })
  await using host = await loadedHost({ packages: [provider, user] })
  assert.is((await failureOf(() => host.registry.unload('one'))).code, 'plugin_state_conflict')
})

const REFUSED: readonly (readonly [string, Parameters<typeof writePlugin>[1], RegExp])[] = [
  ['is not JSON', { package: { version: 1 } }, /package\.json: version must be string/],
  ['has an id with capitals', { manifest: { id: 'Sample' } }, /steeple\.id must match pattern/],
  ['has an unknown kind', { manifest: { kind: 'toy' } }, /steeple\.kind must be equal to one of/],
  ['has an unknown key', { manifest: { extra: 1 } }, /steeple must NOT have additional properties \(extra\)/],
  ['has no handover', { manifest: { handover: undefined } }, /must have required property 'handover'/],
  ['has no version', { package: { version: 'newest' } }, /version newest is not a semantic version/],
  ['names no range', { manifest: { contracts: 'all of them' } }, /not a semver range/],
  ['leaves its folder', { package: { exports: './../x.js' } }, /exports names no entry/],
  [
    'needs newer contracts',
    { manifest: { contracts: '^9.0.0' } },
    /built for contracts \^9\.0\.0, this service has/,
  ],
  ['requires what nobody provides', { manifest: { requires: ['x.y'] } }, /step check: nobody provides x\.y/],
  [
    'requires what it provides itself',
    { manifest: { requires: ['x.y'], provides: ['x.y'] } },
    /nobody provides x\.y/,
  ],
  [
    'provides the kernel’s',
    { manifest: { provides: ['kernel.vault'] } },
    /kernel\.vault, which kernel provides already/,
  ],
]

for (const [what, spec, expected] of REFUSED) {
  registry(`refuses a plugin that ${what} before any of its code runs`, async () => {
    await using root = await tempDir()
    const code = `globalThis.steepleRan = true\n${codeOf()}`
    const dir = await writePlugin(root.path, { ...spec, code })
    await using host = await createTestHost({ packages: [dir] })
    host.options.services.set('kernel', new Map([['kernel.vault', {}]]))
    await host.registry.loadAll()
    const [record] = host.registry.list()
    assert.match(record?.error ?? '', expected)
    assert.is(Reflect.get(globalThis, 'steepleRan'), undefined)
    assert.is((await failureOf(() => host.registry.load(record?.name ?? ''))).code, 'plugin_failed')
  })
}

const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ['does not parse', 'export const plugin = {', /step import: /],
  ['exports no plugin', 'export const other = 1', /step import: the module exports no `plugin`/],
  ['throws when imported', 'throw new Error("at import")', /step import: at import/],
  [
    'gives no instance',
    'export const plugin = { setup: async () => undefined }',
    /step setup: setup gave no instance/,
  ],
  [
    'gives undeclared services',
    codeOf({ instance: SERVICE }),
    /step setup: it provides one\.greeter, which steeple\.provides/,
  ],
  [
    'has a route without a role',
    codeOf().replace("role: 'viewer',", ''),
    /step setup: route GET \/v1\/sample names no role/,
  ],
  [
    'changes something without an audit action',
    codeOf().replace("'GET'", "'POST'"),
    /step setup: route POST \/v1\/sample names no audit action/,
  ],
  [
    'has a route twice',
    codeOf().replace(
      'routes: [',
      'routes: [{ method: "GET", path: "/v1/other", role: "viewer", summary: "", handle: async () => ({}) }, ',
    ),
    /step routes: duplicate route GET \/v1\/other/,
  ],
  [
    'takes a metric of others',
    codeOf({ setup: "ctx.metrics.counter('svc_other_total', 'x')" }),
    /step setup: metric svc_other_total of sample is refused/,
  ],
  [
    'takes a resource of others',
    codeOf({
      instance:
        "reconcilers: [{ resource: 'other', resyncMs: 1000, keys: async () => [], reconcile: async () => new Map() }],",
    }),
    /step setup: the resource other is reconciled by other/,
  ],
  [
    'does not start',
    codeOf({ instance: 'start: async () => { throw new Error("no port") },' }),
    /step start: no port/,
  ],
]

const OTHER = codeOf({
  instance:
    "reconcilers: [{ resource: 'other', resyncMs: 60000, keys: async () => [], reconcile: async () => new Map() }],",
})

for (const [what, code, expected] of BROKEN) {
  registry(`leaves the running set as it was when a plugin ${what}`, async () => {
    await using root = await tempDir()
    const other = await writePlugin(root.path, { id: 'other', code: OTHER })
    const sources = { packages: [other] }
    await using host = await loadedHost(sources)
    sources.packages.push(await writePlugin(root.path, { code }))
    const failure = await failureOf(() => host.registry.load('sample'))
    assert.is(failure.code, 'plugin_failed')
    assert.match(failure.message, expected)
    assert.is(recordOf(host, 'sample').state, 'failed')
    assert.is(recordOf(host, 'sample').error, failure.message)
    assert.is((await host.get('/v1/other')).status, 200)
    assert.is((await host.get('/v1/sample')).status, 404)
    assert.not.match(await host.options.metrics.text(), 'svc_sample')
  })
}

registry('closes what a failed setup had opened', async () => {
  await using root = await tempDir()
  const dir = await writePlugin(root.path, {
    code: codeOf({
      setup: `
        ctx.defer(() => ctx.log.info({}, 'closed'))
        ctx.every(10, async () => ctx.log.info({}, 'ticked'))
        throw new Error('late')`,
    }),
  })
  await using host = await loadedHost({ packages: [dir] })
  assert.ok(host.lines.some(({ message }) => message === 'closed'))
})

registry('gives up on a setup that hangs, and closes what it opens later', async () => {
  await using root = await tempDir()
  const dir = await writePlugin(root.path, {
    code: codeOf({
      setup: `
          await new Promise((resolve) => ctx.retiring.addEventListener('abort', resolve))
          ctx.defer(() => ctx.log.info({}, 'closed late'))`,
      instance: "stop: async () => ctx.log.info({}, 'stopped late'),",
    }),
  })
  const good = await writePlugin(root.path, { id: 'good' })
  const sources = { packages: [good] }
  await using host = await loadedHost(sources, { timers: fastTimers(20) })
  sources.packages.push(dir)
  const slow = failureOf(() => host.registry.load('sample'))
  assert.is((await host.get('/v1/good')).status, 200)
  const failure = await slow
  assert.is(failure.message, 'plugin sample failed at step setup: its setup took longer than 10 s')
  await host.registry.unload('good')
  const messages = host.lines.map(({ message }) => message)
  assert.ok(messages.includes('closed late'))
  assert.ok(messages.includes('stopped late'))
})

registry('says what cannot be unloaded, loaded or reloaded', async () => {
  await using root = await tempDir()
  const kept = await writePlugin(root.path, { id: 'kept', manifest: { essential: true } })
  const off = await writePlugin(root.path, { id: 'off' })
  await using host = await createTestHost({ packages: [kept, off] })
  host.settings.disabled.push('off', 'kept')
  await host.registry.loadAll()
  assert.is(recordOf(host, 'off').state, 'disabled')
  assert.is(recordOf(host, 'kept').state, 'running', 'what is essential cannot be left out')
  assert.is((await host.get('/v1/off')).status, 404)
  assert.is((await failureOf(() => host.registry.load('off'))).code, 'plugin_state_conflict')
  assert.is((await failureOf(() => host.registry.unload('kept'))).code, 'plugin_state_conflict')
  assert.is((await failureOf(() => host.registry.unload('off'))).code, 'plugin_state_conflict')
  for (const work of [host.registry.load, host.registry.unload, host.registry.reload]) {
    assert.is((await failureOf(() => work('nobody'))).code, 'plugin_not_found')
  }
})

registry(
  'loads of several drivers the one that the configuration chooses, and changes over with it',
  async () => {
    await using root = await tempDir()
    const driver = (value: string) =>
      writePlugin(root.path, {
        id: `driver-${value.replace('_', '-')}`,
        manifest: { provides: ['lab.driver'], selected_by: { key: 'core', values: [value] } },
        code: codeOf({ instance: `services: new Map([['lab.driver', { name: async () => '${value}' }]]),` }),
      })
    await using host = await createTestHost({ packages: [await driver('core_a'), await driver('core_b')] })
    const states = () => host.registry.list().map(({ name, state }) => `${name} ${state}`)
    await host.registry.loadAll()
    assert.equal(states(), ['driver-core-a running', 'driver-core-b disabled'])
    // It is there, so that the configuration can name it.
    const { state, error } = await host.registry.load('driver-core-b')
    assert.equal([state, error], ['disabled', 'it needs core to be core_b, which is core_a'])
    host.settings.core = 'core_b'
    await host.registry.applySettings()
    assert.equal(states(), ['driver-core-a disabled', 'driver-core-b running'])
    assert.is((await host.get('/v1/driver-core-a')).status, 404)
    assert.is((await host.get('/v1/driver-core-b')).status, 200)
    assert.is(recordOf(host, 'driver-core-b').loadedBecause, 'the configuration chooses it now')
  },
)

registry('says why the copy that runs was loaded', async () => {
  await using root = await tempDir()
  const lamp = await writePlugin(root.path, { id: 'lamp' })
  await using host = await createTestHost({ packages: [lamp] })
  const why = () => recordOf(host, 'lamp').loadedBecause
  await host.registry.loadAll()
  assert.is(why(), 'the service has started')
  await host.registry.reload('lamp')
  assert.is(why(), 'it was reloaded by request')
  await host.registry.unload('lamp')
  assert.is(why(), undefined)
  await host.registry.load('lamp')
  assert.is(why(), 'it was loaded by request')
})

registry('shows nobody the value of a key that is no choice among drivers', async () => {
  await using root = await tempDir()
  const curious = await writePlugin(root.path, {
    id: 'curious',
    manifest: { selected_by: { key: 'store.url', values: ['none'] } },
  })
  await using host = await createTestHost({ packages: [curious] })
  host.settings.config.store = { url: 'postgres://svc:open-sesame@db/svc' }
  await host.registry.loadAll()
  const { state, error } = recordOf(host, 'curious')
  assert.equal([state, error], ['disabled', 'it needs store.url to be none, which is no name of a driver'])
})

registry('refuses a service that lacks what its ref asks for, and says what', async () => {
  await using root = await tempDir()
  const driver = (id: string, service: string) =>
    writePlugin(root.path, {
      id,
      manifest: { provides: ['core.driver'] },
      code: codeOf({ instance: `services: new Map([['core.driver', ${service}]]),` }),
    })
  const whole = 'render, observe, apply, kick, ues'.replaceAll(/\w+/g, (name) => `${name}: async () => {}`)
  const packages = [
    await driver('empty', '{}'),
    await driver('null', 'null'),
    await driver('odd', `{ ${whole}, kick: 'yes', diagnose: 3 }`),
    await driver('whole', `{ ${whole} }`),
  ]
  await using host = await loadedHost({ packages })
  const refusal = (name: string) => recordOf(host, name).error ?? ''
  assert.match(
    refusal('empty'),
    'step setup: its service core.driver lacks render (function), observe (function), apply (function)',
  )
  assert.match(refusal('null'), 'its service core.driver is null and no object')
  assert.match(refusal('odd'), 'lacks kick (function, not string), diagnose (function?, not number)')
  assert.equal([recordOf(host, 'whole').state, refusal('whole')], ['running', ''])
})

registry('does requests that come at once one after the other', async () => {
  await using root = await tempDir()
  const names = ['a', 'b', 'c', 'd']
  const packages = await Promise.all(names.map((id) => writePlugin(root.path, { id })))
  await using host = await createTestHost({ packages })
  await Promise.all([...names, ...names].map((name) => host.registry.load(name)))
  await Promise.all(names.slice(0, 2).map((name) => host.registry.unload(name)))
  const states = host.registry.list().map(({ name, state }) => `${name} ${state}`)
  assert.equal(states, ['a unloaded', 'b unloaded', 'c running', 'd running'])
})

registry('runs migrations before the setup, and stops everything in the reverse order', async () => {
  await using root = await tempDir()
  const code = codeOf({
    setup: 'ctx.defer(() => ctx.log.info({}, "closed"))',
    instance: `
      start: async () => ctx.log.info({}, 'started'),
      stop: async (why) => ctx.log.info({ why }, 'stopped'),`,
  }).replace('export const plugin = {', "export const plugin = { migrations: [{ id: '0001_x', up: [] }],")
  const packages = [
    await writePlugin(root.path, { id: 'one', code }),
    await writePlugin(root.path, { id: 'two', code }),
  ]
  const host = await loadedHost({ packages })
  assert.equal(host.migrated.get('one'), ['0001_x'])
  await host.close()
  const events = host.lines
    .filter(({ message }) => ['started', 'stopped', 'closed'].includes(message))
    .map(({ facts, message }) => `${String(facts.plugin)} ${message}`)
  assert.equal(events, [
    'one started',
    'two started',
    'two stopped',
    'two closed',
    'one stopped',
    'one closed',
  ])
  assert.ok(
    host.lines.filter(({ message }) => message === 'stopped').every(({ facts }) => facts.why === 'shutdown'),
  )
})

registry.run()
