import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, stretched, suite } from '@steeple/testkit'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

const junk = suite('e2e/plugin-junk')

/** How much later than a first start with nothing installed the first 200 of /v1/healthz may come. */
const JUNK_COSTS_MS = 400

interface Listed {
  readonly name: string
  readonly state: string
  readonly error: string | null
}

async function listed(service: Service): Promise<readonly Listed[]> {
  return (await service.request('GET', '/v1/plugins?limit=500')).body.plugins
}

async function stateOf(service: Service, id: string): Promise<string | undefined> {
  return (await listed(service)).find(({ name }) => name === id)?.state
}

const THIEF = sourceOf({
  routes:
    "{ method: 'GET', path: '/v1/nodes', role: 'viewer', summary: 'x', handle: async () => ({ body: {} }) },",
})
const HANGING = sourceOf({ setup: 'await new Promise(() => {})' })

junk('starts at once with everything that can lie in the plugins directory, and gets rid of it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-e2e-'))
  const adminToken = 'junk-test-admin-token-0123456789'
  try {
    const first = await startService({ dataDir, adminToken })
    installVersion(dataDir, { id: 'good', version: '1.0.0', code: sourceOf() })
    assert.is((await first.request('POST', '/v1/plugins/good/load')).status, 200)
    installVersion(dataDir, { id: 'a-thief', version: '1.0.0', code: THIEF })
    assert.is((await first.request('POST', '/v1/plugins/a-thief/load')).status, 409)
    assert.is(await first.stop(), 0)

    installVersion(dataDir, { id: 'a-hanging', version: '1.0.0', code: HANGING })
    installVersion(dataDir, { id: 'a-second-thief', version: '1.0.0', code: THIEF })
    installVersion(dataDir, { id: 'access', version: '9.0.0', code: HANGING })
    installVersion(dataDir, {
      id: 'nodes',
      version: '9.0.0',
      code: 'throw 1',
      packageName: '@steeple/nodes',
    })
    installVersion(dataDir, {
      id: 'vain',
      version: '1.0.0',
      code: 'throw 1',
      manifest: { essential: true },
    })
    installVersion(dataDir, { id: 'unreadable', version: '1.0.0', code: 'x', packageJson: '{' })
    const plugins = join(dataDir, 'plugins')
    mkdirSync(join(plugins, 'empty@1.0.0-00000000'))
    symlinkSync('/dev', join(plugins, 'link@1.0.0-00000000'))
    writeFileSync(join(plugins, 'file@1.0.0-00000000'), '')

    const second = await startService({ dataDir, adminToken })
    assert.ok(second.startMs < stretched(first.startMs + JUNK_COSTS_MS), `${second.startMs} ms`)
    assert.is((await second.request('GET', '/v1/nodes')).status, 200)
    assert.is(await stateOf(second, 'nodes'), 'running')
    await eventually(async () => !(await listed(second)).some(({ state }) => state === 'loading'))
    assert.is((await second.request('GET', '/v1/good')).status, 200)
    const states = Object.fromEntries((await listed(second)).map(({ name, state }) => [name, state]))
    for (const id of ['a-thief', 'a-hanging', 'a-second-thief', 'vain']) assert.is(states[id], 'failed', id)
    for (const id of ['access', 'nodes']) assert.is(states[id], 'running', id)
    for (const id of ['unreadable', 'empty', 'link', 'file']) assert.is(states[id], 'rejected', id)
    const thief = (await listed(second)).find(({ name }) => name === 'a-thief')
    assert.match(
      thief?.error ?? '',
      /GET \/v1\/nodes is already a route of nodes; its folder is .*a-thief@1\.0\.0/,
    )
    await second.kill()

    const third = await startService({ dataDir, adminToken })
    assert.ok(third.startMs < stretched(first.startMs + JUNK_COSTS_MS), `${third.startMs} ms`)
    await eventually(async () => (await stateOf(third, 'good')) === 'running')
    assert.not.ok(
      (await listed(third)).some(({ state }) => state === 'loading'),
      'nothing is tried again',
    )
    for (const id of [
      'a-thief',
      'a-hanging',
      'a-second-thief',
      'vain',
      'access',
      'nodes',
      'unreadable',
      'empty',
      'link',
      'file',
    ])
      assert.is((await third.request('POST', `/v1/plugins/${id}/uninstall`)).status, 200, id)
    assert.equal(
      readdirSync(plugins)
        .filter((name) => name.includes('@'))
        .map((name) => name.split('@')[0]),
      ['good'],
    )
    assert.ok(readdirSync('/dev').length > 0, 'what a link points to stays')
    assert.is((await third.request('GET', '/v1/nodes')).status, 200)
    assert.is(await third.stop(), 0)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

junk.run()
