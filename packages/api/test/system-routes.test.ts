import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PluginRecord } from '@steeple/kernel'
import { assert, suite, tempDir } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const system = suite('api/system-routes')

let world: World
system.before.each(async () => {
  world = await serveRoutes([])
})
system.after.each(() => world.close())

const plugin = (name: string, state: PluginRecord['state'] = 'running'): PluginRecord => ({
  name,
  version: '1.2.3',
  kind: 'feature',
  state,
  health: 'ok',
  loadedAtMs: 0,
  error: undefined,
  essential: false,
  versions: ['1.2.3'],
  installed: [],
  signedBy: undefined,
})

system('is healthy while the store answers and says 503 while it does not', async () => {
  const answer = await world.ask('/v1/healthz')
  assert.is(answer.status, 200)
  assert.equal(answer.body, { status: 'ok', version: '0.1.0' })
  world.kernel.isDown = true
  const down = await world.ask('/v1/healthz')
  assert.is(down.status, 503)
  assert.is(down.body.error.code, 'store_unavailable')
  assert.not.match(down.text, 'disk')
})

system('says what is running', async () => {
  assert.equal((await world.ask('/v1/version')).body, {
    version: '0.1.0',
    api: 'v1',
    commit: null,
    build_date: null,
    plugins: [{ name: 'sample', version: '1.0.0', pages: [], panels: [] }],
  })
})

system('gives the texts of the plugins that run, in English where there are no others', async () => {
  await using temp = await tempDir()
  const write = (language: string, text: string): void =>
    writeFileSync(join(temp.path, `${language}.json`), text)
  write('en', JSON.stringify({ 'notes.title': 'Notes', 'notes.none': 'None yet', 'notes.count': 3 }))
  write('de', JSON.stringify({ 'notes.title': 'Notizen' }))
  world.kernel.info.plugins = () => [
    { name: 'sample', version: '1.0.0' },
    { name: 'notes', version: '1.0.0', textsDir: temp.path },
  ]
  assert.equal((await world.ask('/v1/texts/en')).body, { 'notes.title': 'Notes', 'notes.none': 'None yet' })
  assert.equal((await world.ask('/v1/texts/de')).body, { 'notes.title': 'Notizen', 'notes.none': 'None yet' })
  assert.is((await world.ask('/v1/texts/xx')).status, 400)
  // What is damaged takes nobody else's along, and what is gone is said no more.
  world.kernel.info.plugins = () => [
    { name: 'notes', version: '1.0.0', textsDir: temp.path },
    { name: 'other', version: '1.0.0', textsDir: join(temp.path, 'nowhere') },
  ]
  write('de', '{')
  assert.equal((await world.ask('/v1/texts/de')).body['notes.title'], 'Notes')
  world.kernel.info.plugins = () => []
  assert.equal((await world.ask('/v1/texts/de')).body, {})
})

system('shows the configuration to an admin, and to nobody else', async () => {
  const { body } = await world.ask('/v1/settings', { token: ADMIN_TOKEN })
  const [country] = body.settings
  assert.equal(
    [country.key, country.value, country.from, country.awaits_start, country.flag, country.plugin],
    ['server.country', 'DE', 'control.yaml:2:12', false, null, null],
  )
  const operator = world.kernel.token('olga', ['operator'])
  assert.is((await world.ask('/v1/settings', { token: operator })).status, 403)
})

