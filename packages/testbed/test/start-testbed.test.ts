import { existsSync } from 'node:fs'
import { auditTrailRef, type Plugin, route } from '@steeple/contracts'
import { assert, type InlinePlugin, suite } from '@steeple/testkit'
import { startTestbed } from '../src/index.ts'

const testbed = suite('testbed')

const greeting: Plugin = {
  setup: async () => ({
    routes: [
      route<unknown, unknown, unknown>({
        method: 'POST',
        path: '/v1/greeting',
        role: 'operator',
        summary: 'Greet',
        audit: 'greeting.say',
        handle: (request) =>
          request.mutate('world', async () => ({ body: { said: request.principal.name } })),
      }),
    ],
  }),
}

function inline(id: string, plugin: Plugin): InlinePlugin {
  return {
    name: `@test/${id}`,
    version: '1.0.0',
    manifest: {
      id,
      kind: 'feature',
      contracts: '*',
      config_path: id,
      handover: 'overlap',
      isolation: 'inline',
    },
    plugin,
  }
}

testbed('serves a plugin through the real edge and keeps its audit trail', async () => {
  const bed = await startTestbed({ plugins: [inline('greeting', greeting)] })
  try {
    const token = bed.credential({ kind: 'cli', id: 'desk', roles: ['operator'] })
    const answer = await bed.request('POST', '/v1/greeting', { token, body: {} })
    assert.equal([answer.status, answer.body], [200, { said: 'desk' }])
    const [entry] = await bed.audit()
    assert.equal([entry?.action, entry?.target, entry?.principal.kind], ['greeting.say', 'world', 'cli'])
    assert.is((await bed.service(auditTrailRef)?.verify())?.ok, true)
    assert.equal(
      (await bed.events()).map(({ type }) => type),
      ['greeting.say'],
    )
  } finally {
    await bed.stop()
  }
})

testbed('refuses a principal without the role and one that it does not know', async () => {
  const bed = await startTestbed({ plugins: [inline('greeting', greeting)] })
  try {
    const token = bed.credential({ kind: 'node', id: 'n-1', roles: ['node'] })
    assert.is((await bed.request('POST', '/v1/greeting', { token, body: {} })).status, 403)
    assert.is((await bed.request('POST', '/v1/greeting', { token: false, body: {} })).status, 401)
  } finally {
    await bed.stop()
  }
})

testbed('loads and unloads while it runs, and leaves nothing behind', async () => {
  const bed = await startTestbed({ plugins: [] })
  await bed.load(inline('greeting', greeting))
  assert.is((await bed.request('POST', '/v1/greeting', { body: {} })).status, 200)
  await bed.unload('greeting')
  assert.is((await bed.request('POST', '/v1/greeting', { body: {} })).status, 404)
  await bed.stop()
  assert.not(existsSync(bed.dataDir))
})

testbed.run()
