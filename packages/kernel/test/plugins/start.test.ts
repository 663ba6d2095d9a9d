import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { installPlugin } from '../../src/plugin-packages/install.ts'
import { createTestHost, failureOf, fastTimers, loadedHost, recordOf, type TestHost } from './test-host.ts'
import { ANYBODY, codeOf, type PluginSpec, writePlugin } from './test-plugin.ts'

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
  return (await installPlugin(await writePlugin(root, spec), join(root, 'plugins'), ANYBODY)).dir
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

for (const [what, own, foreign, reason, hasRun] of COLLISIONS.flatMap((one) => [
  [...one, false] as const,
  [...one, true] as const,
])) {
  start(
    `lets a plugin of the build win over one that takes ${what}, ${hasRun ? 'also' : 'not'} one that ran before`,
    async () => {
      await using root = await tempDir()
      // It has to wait for one that comes after it by name.
      const manifest = { ...own.manifest, requires: ['zone.word'] }
      const zone = { id: 'zone', code: provides('zone.word'), manifest: { provides: ['zone.word'] } }
      const packages = [
        await bundledNodes(root.path, { ...own, manifest }),
        await writePlugin(root.path, zone),
      ]
      const dir = await install(root.path, { id: 'a-thief', ...foreign })
      if (hasRun) {
        await using before = await hostOf(root.path, [])
        await before.registry.loadAll()
        assert.is(recordOf(before, 'a-thief').state, 'running')
      }
      await using host = await hostOf(root.path, packages)
      await host.registry.loadAll()
      assert.equal((await host.get('/v1/nodes')).body, { version: '1.0.0' })
      assert.is(recordOf(host, 'nodes').state, 'running')
      const { state, error } = recordOf(host, 'a-thief')
      assert.is(state, 'failed')
      assert.match(error ?? '', reason)
      assert.ok(error?.includes(dir), 'it names the folder')
      assert.match(error ?? '', /svc plugin uninstall a-thief/)
    },
  )
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
    const file = join(root.path, 'plugins', 'state.json')
    assert.equal(JSON.parse(await readFile(file, 'utf8')), {
      sometimes: { loads: { [basename(dir)]: 'ran' } },
    })
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
      JSON.parse(String(Reflect.get(globalThis, 'during'))).fatal.loads[name],
      /the service ended while it was loaded/,
    )
    assert.is(JSON.parse(await readFile(file, 'utf8')).fatal.loads[name], 'ran')
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
  const file = join(root.path, 'plugins', 'state.json')
  const before = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(
    file,
    JSON.stringify({
      mast: { loads: { ...before.mast.loads, [basename(dir)]: 'the service ended while it was loaded' } },
    }),
  )
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  const { state, version, error } = recordOf(host, 'mast')
  assert.equal([state, version], ['running', '1.0.0'])
  assert.match(error ?? '', /the service ended while it was loaded; its folder is .*mast@1\.1\.0/)
  assert.is((await host.registry.load('mast')).version, '1.1.0')
})

start('takes a failed plugin out when it is uninstalled', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  await install(root.path, { id: 'broken', code: codeOf({ setup: "throw new Error('no')" }) })
  await failureOf(() => host.registry.load('broken'))
  const gone = await host.registry.uninstall('broken')
  assert.equal([gone.name, gone.state, gone.error], ['broken', 'unloaded', undefined])
  assert.equal(host.registry.list(), [])
  assert.is(host.options.health.worst('broken'), undefined)
  assert.equal((await readdir(pluginsDir)).sort(), ['contents.json', 'state.json'])
  assert.is((await failureOf(() => host.registry.uninstall('broken'))).code, 'plugin_not_found')
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
  const left = await host.registry.uninstall('nodes')
  assert.equal(
    [left.state, left.version, left.error, left.versions],
    ['running', '1.0.0', undefined, ['1.0.0']],
  )
  assert.is((await host.get('/v1/nodes')).status, 200)
  assert.is((await failureOf(() => host.registry.uninstall('nodes'))).code, 'plugin_state_conflict')
})

start('goes back to the version of the build when the one in its place is uninstalled', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  const dir = await install(root.path, { id: 'nodes', version: '1.1.0' })
  await using host = await hostOf(root.path, [nodes])
  await host.registry.loadAll()
  assert.is(recordOf(host, 'nodes').version, '1.1.0')
  await writeFile(join(dir, 'plugin.js'), 'changed')
  const left = await host.registry.uninstall('nodes')
  assert.equal([left.state, left.version, left.versions], ['running', '1.0.0', ['1.0.0']])
  assert.equal((await host.get('/v1/nodes')).body, { version: '1.0.0' })
  assert.not((await readdir(join(root.path, 'plugins'))).includes(basename(dir)))
})

