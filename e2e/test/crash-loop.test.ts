import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startedProcesses } from '../harness/service.ts'

const loop = suite('e2e/crash-loop')

const AS_NPM_START = { SVC_HSS_DRIVER: 'none' }
const PATIENCE_MS = 180_000

async function plugin(
  service: Service,
): Promise<{ readonly state: string; readonly error: string | null } | undefined> {
  const { body } = await service.request('GET', '/v1/plugins')
  return body.plugins.find(({ name }: { name: string }) => name === 'late')
}

/** Keeps the event loop from turning: with a processor busy all the time, and with next to nothing to do. */
const SPIN = 'for (;;);'
const DOZE = 'for (const cell = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(cell, 0, 0, 100);'
/** What keeps the event loop from turning, or ends the process, when it is asked for. */
const BAD_ROUTES = `{
  method: 'GET',
  path: '/v1/late/:how',
  role: 'viewer',
  summary: 'Does not answer',
  handle: async (request) => {
    if (request.params.how === 'spin') ${SPIN}
    if (request.params.how === 'doze') ${DOZE}
    if (request.params.how === 'exit') process.exit(3)
    return { body: {} }
  },
},`

for (const [ways, line] of [
  [['spin', 'doze'], /svc: the event loop has not turned for \d+ s, in handle file:.*late@1\.0\.0/],
  [['exit', 'exit'], /"msg":"a plugin has ended the process"/],
] as const)
  loop(
    `ends by itself when a plugin does not let it turn or ends it (${ways.join(', ')}), and goes without it from the third start on`,
    async () => {
      await using dir = await tempDir()
      const dataDir = join(dir.path, 'data')
      const processes = startedProcesses()
      const start = () => processes.start({ dataDir, env: AS_NPM_START })
      try {
        await (await start()).stop()
        installVersion(dataDir, { id: 'late', version: '1.0.0', code: sourceOf({ routes: BAD_ROUTES }) })
        for (const how of ways) {
          const service = await start()
          await eventually(async () => (await plugin(service))?.state === 'running', PATIENCE_MS)
          if (how === 'spin') await isNotEndedByAStop(service)
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

loop('goes without a plugin whose first setup did not end or ended the process', async () => {
  await using dir = await tempDir()
  const dataDir = join(dir.path, 'data')
  const processes = startedProcesses()
  const start = () => processes.start({ dataDir, env: AS_NPM_START })
  try {
    for (const [id, setup] of Object.entries({ endless: DOZE, ending: 'process.exit(3)' })) {
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
})

loop.run()
