import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually, suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import type { RegistryOptions } from '../../src/plugins/registry.ts'
import { createTestHost, failureOf, fastTimers, recordOf, type TestHost } from './test-host.ts'
import { codeOf, type PluginSpec, writePlugin } from './test-plugin.ts'

const isolation = suite('kernel/plugins/process')

const fixture = await readFile(new URL('../fixtures/process-plugin.js', import.meta.url), 'utf8')
const PROBE: PluginSpec = {
  id: 'probe',
  manifest: { isolation: 'process', provides: ['probe.echo'] },
  code: fixture,
}

interface Echo {
  readonly word: string
  say(text: string, bytes: Uint8Array): Promise<unknown>
  refuse(): Promise<void>
  wait(signal: AbortSignal): Promise<void>
}

interface Facts {
  readonly pid: number
  readonly env: readonly string[]
  readonly [key: string]: unknown
}

async function probeHost(root: string, more: Partial<RegistryOptions> = {}): Promise<TestHost> {
  const host = await createTestHost({ packages: [await writePlugin(root, PROBE)] }, more)
  host.options.services.set(
    'kernel',
    new Map<string, object>([
      ['kernel.vault', { open: () => 'a key' }],
      [
        'host.adder',
        {
          add: async (a: number, b: number) => a + b,
          fail: async () => {
            throw new Error('the host failed')
          },
        },
      ],
    ]),
  )
  host.settings.config.probe = { gain: 5 }
  await host.registry.loadAll()
  return host
}

const facts = async (host: TestHost): Promise<Facts> => (await host.get('/v1/probe/facts')).body as Facts
const bodyOf = async (host: TestHost, kind: string): Promise<unknown> =>
  (await host.get(`/v1/probe/${kind}`)).body

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const hasNoChildren = (): boolean => !process.getActiveResourcesInfo().includes('ProcessWrap')

isolation('runs a plugin in a process of its own, without the environment of the service', async () => {
  await using root = await tempDir()
  process.env.SVC_ADMIN_TOKEN = 'not for plugins'
  try {
    await using host = await probeHost(root.path)
    const seen = await facts(host)
    assert.is.not(seen.pid, process.pid)
    assert.equal(
      seen.env.filter((name) => !['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'].includes(name)),
      ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE'].filter((name) => seen.env.includes(name)),
    )
    assert.equal(seen.config, { gain: 5 })
    assert.equal(seen.roles, ['viewer'])
    assert.is(recordOf(host, 'probe').isolation, 'process')
  } finally {
    delete process.env.SVC_ADMIN_TOKEN
  }
})

isolation('carries reconcilers, metrics, health and periodic work over to the service', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  await eventually(() => host.options.reconciler.isReady)
  await eventually(async () => ((await facts(host)).ticks as number) > 1)
  assert.equal((await facts(host)).reconciled, ['a', 'b', false])
  const text = await host.options.metrics.text()
  assert.match(text, /svc_probe_seen_total\{kind="facts"\} \d/)
  assert.match(text, 'svc_probe_level 3')
  assert.match(text, 'svc_probe_seconds_bucket{le="2"}')
  assert.match(text, 'svc_reconcile_total{resource="probe",result="converged"} 2')
  await host.options.health.poll()
  assert.equal(
    host.options.health.components().map(({ name, status, detail }) => [name, status, detail]),
    [['probe.antenna', 'degraded', 'wet']],
  )
  assert.is(recordOf(host, 'probe').health, 'degraded')
})

isolation('lets both sides call each other’s services', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  assert.equal(await bodyOf(host, 'service'), { value: 5 })
  assert.equal(await bodyOf(host, 'fails'), { message: 'the host failed' })
  assert.equal(await bodyOf(host, 'missing'), { value: true })
  const echo = host.options.services.use<Echo>({ id: 'probe.echo' })
  assert.is(echo.word, 'echo')
  const said = await echo.say('hello', new Uint8Array([1, 2]))
  assert.equal(said, { text: 'hello', bytes: new Uint8Array([1, 2]), map: new Map([['a', 1]]) })
  assert.equal(await failureOf(() => echo.refuse()), { code: 'southbound_unavailable', message: 'no radio' })
  const abort = new AbortController()
  const waiting = echo.wait(abort.signal)
  abort.abort()
  await waiting.then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'aborted in the child'),
  )
})

isolation('refuses what cannot work across processes, and says why', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  for (const kind of ['db', 'mutate', 'callback', 'vault']) {
    const { code } = (await bodyOf(host, kind)) as { code: string }
    assert.ok(['plugin_isolation', 'plugin_dependency_missing'].includes(code), `${kind}: ${code}`)
  }
})

isolation('tells the child of changed settings', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  host.changed()
  await eventually(async () => (await facts(host)).settingsSeen === 1)
})

isolation('stops the child in order when the plugin is unloaded', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  const { pid } = await facts(host)
  await host.registry.unload('probe')
  assert.not(isAlive(pid))
  assert.is((await host.get('/v1/probe/facts')).status, 404)
  const messages = host.lines
    .filter(({ facts: { plugin } }) => plugin === 'probe')
    .map(({ message }) => message)
  assert.equal(messages.slice(0, 2), ['child stopped', 'child closed'])
})