start('forgets a failed plugin whose folder somebody else has taken away', async () => {
  await using root = await tempDir()
  await using host = await hostOf(root.path, [])
  const { takeBack } = await installPlugin(
    await writePlugin(root.path, { id: 'broken', code: codeOf({ setup: "throw new Error('no')" }) }),
    join(root.path, 'plugins'),
    ANYBODY,
  )
  await failureOf(() => host.registry.load('broken'))
  await takeBack()
  assert.is((await host.registry.uninstall('broken')).state, 'unloaded')
  assert.is(host.options.health.worst('broken'), undefined)
  assert.equal(JSON.parse(await readFile(join(root.path, 'plugins', 'state.json'), 'utf8')), {})
})

start(
  'keeps a plugin switched off over restarts until it is enabled, unlike one that is unloaded',
  async () => {
    await using root = await tempDir()
    const packages = [await bundledNodes(root.path), await writePlugin(root.path, { id: 'extra' })]
    await install(root.path, { id: 'mine' })
    const states = (host: TestHost) => host.registry.list().map(({ name, state }) => `${name} ${state}`)
    {
      await using host = await hostOf(root.path, packages)
      await host.registry.loadAll()
      await host.registry.unload('extra')
      assert.is((await host.registry.disable('mine')).state, 'disabled')
      assert.is((await host.get('/v1/mine')).status, 404)
      assert.is((await failureOf(() => host.registry.disable('nodes'))).code, 'plugin_state_conflict')
      const { code, message } = await failureOf(() => host.registry.load('mine'))
      assert.is(code, 'plugin_state_conflict')
      assert.match(message, 'svc plugin enable mine')
    }
    await using host = await hostOf(root.path, packages)
    await host.registry.loadAll()
    assert.equal(states(host), ['extra running', 'mine disabled', 'nodes running'])
    assert.is((await host.registry.enable('mine')).state, 'running')
    await host.registry.disable('extra')
    await using next = await hostOf(root.path, packages)
    await next.registry.loadAll()
    assert.equal(states(next), ['extra disabled', 'mine running', 'nodes running'])
  },
)

start('removes the folders of what is uninstalled, running or not, one version or all', async () => {
  await using root = await tempDir()
  const pluginsDir = join(root.path, 'plugins')
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) await install(root.path, { id: 'mast', version })
  await using host = await hostOf(root.path, [])
  await host.registry.loadAll()
  const { version, versions } = await host.registry.uninstall('mast', '1.2.0')
  assert.equal([version, versions], ['1.1.0', ['1.1.0', '1.0.0']])
  assert.equal((await host.get('/v1/mast')).body, { version: '1.1.0' })
  assert.is((await host.registry.uninstall('mast')).state, 'unloaded')
  assert.is((await host.get('/v1/mast')).status, 404)
  assert.equal((await readdir(pluginsDir)).sort(), ['contents.json', 'state.json'])
  for (const file of ['contents.json', 'state.json'])
    assert.equal(JSON.parse(await readFile(join(pluginsDir, file), 'utf8')), {}, file)
  assert.is((await failureOf(() => host.registry.uninstall('mast'))).code, 'plugin_not_found')
})

start('leaves what is installed alone in safe mode, shows it and can remove it', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path)
  await install(root.path, { id: 'nodes', version: '1.1.0' })
  await install(root.path, { id: 'mine' })
  {
    await using host = await hostOf(root.path, [nodes])
    await host.registry.loadAll()
    assert.is(recordOf(host, 'nodes').version, '1.1.0')
  }
  const sources = { packages: [nodes], pluginsDir: join(root.path, 'plugins'), isSafeMode: true }
  await using host = await loadedHost(sources)
  assert.equal([recordOf(host, 'nodes').version, recordOf(host, 'mine').state], ['1.0.0', 'disabled'])
  assert.match((await failureOf(() => host.registry.load('mine'))).message, 'safe mode')
  await host.registry.uninstall('mine')
  assert.equal(
    host.registry.list().map(({ name }) => name),
    ['nodes'],
  )
})

start('loads a plugin of the build after the installed one that it requires', async () => {
  await using root = await tempDir()
  const nodes = await bundledNodes(root.path, { manifest: { requires: ['mast.driver'] } })
  const user = await writePlugin(root.path, { id: 'a-user', manifest: { requires: ['hlr.driver'] } })
  const driver = (service: string): PluginSpec => ({
    code: provides(service),
    manifest: { provides: [service] },
  })
  await install(root.path, { id: 'z-mast', ...driver('mast.driver') })
  await install(root.path, { id: 'z-hss', ...driver('hlr.driver') })
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
  await using host = await loadedHost({ packages: [dir, other] })
  for (const id of ['sample', 'other']) {
    const failure = await failureOf(() => host.registry.load(id))
    for (const text of [failure.message, recordOf(host, id).error ?? '']) {
      assert.match(text, /redacted/)
      assert.not.match(text, /Abcdefgh|hunter2/)
    }
  }
})

start.run()
