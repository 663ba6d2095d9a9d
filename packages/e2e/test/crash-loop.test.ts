import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { startedProcesses } from '../harness/launch.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, until } from '../harness/service.ts'

const loop = suite('e2e/crash-loop')

const AS_NPM_START = { SVC_HSS_DRIVER: 'none' }
const PATIENCE_MS = 180_000
/** A promise that nobody awaits is rejected after its request was answered. */
const LATE = `{
  method: 'GET',
  path: '/v1/late/reject',
  role: 'viewer',
  summary: 'Rejects later',
  handle: async () => {
    setTimeout(() => void Promise.reject(new Error('too late')), 10)
    return { body: {} }
  },
},`

async function plugin(
  service: Service,
): Promise<{ readonly state: string; readonly error: string | null } | undefined> {
  const { body } = await service.request('GET', '/v1/plugins')
  return body.plugins.find(({ name }: { name: string }) => name === 'late')
}

loop(
  'goes without an installed plugin whose late rejections have ended the service twice',
  async () => {
    await using dir = await tempDir()
    const dataDir = join(dir.path, 'data')
    const processes = startedProcesses()
    const start = (flags: readonly string[] = []) => processes.start({ dataDir, env: AS_NPM_START, flags })
    try {
      await (await start()).stop()
      const folder = installVersion(dataDir, {
        id: 'late',
        version: '1.0.0',
        code: sourceOf({ routes: LATE }),
      })
      for (let round = 0; round < 2; round++) {
        const service = await start()
        await until(async () => (await plugin(service))?.state === 'running', PATIENCE_MS)
        await service.request('GET', '/v1/late/reject').catch(() => undefined)
        await until(async () => service.child.exitCode !== null, PATIENCE_MS)
        assert.is(service.child.exitCode, 1)
        assert.match(service.output(), /a promise was not awaited/)
        assert.ok(service.output().includes(`"plugin_folders":["${folder}"]`))
      }
      const third = await start()
      await until(async () => (await plugin(third))?.state === 'failed', PATIENCE_MS)
      assert.match((await plugin(third))?.error ?? '', /has ended the service 2 times in a row/)
      const { body } = await third.request('GET', '/v1/health')
      assert.ok(
        body.components.some(
          ({ name, status }: { name: string; status: string }) => name === 'late' && status !== 'ok',
        ),
      )
      const doctor = await runSvc(['doctor', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], AS_NPM_START)
      assert.match(doctor.stdout, /late@1\.0\.0-[0-9a-f]{8} is not loaded: an error/)
      await third.stop()
      const safe = await start(['--safe-mode'])
      assert.is((await plugin(safe))?.state, 'disabled')
      assert.match(safe.output(), /safe mode: installed plugins are left alone/)
      assert.is(await safe.stop(), 0)
    } finally {
      processes.endAll()
    }
  },
  { limitMs: 360_000 },
)

loop.run()
