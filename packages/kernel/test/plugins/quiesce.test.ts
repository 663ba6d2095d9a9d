import { eventually, suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createTestHost, failureOf, fastTimers, loadedHost, recordOf, type TestHost } from './test-host.ts'
import { codeOf, writePlugin } from './test-plugin.ts'

const quiesce = suite('kernel/plugins/quiesce')

/** What the plugins of a test do in the world, and a request that is slow for as long as the test wants. */
interface World {
  readonly on: Set<string>
  /** In the order in which they happened. */
  readonly told: string[]
  readonly slow: PromiseWithResolvers<void>
  /** Whether that request has come. */
  isAsked: boolean
}

function worldOf(host: TestHost): World {
  const world: World = { on: new Set(), told: [], slow: Promise.withResolvers(), isAsked: false }
  const service = {
    begin: (who: string) => world.on.add(who),
    end: (who: string, why: string) => {
      world.told.push(`${who} ${why}`)
      world.on.delete(who)
    },
    wait: () => {
      world.isAsked = true
      return world.slow.promise
    },
  }
  host.options.services.set('test', new Map([['test.world', service]]))
  return world
}

/** A transmitter, as the kernel sees one: it sends from its start on. */
const SENDER = codeOf({
  setup: "const world = ctx.use({ id: 'test.world' }); const who = ctx.plugin.id + '@' + ctx.plugin.version",
  instance: 'start: async () => { world.begin(who) }, quiesce: async (why) => { world.end(who, why) },',
})
const SLOW = codeOf({
  setup: "const world = ctx.use({ id: 'test.world' })",
  body: '{ waited: await world.wait() }',
})

async function begun(
  work: (parts: { host: TestHost; world: World; over: () => boolean }) => Promise<void>,
  handover: 'exclusive' | 'overlap' = 'exclusive',
): Promise<void> {
  await using root = await tempDir()
  const sender = await writePlugin(root.path, { id: 'sender', manifest: { handover }, code: SENDER })
  const slow = await writePlugin(root.path, { id: 'slow', code: SLOW })
  await using host = await createTestHost({ packages: [sender, slow] })
  const world = worldOf(host)
  await host.registry.loadAll()
  assert.equal([...world.on], ['sender@1.0.0'])
  let isOver = false
  const open = host.get('/v1/slow').then(() => {
    isOver = true
  })
  await eventually(() => world.isAsked)
  try {
    await work({ host, world, over: () => isOver })
  } finally {
    world.slow.resolve()
    await open
  }
}

for (const what of ['unload', 'reload'] as const) {
  quiesce(`comes before the drain of an ${what}`, () =>
    begun(async ({ host, world, over }) => {
      const done = host.registry[what]('sender')
      await eventually(() => world.told.length > 0)
      assert.is(over(), false)
      assert.is(world.on.has('sender@1.0.0'), false)
      world.slow.resolve()
      await done
      assert.is(world.on.size, what === 'reload' ? 1 : 0)
    }),
  )
}

quiesce('comes before the drain where copies overlap, once the next one has started', () =>
  begun(async ({ host, world, over }) => {
    const done = host.registry.reload('sender')
    await eventually(() => world.told.length > 0)
    assert.is(over(), false)
    assert.equal(world.told, ['sender@1.0.0 upgrade'])
    world.slow.resolve()
    await done
  }, 'overlap'),
)

quiesce('comes first of all at the end of the service, while a reload waits for its drain', () =>
  begun(async ({ host, world, over }) => {
    const reload = host.registry.reload('slow')
    const quiet = host.registry.quiesce()
    assert.equal(world.told, ['sender@1.0.0 shutdown'])
    assert.is(over(), false)
    await quiet
    world.slow.resolve()
    await reload.catch(() => undefined)
    assert.is((await failureOf(() => host.registry.reload('sender'))).code, 'not_ready')
    await host.registry.stop()
    assert.is(world.on.size, 0)
    assert.equal(world.told, ['sender@1.0.0 shutdown'])
  }),
)

quiesce('lets no copy enter that was on its way when the service ended', () =>
  begun(async ({ host, world }) => {
    const reload = host.registry.reload('sender')
    const refused = failureOf(() => reload)
    await host.registry.quiesce()
    world.slow.resolve()
    await refused
    await host.registry.stop()
    assert.is(world.on.size, 0)
  }),
)

quiesce('reaches a copy whose start failed after it had begun', async () => {
  await using root = await tempDir()
  const bad = await writePlugin(root.path, {
    id: 'bad',
    code: codeOf({
      setup: "const world = ctx.use({ id: 'test.world' })",
      instance:
        "start: async () => { world.begin('bad'); throw new Error('no') }, quiesce: async (why) => { world.end('bad', why) },",
    }),
  })
  await using host = await createTestHost({ packages: [bad] })
  const world = worldOf(host)
  await host.registry.loadAll()
  assert.is(recordOf(host, 'bad').state, 'failed')
  assert.equal(world.told, ['bad unload'])
  assert.is(world.on.size, 0)
})

quiesce('that fails or never ends lets the plugin leave, and is said', async () => {
  await using root = await tempDir()
  const [fails, hangs] = [
    await writePlugin(root.path, {
      id: 'fails',
      code: codeOf({ instance: "quiesce: async () => { throw new Error('stuck') }," }),
    }),
    await writePlugin(root.path, {
      id: 'hangs',
      code: codeOf({ instance: 'quiesce: () => new Promise(() => undefined),' }),
    }),
  ]
  await using host = await loadedHost({ packages: [fails, hangs] }, { timers: fastTimers(10) })
  for (const name of ['fails', 'hangs']) {
    await host.registry.unload(name)
    assert.is(recordOf(host, name).state, 'unloaded')
    const line = host.lines.find(({ facts, message }) => facts.plugin === name && message.includes('effects'))
    assert.is(line?.level, 'error')
  }
})

quiesce.run()
