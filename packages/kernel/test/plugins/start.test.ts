import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { installPlugin } from '../../src/plugins/install.ts'
import { createTestHost, failureOf, fastTimers, recordOf, type TestHost } from './test-host.ts'
import { codeOf, type PluginSpec, writePlugin } from './test-plugin.ts'

const start = suite('kernel/plugins/start')

const HANGS = codeOf({ setup: 'globalThis.hung = (globalThis.hung ?? 0) + 1; await new Promise(() => {})' })
const TAKES_NODES = codeOf().replace("'/v1/' + ctx.plugin.id", "'/v1/nodes'")
const reconciles = (resource: string): string =>
  codeOf({
    instance: `reconcilers: [{ resource: '${resource}', resyncMs: 60000, keys: async () => [], reconcile: async () => new Map() }],`,
  })
const provides = (service: string): string =>
  codeOf({ instance: `services: new Map([['${service}', { greet: async () => 'hello' }]]),` })

async function install(root: string, spec: PluginSpec): Promise<string> {
  return (await installPlugin(await writePlugin(root, spec), join(root, 'plugins'))).dir
}

async function bundledNodes(root: string, spec: PluginSpec = {}): Promise<string> {
  return await writePlugin(root, {
    id: 'nodes',
    ...spec,
    manifest: { essential: true, ...spec.manifest },
  })
}

async function hostOf(root: string, packages: readonly string[]): Promise<TestHost> {
  return await createTestHost(
    { packages: [...packages], pluginsDir: join(root, 'plugins') },
    { timers: fastTimers(20) },
  )
}

const COLLISIONS: readonly (readonly [string, PluginSpec, PluginSpec, RegExp])[] = [
  ['its route', {}, { code: TAKES_NODES }, /step routes: .*\/v1\/nodes/],
  ['its resource', { code: reconciles('mast') }, { code: reconciles('mast') }, /the resource mast is/],
  [
    'its service',
    { code: provides('nodes.greeter'), manifest: { provides: ['nodes.greeter'] } },
    { code: provides('nodes.greeter'), manifest: { provides: ['nodes.greeter'] } },
    /step check: it provides nodes\.greeter, which nodes provides already/,
  ],
]

for (const [what, own, foreign, reason] of COLLISIONS) {
  start(`lets a plugin of the build win over an installed one that takes ${what}`, async () => {
    await using root = await tempDir()
    const nodes = await bundledNodes(root.path, own)
    const dir = await install(root.path, { id: 'a-thief', ...foreign })
    await using host = await hostOf(root.path, [nodes])
    await host.registry.loadAll()
    assert.equal((await host.get('/v1/nodes')).body, { version: '1.0.0' })
    assert.is(recordOf(host, 'nodes').state, 'running')
    const { state, error } = recordOf(host, 'a-thief')
    assert.is(state, 'failed')
    assert.match(error ?? '', reason)
    assert.ok(error?.includes(dir), 'it names the folder')
    assert.match(error ?? '', /svc plugin unload a-thief/)
  })
}

start('gives the id of a plugin of the build to no other package', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  await install(root.path, { id: 'nodes', version: '9.0.0', packageName: '@other/nodes' })
  await using host = await hostOf(root.path, [nodes])
  await host.registry.loadAll()
  const { state, version, error } = recordOf(host, 'nodes')
  assert.equal([state, version], ['running', '1.0.0'])
  assert.match(error ?? '', /its id belongs to @test\/nodes, this is @other\/nodes/)
})

start('goes on with the version of the build when an installed one that ran no longer starts', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  const code = codeOf({ setup: "if (globalThis.isBroken) throw new Error('no longer')" })
  await install(root.path, { id: 'nodes', version: '1.1.0', code })
  {
    await using host = await hostOf(root.path, [nodes])
    await host.registry.loadAll()
    assert.is(recordOf(host, 'nodes').version, '1.1.0')
    assert.ok(recordOf(host, 'nodes').essential, 'it takes the place of one that is part of every build')
  }
  Reflect.set(globalThis, 'isBroken', true)
  try {
    await using host = await hostOf(root.path, [nodes])
    await host.registry.loadAll()
    const { state, version, error } = recordOf(host, 'nodes')
    assert.equal([state, version], ['running', '1.0.0'])
    assert.match(error ?? '', /step setup: no longer/)
  } finally {
    Reflect.deleteProperty(globalThis, 'isBroken')
  }
})

