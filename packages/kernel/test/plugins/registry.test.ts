import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestHost } from './test-host.ts'
import { codeOf, removeDir, temporaryDir, writePlugin } from './test-plugin.ts'

const registry = suite('kernel/plugins/registry')

registry('loads all plugins, serves their routes and unloads one', async () => {
  const root = await temporaryDir()
  const one = await writePlugin(root, { id: 'one' })
  const two = await writePlugin(root, { id: 'two' })
  const host = await createTestHost({ packages: [one, two] })
  try {
    await host.registry.loadAll()
    assert.equal(await host.get('/v1/one'), { status: 200, body: { version: '1.0.0' } })
    assert.is((await host.get('/v1/two')).status, 200)
    await host.registry.unload('one')
    assert.is((await host.get('/v1/one')).status, 404)
    assert.is((await host.get('/v1/two')).status, 200)
    assert.equal(
      host.registry.list().map(({ name, state }) => [name, state]),
      [
        ['one', 'unloaded'],
        ['two', 'running'],
      ],
    )
  } finally {
    await host.close()
    await removeDir(root)
  }
})

registry('records a plugin that fails and loads the others', async () => {
  const root = await temporaryDir()
  const bad = await writePlugin(root, { id: 'bad', code: codeOf({ setup: 'throw new Error("no antenna")' }) })
  const good = await writePlugin(root, { id: 'good' })
  const host = await createTestHost({ packages: [bad, good] })
  try {
    await host.registry.loadAll()
    assert.is((await host.get('/v1/good')).status, 200)
    const record = host.registry.list().find(({ name }) => name === 'bad')
    assert.is(record?.state, 'failed')
    assert.match(record?.error ?? '', 'plugin bad failed at step setup: no antenna')
  } finally {
    await host.close()
    await removeDir(root)
  }
})

registry.run()
