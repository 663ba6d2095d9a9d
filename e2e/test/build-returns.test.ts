import { mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import { type Build, makeBuild } from '../harness/builds/make-build.ts'
import { optionalPlugins, wordsOf } from '../harness/builds/words.ts'
import { ESIM_ENV, prepareEsim } from '../harness/esim.ts'
import { hotPluginSource } from '../harness/plugins/hot-plugin.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

const NAMED = ['--node', 'named']

const returns = suite('e2e/build-returns', { limitMs: 600_000 })
let temp: TempDir
let whole: Build
let bare: Build

returns.before(async () => {
  temp = await tempDir()
  whole = await makeBuild(join(temp.path, 'whole'), ['--without', 'lab-core', ...NAMED])
  bare = await makeBuild(join(temp.path, 'bare'), ['--only', '', ...NAMED])
})
returns.after(async () => {
  await temp[Symbol.asyncDispose]()
})

returns('what plugins keep lies still under a build without them, and is there again with them', async () => {
  const dataDir = join(temp.path, 'data')
  const hash = await during(whole, dataDir, async (service) => {
    const { body } = await service.request('POST', '/v1/sims', { body: { label: 'village' } })
    const sim: string = body.sims[0].imsi_sha256_12
    const quota = { quota_bytes: 5_000_000, period: 'week', action: 'alert' }
    assert.is((await service.request('POST', `/v1/sims/${sim}/quota`, { body: quota })).status, 200)
    await prepareEsim(service)
    assert.is((await service.request('POST', '/v1/esim/issue', { body: { count: 2 } })).status, 201)
    return sim
  })
  const before = tablesOf(join(dataDir, 'svc.db'))
  assert.ok(Object.keys(before).length > 20)
  await during(bare, dataDir, async (service) => {
    for (const path of ['/v1/esim/codes', `/v1/sims/${hash}/usage`])
      assert.is((await service.request('GET', path)).body.error.code, 'not_found', path)
    assert.is((await service.request('POST', `/v1/sims/${hash}/suspend`, { body: {} })).status, 200)
  })
  assert.equal(tablesOf(join(dataDir, 'svc.db')), before)
  await during(whole, dataDir, async (service) => {
    const { body: codes } = await service.request('GET', '/v1/esim/codes')
    assert.is(codes.codes.length, 2)
    const { body: usage } = await service.request('GET', `/v1/sims/${hash}/usage`)
    assert.is(usage.quota_bytes, 5_000_000)
    assert.is((await service.request('GET', `/v1/sims/${hash}`)).body.state, 'suspended')
  })
})

returns('a plugin from elsewhere runs in a build, with the one copy of contracts', async () => {
  const dataDir = join(temp.path, 'guest')
  mkdirSync(join(dataDir, 'plugins'), { recursive: true, mode: 0o700 })
  installVersion(dataDir, {
    id: 'hot',
    version: '1.0.0',
    code: hotPluginSource('1.0.0'),
    manifest: { paths: { '/v1/hot': {} }, provides: ['hot.version'] },
  })
  await during(bare, dataDir, async (service) => {
    // The service does not wait for what is installed.
    await eventually(async () => (await service.request('GET', '/v1/hot')).status === 200)
    assert.equal((await service.request('GET', '/v1/hot')).body, { version: '1.0.0' })
  })
  rmSync(dataDir, { recursive: true })
})

/** What `act` gives while a build serves a data directory. */
async function during<Result>(
  { program }: Build,
  dataDir: string,
  act: (service: Service) => Promise<Result>,
): Promise<Result> {
  const service = await startService({
    program,
    dataDir,
    env: { ...ESIM_ENV, SVC_PLUGINS_ALLOW_UNSIGNED: 'true' },
  })
  try {
    return await act(service)
  } finally {
    assert.is(await service.stop(), 0)
  }
}

/** All rows of the tables of optional plugins. */
function tablesOf(file: string): Readonly<Record<string, readonly unknown[]>> {
  const names = optionalPlugins().flatMap((name) => wordsOf(name).tables)
  const connection = new (createRequire(import.meta.url)('better-sqlite3'))(file, { readonly: true })
  try {
    return Object.fromEntries(
      names.map((name) => [name, connection.prepare(`select * from ${name} order by 1, 2`).all()]),
    )
  } finally {
    connection.close()
  }
}

returns.run()