start('does not let an installed plugin call itself essential', async () => {
  await using root = await tempDir()
  const code = codeOf({ setup: "throw new Error('no')" })
  await install(root.path, { id: 'vain', manifest: { essential: true }, code })
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  assert.equal([recordOf(host, 'vain').state, recordOf(host, 'vain').essential], ['failed', false])
})

start('serves the plugins of the build before an installed one is tried', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  await install(root.path, { id: 'a-slow', code: HANGS })
  await install(root.path, { id: 'b-quick' })
  await using host = await hostOf(root.path, [nodes])
  await host.registry.loadBundled()
  assert.is((await host.get('/v1/nodes')).status, 200)
  assert.equal([recordOf(host, 'a-slow').state, recordOf(host, 'b-quick').state], ['loading', 'loading'])
  await host.registry.loadInstalled()
  assert.equal([recordOf(host, 'a-slow').state, recordOf(host, 'b-quick').state], ['failed', 'running'])
  assert.is((await host.get('/v1/b-quick')).status, 200)
})

start('does not try again at a start what was refused, until it is asked for', async () => {
  await using root = await tempDir()
  Reflect.deleteProperty(globalThis, 'hung')
  {
    await using host = await hostOf(root.path, [])
    await host.registry.loadAll()
    await install(root.path, { id: 'slow', code: HANGS })
    assert.is((await failureOf(() => host.registry.load('slow'))).code, 'plugin_failed')
  }
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  assert.is(Reflect.get(globalThis, 'hung'), 1)
  assert.is(recordOf(host, 'slow').state, 'failed')
  assert.match(
    recordOf(host, 'slow').error ?? '',
    /step setup: its setup took longer than 10 s.*svc plugin load slow/,
  )
  assert.is(recordOf(host, 'slow').health, 'down')
  await failureOf(() => host.registry.load('slow'))
  assert.is(Reflect.get(globalThis, 'hung'), 2)
})

start(
  'does not try again a version with which the service ended, and tries one that ran before',
  async () => {
    await using root = await tempDir()
    const code = codeOf({ setup: "if (globalThis.noAntenna) throw new Error('no antenna')" })
    const dir = await install(root.path, { id: 'sometimes', code })
    {
      await using host = await hostOf(root.path, [])
      await host.registry.loadAll()
      assert.is(recordOf(host, 'sometimes').state, 'running')
    }
    const file = join(root.path, 'plugins', 'loads.json')
    assert.equal(JSON.parse(await readFile(file, 'utf8')), { [basename(dir)]: 'ran' })
    Reflect.set(globalThis, 'noAntenna', true)
    {
      await using host = await hostOf(root.path, [])
      await host.registry.loadAll()
      assert.is(recordOf(host, 'sometimes').state, 'failed')
    }
    Reflect.deleteProperty(globalThis, 'noAntenna')
    {
      await using host = await hostOf(root.path, [])
      await host.registry.loadAll()
      assert.is(recordOf(host, 'sometimes').state, 'running')
    }
    const fatal = codeOf({
      head: "import { readFileSync } from 'node:fs'\n",
      setup: `globalThis.during = readFileSync('${file}', 'utf8')`,
    })
    const name = basename(await install(root.path, { id: 'fatal', code: fatal }))
    await using host = await hostOf(root.path, [])
    await host.registry.loadAll()
    // What stands there while it is tried is what a start after a crash would find.
    assert.match(
      JSON.parse(String(Reflect.get(globalThis, 'during')))[name],
      /the service ended while it was loaded/,
    )
    assert.is(JSON.parse(await readFile(file, 'utf8'))[name], 'ran')
  },
)

start('goes back to the version that ran when the service ended in the middle of an upgrade', async () => {
  await using root = await tempDir()
  await install(root.path, { id: 'mast', version: '1.0.0' })
  {
    await using host = await hostOf(root.path, [])
    await host.registry.loadAll()
  }
  const dir = await install(root.path, { id: 'mast', version: '1.1.0' })
  const file = join(root.path, 'plugins', 'loads.json')
  const before = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(
    file,
    JSON.stringify({ ...before, [basename(dir)]: 'the service ended while it was loaded' }),
  )
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  const { state, version, error } = recordOf(host, 'mast')
  assert.equal([state, version], ['running', '1.0.0'])
  assert.match(error ?? '', /the service ended while it was loaded; its folder is .*mast@1\.1\.0/)
  assert.is((await host.registry.load('mast')).version, '1.1.0')
})

