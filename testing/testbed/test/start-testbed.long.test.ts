import { existsSync } from 'node:fs'
import { auditTrailRef, type Plugin, route, type ServiceRef, serviceRef } from '@steeple/contracts'
import { assert, eventually, type InlinePlugin, suite } from '@steeple/testkit'
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
    },
    plugin,
  }
}

testbed('serves a plugin through the real edge and keeps its audit trail', async () => {
  await using bed = await startTestbed({ plugins: [inline('greeting', greeting)] })
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
})

testbed('refuses a principal without the role and one that it does not know', async () => {
  await using bed = await startTestbed({ plugins: [inline('greeting', greeting)] })
  const token = bed.credential({ kind: 'node', id: 'n-1', roles: ['node'] })
  assert.is((await bed.request('POST', '/v1/greeting', { token, body: {} })).status, 403)
  assert.is((await bed.request('POST', '/v1/greeting', { token: false, body: {} })).status, 401)
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

interface Word {
  say(): Promise<string>
}
const wordRef: ServiceRef<Word> = serviceRef<Word>('test.word')

function speaker(version: string, said: string): InlinePlugin {
  const plugin: Plugin = {
    setup: async (context) => {
      context.on('greeting.*', async () => context.changed(wordRef), 'each')
      return { services: new Map([[wordRef.id, { say: async () => said }]]) }
    },
  }
  const made = inline('speaker', plugin)
  return { ...made, version, manifest: { ...made.manifest, provides: [wordRef.id] } }
}

testbed('tells a plugin of events, and of services that come, are replaced, change and go', async () => {
  const heard: string[] = []
  const words: (string | undefined)[] = []
  const listener: Plugin = {
    setup: async (context) => {
      context.on('greeting.say', async ({ type, subject }) => void heard.push(`${type} ${subject}`))
      context.onChange(wordRef, async (word) => void words.push(await word?.say()))
      return {}
    },
  }
  await using bed = await startTestbed({
    plugins: [inline('greeting', greeting), inline('listener', listener)],
  })
  await bed.settled()
  assert.is((await bed.request('POST', '/v1/greeting', { body: {} })).status, 200)
  await eventually(() => assert.equal(heard, ['greeting.say world']))
  await bed.load(speaker('1.0.0', 'hello'))
  await bed.load(speaker('1.1.0', 'good day'))
  await eventually(() => assert.equal([words[0], words.at(-1)], ['hello', 'good day']))
  const before = words.length
  assert.is((await bed.request('POST', '/v1/greeting', { body: {} })).status, 200)
  await eventually(() => assert.equal(words.slice(before), ['good day']))
  await bed.unload('speaker')
  await eventually(() => assert.is(words.at(-1), undefined))
  assert.is(heard.length, 2)
})

testbed.run()
