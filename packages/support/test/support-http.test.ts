import { gunzipSync } from 'node:zlib'
import { assert, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { filesIn } from './support/untar.ts'

const test = suite('support over HTTP')

let bed: Testbed

test.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)] })
})
test.after(() => bed.stop())

interface Levels {
  readonly level: string
  readonly components: readonly string[]
  readonly holds: readonly {
    readonly component: string | null
    readonly level: string
    readonly until: string
  }[]
}

async function put(body: object): Promise<{ readonly status: number; readonly body: Levels }> {
  const { status, body: answer } = await bed.request('PUT', '/v1/log-level', { body })
  return { status, body: answer as Levels }
}

test('a bundle is an archive of texts, and its taking is in the audit trail', async () => {
  const response = await fetch(`${bed.url}/v1/support/bundle`, {
    headers: { authorization: `Bearer ${bed.adminToken}` },
  })
  assert.is(response.status, 200)
  assert.is(response.headers.get('content-type'), 'application/gzip')
  assert.match(
    response.headers.get('content-disposition') ?? '',
    /"svc-support-[0-9a-f]{8}-\d{8}T\d{6}Z\.tar\.gz"/,
  )
  const files = await filesIn(gunzipSync(await response.bytes()))
  const manifest = JSON.parse(files.get('svc-support/manifest.json') ?? '')
  assert.equal(manifest.failed, {})
  assert.equal(
    [...files.keys()].toSorted(),
    [...manifest.files, 'manifest.json'].map((name) => `svc-support/${name}`).toSorted(),
  )
  const config = JSON.parse(files.get('svc-support/config.json') ?? '')
  assert.is(config['server.mode'], 'lab')
  assert.is(config['server.data_dir'], '[replaced]')
  assert.match(files.get('svc-support/metrics.txt') ?? '', /^# HELP /)
  const [entry] = await bed.audit()
  assert.equal([entry?.action, entry?.target], ['support.bundle', bed.identity.nodeId])
  assert.is(JSON.parse(files.get('svc-support/audit.json') ?? '').head.hash, entry?.hash)
})

test('a level holds for a time, is audited and can be ended', async () => {
  const { status, body } = await put({ component: 'support', level: 'debug', for: '5m' })
  assert.is(status, 200)
  assert.equal(
    body.holds.map(({ component, level }) => [component, level]),
    [['support', 'debug']],
  )
  const { body: seen } = await bed.request('GET', '/v1/log-level')
  assert.equal((seen as Levels).holds.length, 1)
  const [entry] = await bed.audit()
  assert.equal(
    [entry?.action, entry?.target, entry?.detail],
    ['log.level', 'support', { level: 'debug', for_s: 300 }],
  )
  const ended = await put({ component: 'support', level: null })
  assert.equal(ended.body.holds, [])
})

test('who asks for a component that is none is told of all', async () => {
  const { body } = await bed.request('PUT', '/v1/log-level', {
    body: { component: 'nobody', level: 'debug' },
  })
  const { error } = body as { readonly error: { readonly code: string; readonly message: string } }
  assert.is(error.code, 'validation_failed')
  for (const name of ['kernel', 'http', 'reconcile', 'support']) assert.match(error.message, name)
})

test('nothing holds for longer than a day, at no level that is none', async () => {
  for (const body of [{ level: 'debug', for: '25h' }, { level: 'debug', for: 'long' }, { level: 'loud' }, {}])
    assert.is((await put(body)).status, 400, JSON.stringify(body))
})

test.run()