start('takes a failed plugin out when it is unloaded', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  await install(root.path, { id: 'broken', code: codeOf({ setup: "throw new Error('no')" }) })
  await failureOf(() => host.registry.load('broken'))
  const gone = await host.registry.unload('broken')
  assert.equal([gone.name, gone.state, gone.error], ['broken', 'unloaded', undefined])
  assert.equal(host.registry.list(), [])
  assert.is(host.options.health.worst('broken'), undefined)
  assert.equal(await readdir(pluginsDir), ['loads.json'])
  assert.is((await failureOf(() => host.registry.unload('broken'))).code, 'plugin_not_found')
})

start('takes only the failed version out of the build’s own, and says when there is none', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  await using host = await hostOf(root.path, [nodes])
  await host.registry.loadAll()
  await install(root.path, {
    id: 'nodes',
    version: '1.1.0',
    code: codeOf({ setup: "throw new Error('no')" }),
  })
  await failureOf(() => host.registry.load('nodes'))
  const left = await host.registry.unload('nodes')
  assert.equal(
    [left.state, left.version, left.error, left.versions],
    ['running', '1.0.0', undefined, ['1.0.0']],
  )
  assert.is((await host.get('/v1/nodes')).status, 200)
  assert.is((await failureOf(() => host.registry.unload('nodes'))).code, 'plugin_state_conflict')
})

start(
  'keeps the folder of an essential version that runs, even when its file was changed since',
  async () => {
    await using root = await tempDir()
    const nodes = await bundledNodes(root.path)
    const dir = await install(root.path, { id: 'nodes', version: '1.1.0' })
    await using host = await hostOf(root.path, [nodes])
    await host.registry.loadAll()
    await writeFile(join(dir, 'plugin.js'), 'changed')
    assert.is((await failureOf(() => host.registry.unload('nodes'))).code, 'plugin_state_conflict')
    assert.ok((await readdir(join(root.path, 'plugins'))).includes(basename(dir)))
  },
)

start('forgets a failed plugin whose folder somebody else has taken away', async () => {
  await using root = await tempDir()
  await using host = await hostOf(root.path, [])
  const { takeBack } = await installPlugin(
    await writePlugin(root.path, { id: 'broken', code: codeOf({ setup: "throw new Error('no')" }) }),
    join(root.path, 'plugins'),
  )
  await failureOf(() => host.registry.load('broken'))
  await takeBack()
  assert.is((await host.registry.unload('broken')).state, 'unloaded')
  assert.is(host.options.health.worst('broken'), undefined)
  assert.equal(JSON.parse(await readFile(join(root.path, 'plugins', 'loads.json'), 'utf8')), {})
})

start('loads a plugin of the build after the installed one that it requires', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path, { manifest: { requires: ['mast.driver'] } })
  const user = await writePlugin(root.path, { id: 'a-user', manifest: { requires: ['hss.driver'] } })
  const driver = (service: string): PluginSpec => ({
    code: provides(service),
    manifest: { provides: [service] },
  })
  await install(root.path, { id: 'z-mast', ...driver('mast.driver') })
  await install(root.path, { id: 'z-hss', ...driver('hss.driver') })
  await using host = await hostOf(root.path, [nodes, user])
  await host.registry.loadBundled()
  const states = () => host.registry.list().map(({ name, state }) => `${name} ${state}`)
  assert.equal(states(), ['a-user loading', 'nodes running', 'z-hss loading', 'z-mast running'])
  await host.registry.loadInstalled()
  assert.equal(states(), ['a-user running', 'nodes running', 'z-hss running', 'z-mast running'])
})

start('shows no secret of a plugin’s message', async () => {
  await using root = await tempDir()
  const message =
    'sent Bearer svc_Abcdefghijklmnopqrstuvwxyz0123456789_-AbCdEfG to postgres://user:hunter2@host/db'
  const dir = await writePlugin(root.path, { code: codeOf({ setup: `throw new Error('${message}')` }) })
  const forged = `const error = new Error('${message}'); throw Object.assign(error, { code: 'plugin_failed', status: 500 })`
  const other = await writePlugin(root.path, { id: 'other', code: codeOf({ setup: forged }) })
  await using host = await createTestHost({ packages: [dir, other] })
  await host.registry.loadAll()
  for (const id of ['sample', 'other']) {
    const failure = await failureOf(() => host.registry.load(id))
    for (const text of [failure.message, recordOf(host, id).error ?? '']) {
      assert.match(text, /redacted/)
      assert.not.match(text, /Abcdefgh|hunter2/)
    }
  }
})

start.run()
