import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { startedProcesses } from '../harness/launch.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { runSvc, type Service } from '../harness/service.ts'

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
        await eventually(async () => (await plugin(service))?.state === 'running', PATIENCE_MS)
        await service.request('GET', '/v1/late/reject').catch(() => undefined)
        await eventually(async () => service.child.exitCode !== null, PATIENCE_MS)
        assert.is(service.child.exitCode, 1)
        assert.match(service.output(), /a promise was not awaited/)
        assert.ok(service.output().includes(`"plugin_folders":["${folder}"]`))
      }
      const third = await start()
      await eventually(async () => (await plugin(third))?.state === 'failed', PATIENCE_MS)
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

/** What keeps the event loop from turning, or ends the process, when it is asked for. */
const BAD_ROUTES = `{
  method: 'GET',
  path: '/v1/late/:how',
  role: 'viewer',
  summary: 'Does not answer',
  handle: async (request) => {
    if (request.params.how === 'loop') for (;;);
    if (request.params.how === 'exit') process.exit(3)
    return { body: {} }
  },
},`

for (const [how, line] of [
  ['loop', /svc: the event loop has not turned for \d+ s, in handle file:.*late@1\.0\.0/],
  ['exit', /"msg":"a plugin has ended the process"/],
] as const)
  loop(
    `ends by itself when a plugin does not let it turn or ends it (${how}), and goes without it from the third start on`,
    async () => {
      await using dir = await tempDir()
      const dataDir = join(dir.path, 'data')
      const processes = startedProcesses()
      const start = () => processes.start({ dataDir, env: AS_NPM_START })
      try {
        await (await start()).stop()
        installVersion(dataDir, { id: 'late', version: '1.0.0', code: sourceOf({ routes: BAD_ROUTES }) })
        for (let round = 0; round < 2; round++) {
          const service = await start()
          await eventually(async () => (await plugin(service))?.state === 'running', PATIENCE_MS)
          if (how === 'loop' && round === 0) await isNotEndedByAStop(service)
          await service.request('GET', `/v1/late/${how}`).catch(() => undefined)
          await ended(service)
          await eventually(async () => line.test(service.output()), PATIENCE_MS)
        }
        const third = await start()
        await eventually(async () => (await plugin(third))?.state === 'failed', PATIENCE_MS)
        assert.match((await plugin(third))?.error ?? '', /has ended the service 2 times in a row/)
        assert.is(await third.stop(), 0)
      } finally {
        processes.endAll()
      }
    },
    { limitMs: 360_000 },
  )

const ended = ({ child }: Service): Promise<boolean> =>
  eventually(async () => child.exitCode !== null || child.signalCode !== null, PATIENCE_MS)

/** A process that stands still as a whole, as a suspended machine does, has no loop that does not turn. */
async function isNotEndedByAStop({ child, request }: Service): Promise<void> {
  const sinceMs = performance.now()
  child.kill('SIGSTOP')
  await eventually(async () => performance.now() - sinceMs > 9_000, PATIENCE_MS)
  child.kill('SIGCONT')
  assert.is((await request('GET', '/v1/healthz')).status, 200)
}

loop(
  'goes without a plugin whose first setup did not end or ended the process',
  async () => {
    await using dir = await tempDir()
    const dataDir = join(dir.path, 'data')
    const processes = startedProcesses()
    const start = () => processes.start({ dataDir, env: AS_NPM_START })
    try {
      for (const [id, setup] of Object.entries({ endless: 'for (;;);', ending: 'process.exit(3)' })) {
        const service = await start()
        installVersion(dataDir, { id, version: '1.0.0', code: sourceOf({ setup }) })
        await service.request('POST', `/v1/plugins/${id}/load`).catch(() => undefined)
        await ended(service)
        const next = await start()
        const { body } = await next.request('GET', '/v1/plugins')
        const { state, error } = body.plugins.find(({ name }: { name: string }) => name === id)
        assert.is(state, 'failed', id)
        assert.match(error ?? '', /has ended the service|the service ended while it was loaded/)
        assert.is(await next.stop(), 0)
      }
    } finally {
      processes.endAll()
    }
  },
  { limitMs: 360_000 },
)

loop.run()
