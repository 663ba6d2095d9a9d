import { serviceRef } from '@steeple/contracts'
import { eventually, suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createTestHost } from './test-host.ts'
import { codeOf, removeDir, temporaryDir, writePlugin } from './test-plugin.ts'

const isolation = suite('kernel/plugins/process')

const MANIFEST = { isolation: 'process' }

isolation('serves the route of a plugin in its own process', async () => {
  const root = await temporaryDir()
  const dir = await writePlugin(root, { manifest: MANIFEST, code: codeOf({ body: '{ pid: process.pid, id: request.id }' }) })
  const host = await createTestHost({ packages: [dir] })
  try {
    await host.registry.loadAll()
    const { status, body } = await host.get('/v1/sample')
    assert.is(status, 200)
    const { pid } = body as { pid: number }
    assert.is.not(pid, process.pid)
    await host.registry.unload('sample')
    await eventually(() => assert.throws(() => process.kill(pid, 0)))
  } finally {
    await host.close()
    await removeDir(root)
  }
})

isolation.run()
void serviceRef
