import { eventually, suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createTestHost } from './test-host.ts'
import { codeOf, writePlugin } from './test-plugin.ts'

const isolation = suite('kernel/plugins/process')

const MANIFEST = { isolation: 'process' }

isolation('serves the route of a plugin in its own process', async () => {
  await using root = await tempDir()
  const code = codeOf({ body: '{ pid: process.pid, id: request.id }' })
  const dir = await writePlugin(root.path, { manifest: MANIFEST, code })
  await using host = await createTestHost({ packages: [dir] })
  await host.registry.loadAll()
  const { status, body } = await host.get('/v1/sample')
  assert.is(status, 200)
  const { pid } = body as { pid: number }
  assert.is.not(pid, process.pid)
  await host.registry.unload('sample')
  await eventually(() => assert.throws(() => process.kill(pid, 0)))
})

isolation.run()