isolation('upgrades to a new process before the old one ends', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  const { pid } = await facts(host)
  ;(host.options.sources.packages as string[]).push(
    await writePlugin(root.path, { ...PROBE, version: '1.1.0' }),
  )
  await host.registry.load('probe')
  const after = await facts(host)
  assert.is.not(after.pid, pid)
  assert.not(isAlive(pid))
})

isolation('answers 503 while a crashed process is away, and starts it again', async () => {
  await using root = await tempDir()
  await using host = await probeHost(root.path)
  const { pid } = await facts(host)
  await host.get('/v1/probe/crash')
  await eventually(async () => (await host.get('/v1/probe/facts')).status === 503)
  const { body } = await host.get('/v1/probe/facts')
  assert.is((body as { error: { code: string } }).error.code, 'not_ready')
  await host.options.health.poll()
  assert.is(recordOf(host, 'probe').health, 'down')
  const echo = host.options.services.use<Echo>({ id: 'probe.echo' })
  assert.is((await failureOf(() => echo.refuse())).code, 'southbound_unavailable')
  await eventually(async () => (await facts(host)).pid !== undefined, 4_000)
  assert.is.not((await facts(host)).pid, pid)
  await host.options.health.poll()
  assert.is(recordOf(host, 'probe').health, 'degraded')
  assert.match(await host.options.metrics.text(), /svc_probe_seen_total\{kind="facts"\} [3-9]/)
  assert.ok(host.lines.some(({ facts: { text } }) => String(text).includes('crash on purpose')))
})

isolation(
  'kills a process that hangs, and starts it again',
  async () => {
    await using root = await tempDir()
    await using host = await probeHost(root.path)
    const { pid } = await facts(host)
    await host.get('/v1/probe/hang')
    await eventually(async () => {
      await host.options.health.poll()
      return !isAlive(pid)
    }, 8_000)
    await eventually(async () => ((await facts(host)).pid ?? pid) !== pid, 4_000)
  },
  { limitMs: 20_000 },
)

for (const [what, code, expected] of [
  ['exits in setup', codeOf({ setup: 'process.exit(3)' }), /step setup: its process ended: exit code 3/],
  ['exits when imported', 'process.exit(4)', /step import: its process ended: exit code 4/],
  ['throws in setup', codeOf({ setup: 'throw new Error("no tap")' }), /step setup: no tap/],
  [
    'changes desired state',
    codeOf().replace("'GET'", "'POST', audit: 'x.y'"),
    /step setup: route POST .* inline plugin/,
  ],
  ['has pages', codeOf().replace("'GET'", "'GET', paged: true"), /step setup: route GET .* is paged/],
  [
    'has tables',
    codeOf().replace('plugin = {', "plugin = { migrations: [{ id: '0001_x', up: [] }],"),
    /step import: a plugin with isolation "process" has no tables/,
  ],
  [
    'takes a metric of others',
    codeOf({ setup: "ctx.metrics.gauge('svc_x', '')" }),
    /step setup: metric svc_x of sample/,
  ],
] as const) {
  isolation(`refuses a process plugin that ${what} and leaves no process behind`, async () => {
    await using root = await tempDir()
    const other = await writePlugin(root.path, { id: 'other' })
    const dir = await writePlugin(root.path, { manifest: { isolation: 'process' }, code })
    await using host = await createTestHost({ packages: [other, dir] })
    await host.registry.loadAll()
    assert.match(recordOf(host, 'sample').error ?? '', expected)
    assert.is((await host.get('/v1/other')).status, 200)
    await eventually(hasNoChildren)
  })
}

isolation(
  'gives up on a process that hangs in setup',
  async () => {
    await using root = await tempDir()
    const dir = await writePlugin(root.path, {
      manifest: { isolation: 'process' },
      code: codeOf({ setup: 'for (;;);' }),
    })
    await using host = await createTestHost({ packages: [dir] }, { timers: fastTimers(4) })
    await host.registry.loadAll()
    assert.match(recordOf(host, 'sample').error ?? '', /step setup: .*10 s/)
    await eventually(hasNoChildren)
  },
  { limitMs: 20_000 },
)

isolation('ends the child when the service is killed', async () => {
  await using root = await tempDir()
  const dir = await writePlugin(root.path, {
    manifest: { isolation: 'process' },
    code: codeOf({ setup: "ctx.log.info({ pid: process.pid }, 'here')" }),
  })
  const script = join(root.path, 'service.ts')
  const host = new URL('./test-host.ts', import.meta.url).href
  await writeFile(
    script,
    `import { createTestHost } from ${JSON.stringify(host)}
     const made = await createTestHost({ packages: [${JSON.stringify(dir)}] })
     await made.registry.loadAll()
     process.stdout.write(String(made.lines.find(({ message }) => message === 'here').facts.pid) + '\\n')`,
  )
  const service = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = (await once(createInterface({ input: service.stdout }), 'line')) as [string]
    const pid = Number(line)
    assert.ok(isAlive(pid), line)
    service.kill('SIGKILL')
    await eventually(() => !isAlive(pid), 4_000)
  } finally {
    service.kill('SIGKILL')
  }
})

isolation.run()