system('shows metrics of the kernel and of itself, by route pattern', async () => {
  await world.ask('/v1/healthz')
  await world.ask('/v1/secret-in-url?token=abc')
  const answer = await world.ask('/metrics')
  assert.is(answer.status, 200)
  assert.is(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(answer.text, 'svc_sim_state{state="in-use"} 2')
  assert.match(answer.text, 'svc_http_requests_total{method="GET",route="/v1/healthz",status="200"} 1')
  assert.match(answer.text, 'svc_http_requests_total{method="GET",route="unmatched",status="404"} 1')
  assert.match(
    answer.text,
    'svc_http_request_duration_seconds_bucket{method="GET",route="/v1/healthz",le="+Inf"} 1',
  )
  assert.match(answer.text, /svc_http_connections_open [1-9]/)
  assert.not.match(answer.text, 'secret-in-url')
})

system('keeps metrics to the networks of auth.metrics_allow, and follows a change of it', async () => {
  world.kernel.changeSettings({ auth: { metrics_allow: ['10.0.0.0/8', '2001:db8::/32'] } })
  const outside = await world.ask('/metrics', { headers: { 'x-forwarded-for': '10.1.2.3' } })
  assert.is(outside.status, 403)
  assert.is(outside.body.error.code, 'forbidden')
  world.kernel.changeSettings({ auth: { metrics_allow: ['127.0.0.1'] } })
  assert.is((await world.ask('/metrics')).status, 200)
  world.kernel.changeSettings({ telemetry: { metrics: false } })
  assert.is((await world.ask('/metrics')).status, 404)
})

system('lists plugins page by page, for admins', async () => {
  for (const name of ['gamma', 'alpha', 'beta']) world.kernel.plugins.set(name, plugin(name))
  const first = await world.ask('/v1/plugins?limit=2', { token: ADMIN_TOKEN })
  assert.equal(
    first.body.plugins.map((one: { name: string }) => one.name),
    ['alpha', 'beta'],
  )
  const second = await world.ask(`/v1/plugins?limit=2&cursor=${first.body.next_cursor}`, {
    token: ADMIN_TOKEN,
  })
  assert.equal(second.body.plugins[0], {
    name: 'gamma',
    version: '1.2.3',
    kind: 'feature',
    state: 'running',
    isolation: 'inline',
    health: 'ok',
    loaded_at: '1970-01-01T00:00:00.000Z',
    loaded_because: null,
    error: null,
    essential: false,
    versions: ['1.2.3'],
    installed: [],
    signed_by: null,
  })
  assert.is(second.body.next_cursor, null)
  const operator = world.kernel.token('operator', ['operator'])
  assert.is((await world.ask('/v1/plugins', { token: operator })).status, 403)
})

system('loads, reloads, unloads, disables, enables and uninstalls a plugin, audited', async () => {
  world.kernel.plugins.set('alpha', plugin('alpha', 'found'))
  for (const [verb, state] of [
    ['load', 'running'],
    ['reload', 'running'],
    ['unload', 'unloaded'],
    ['disable', 'disabled'],
    ['enable', 'running'],
    ['uninstall', 'unloaded'],
  ] as const) {
    const answer = await world.ask(`/v1/plugins/alpha/${verb}`, { method: 'POST', token: ADMIN_TOKEN })
    assert.is(answer.status, 200)
    assert.is(answer.body.state, state)
  }
  assert.equal(
    world.kernel.audited.map(({ action, target, outcome }) => [action, target, outcome]),
    [
      ['plugin.load', 'alpha', 'ok'],
      ['plugin.reload', 'alpha', 'ok'],
      ['plugin.unload', 'alpha', 'ok'],
      ['plugin.disable', 'alpha', 'ok'],
      ['plugin.enable', 'alpha', 'ok'],
      ['plugin.uninstall', 'alpha', 'ok'],
    ],
  )
  const unknown = await world.ask('/v1/plugins/nobody/load', { method: 'POST', token: ADMIN_TOKEN })
  assert.is(unknown.body.error.code, 'plugin_not_found')
  assert.is(world.kernel.audited.at(-1)?.outcome, 'failed')
})

system('logs one line for each request, without anything that is secret', async () => {
  const token = world.kernel.token('watcher', ['viewer'])
  await world.ask('/v1/plugins?cursor=secret-query', {
    token,
    headers: { 'x-request-id': 'log-1', 'x-secret': 'secret-header' },
  })
  const lines = world.kernel.lines.filter((line) => line.facts.request_id === 'log-1')
  assert.is(lines.length, 1)
  const facts = lines[0]?.facts
  assert.is(facts?.route, '/v1/plugins')
  assert.is(facts?.status, 403)
  assert.is(facts?.principal, 'token:id-watcher')
  assert.is(facts?.ip, '127.0.0.1')
  const everything = JSON.stringify(world.kernel.lines)
  for (const secret of ['secret-query', 'secret-header', token, ADMIN_TOKEN])
    assert.not.match(everything, secret)
})

system(
  'serves the page of the API beside the documentation, under a policy that lets nothing else load',
  async () => {
    await using site = await tempDir()
    const files = { 'index.html': '<h1>Guides</h1>', 'api.html': '<h1>API</h1>', 'api.js': 'start()' }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(site.path, name), text)
    mkdirSync(join(site.path, 'how-to'))
    writeFileSync(join(site.path, 'how-to/sims.html'), '<h1>SIMs</h1>')
    await using own = await serveRoutes([], { documentation: site.path })
    for (const [path, leadsTo] of [
      ['/docs/how-to/sims', '/docs/how-to/sims.html'],
      ['/docs/how-to/sims/', '/docs/how-to/sims.html'],
      ['/docs/how-to/', '/docs/index.html'],
      ['/docs/how-to', '/docs/index.html'],
      ['/docs/api', '/docs/api.html'],
    ] as const) {
      const answer = await fetch(`${own.url}${path}`, { redirect: 'manual' })
      assert.equal([answer.status, answer.headers.get('location')], [302, leadsTo], path)
    }
    for (const [path, type, text] of [
      ['/v1/docs', 'text/html', files['api.html']],
      ['/docs/', 'text/html', files['index.html']],
      ['/docs/api.js', 'text/javascript', files['api.js']],
    ] as const) {
      const answer = await own.ask(path)
      assert.is(answer.status, 200, path)
      assert.is(answer.text, text, path)
      assert.is(answer.headers.get('content-type'), `${type}; charset=utf-8`, path)
      const policy = answer.headers.get('content-security-policy') ?? ''
      assert.match(policy, "default-src 'none'", path)
      assert.not.match(policy, /unsafe|https?:|\*/, path)
    }
  },
)

system('says that there is no documentation where the build carries none', async () => {
  for (const path of ['/docs', '/docs/', '/docs/index.html', '/docs/how-to/sims.html', '/v1/docs']) {
    const answer = await world.ask(path)
    assert.is(answer.status, 404, path)
    assert.match(answer.text, /"not_found"/, path)
  }
})

system.run()
