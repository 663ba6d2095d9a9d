import { ok, type Reply, type Route, route } from '@steeple/contracts'
import { assert, cpuMs, eventually, suite } from '@steeple/testkit'
import { rawConnection } from './world/raw-socket.ts'
import { routeSet, serveRoutes } from './world/serve-routes.ts'

const swap = suite('api/swap')

const read = (path: `/${string}`, handle: Route['handle']): Route =>
  route({ method: 'GET', path, role: 'public', summary: 'Test', handle: handle as () => Promise<Reply> })
const versioned = (version: number): Route => read('/v1/versioned', async () => ok({ version }))

swap('loses no request and resets no connection over 60 changes under load', async () => {
  const world = await serveRoutes([versioned(0)])
  let isOver = false
  const seen = new Set<number>()
  let answered = 0
  const client = async (): Promise<void> => {
    while (!isOver) {
      const answer = await world.ask('/v1/versioned')
      assert.is(answer.status, 200)
      seen.add(answer.body.version)
      answered += 1
    }
  }
  try {
    const clients = Array.from({ length: 8 }, client)
    for (let version = 1; version <= 60; version += 1) {
      await world.edge.swap(await world.edge.build([routeSet('sample', [versioned(version)])]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    isOver = true
    await Promise.all(clients)
    assert.ok(answered > 60, String(answered))
    assert.ok(seen.size > 10, String(seen.size))
    assert.is((await world.ask('/v1/versioned')).body.version, 60)
  } finally {
    isOver = true
    await world.close()
  }
})

swap('answers on the old code what began there, and waits for it', async () => {
  let release: (() => void) | undefined
  const slow = read('/v1/slow', async () => {
    await new Promise<void>((resolve) => {
      release = resolve
    })
    return ok({ version: 1 })
  })
  await using world = await serveRoutes([slow])
  const early = world.ask('/v1/slow')
  await eventually(() => release !== undefined)
  let isDrained = false
  const next = await world.edge.build([
    routeSet('sample', [read('/v1/slow', async () => ok({ version: 2 }))]),
  ])
  const drained = world.edge.swap(next).then(() => {
    isDrained = true
  })
  assert.is((await world.ask('/v1/slow')).body.version, 2)
  assert.is(isDrained, false)
  release?.()
  assert.is((await early).body.version, 1)
  await drained
})

swap('bounds the wait and answers 503 for a plugin that left', async () => {
  let entered = false
  let aborted = false
  const stuck = read('/v1/stuck', (request) => {
    entered = true
    request.signal.addEventListener('abort', () => {
      aborted = true
    })
    return new Promise(() => undefined)
  })
  await using world = await serveRoutes([], { limits: { drainMs: 100 } })
  const old = routeSet('stuck', [stuck])
  await world.edge.swap(await world.edge.build([old]))
  const answer = world.ask('/v1/stuck')
  await eventually(() => entered)
  const started = performance.now()
  const drained = world.edge.swap(await world.edge.build([]))
  old.retire()
  await drained
  const took = performance.now() - started
  assert.ok(took < 20_000, String(took))
  assert.is((await answer).body.error.code, 'not_ready')
  assert.is(aborted, true)
  assert.is((await world.ask('/v1/stuck')).body.error.code, 'feature_not_installed')
})

swap('ends the streams of a plugin that leaves and leaves those of others alone', async () => {
  const stream = (name: string): Route =>
    read(`/v1/stream/${name}`, async (request) => ({
      headers: { 'Content-Type': 'text/plain' },
      stream: (async function* () {
        yield `hello from ${name}\n`
        while (!request.signal.aborted) {
          await new Promise<void>((resolve) => {
            request.signal.addEventListener('abort', () => resolve(), { once: true })
          })
        }
        yield 'bye\n'
      })(),
    }))
  await using world = await serveRoutes([])
  const leaving = routeSet('leaving', [stream('leaving')])
  const staying = routeSet('staying', [stream('staying')])
  await world.edge.swap(await world.edge.build([leaving, staying]))
  const first = await rawConnection(world.port)
  first.write('GET /v1/stream/leaving HTTP/1.1\r\nHost: x\r\n\r\n')
  const second = await rawConnection(world.port)
  second.write('GET /v1/stream/staying HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => first.text().includes('hello') && second.text().includes('hello'))
  const drained = world.edge.swap(await world.edge.build([staying]))
  leaving.retire()
  await drained
  await eventually(() => first.text().includes('bye'))
  assert.not.match(second.text(), 'bye')
  staying.retire()
  await eventually(() => second.text().includes('bye'))
})

swap('waits for the streams of a plugin that leaves, on whichever generation they began', async () => {
  let isOver = false
  const lasting = read('/v1/lasting', async (request) => ({
    headers: { 'Content-Type': 'text/plain' },
    stream: (async function* () {
      yield 'hello\n'
      await new Promise<void>((resolve) => {
        request.signal.addEventListener('abort', () => resolve(), { once: true })
      })
      await new Promise((resolve) => setTimeout(resolve, 30))
      isOver = true
    })(),
  }))
  await using world = await serveRoutes([])
  const plugin = routeSet('lasting', [lasting])
  await world.edge.swap(await world.edge.build([plugin]))
  const connection = await rawConnection(world.port)
  connection.write('GET /v1/lasting HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => connection.text().includes('hello'))
  await world.edge.swap(await world.edge.build([plugin, routeSet('other', [])]))
  assert.is(isOver, false)
  const drained = world.edge.swap(await world.edge.build([]))
  plugin.retire()
  await drained
  assert.is(isOver, true)
})

swap('lets a client that does not read hold back its stream and nothing else', async () => {
  let produced = 0
  let isReturned = false
  const flood = read('/v1/flood', async () => ({
    headers: { 'Content-Type': 'text/plain' },
    stream: (async function* () {
      try {
        for (;;) {
          produced += 1
          yield 'x'.repeat(65_536)
        }
      } finally {
        isReturned = true
      }
    })(),
  }))
  await using world = await serveRoutes([flood], { limits: { streamStallMs: 150 } })
  const connection = await rawConnection(world.port)
  connection.pause()
  connection.write('GET /v1/flood HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => isReturned)
  assert.ok(produced < 1_000, String(produced))
  assert.is((await world.ask('/v1/healthz')).status, 200)
  connection.destroy()
})

swap(
  'breaks the connection of a stream that fails half way, and answers one that fails at once',
  async () => {
    const failing = (path: `/${string}`, first: boolean): Route =>
      read(path, async () => ({
        headers: { 'Content-Type': 'text/plain' },
        stream: (async function* () {
          if (first) yield 'half'
          throw new Error('no more')
        })(),
      }))
    await using world = await serveRoutes([failing('/v1/late', true), failing('/v1/early', false)])
    const early = await world.ask('/v1/early')
    assert.is(early.status, 500)
    assert.is(early.body.error.code, 'internal')
    const late = await world.ask('/v1/late').then(
      () => 'whole',
      () => 'broken',
    )
    assert.is(late, 'broken')
  },
)

swap('changes nothing when a set cannot be built, and says why', async () => {
  await using world = await serveRoutes([versioned(1)])
  const twice = [routeSet('one', [versioned(1)]), routeSet('two', [versioned(2)])]
  const named = (param: string): Route => read(`/v1/x/:${param}`, async () => ok({}))
  const cases = [
    [twice, /two.*already a route of one/],
    [[routeSet('one', [named('a'), named('b')])], /already a route of one/],
    [[routeSet('one', [read('/v1/healthz', async () => ok({}))])], /already a route of kernel/],
    [[routeSet('one', [{ ...versioned(1), schema: { query: { type: 'nonsense' } } }])], /query schema/],
    [[routeSet('one', [{ ...versioned(1), schema: { query: { typo: 1 } } }])], /query schema/],
    [[routeSet('one', [{ ...versioned(1), errors: ['no_such_code'] }])], /no_such_code/],
    [[routeSet('one', [read('/v1/all/*', async () => ok({}))])], /holds no \*/],
  ] as const
  for (const [sets, reason] of cases) {
    const failure = await world.edge.build(sets).then(() => 'it was built', String)
    assert.match(failure, reason)
  }
  assert.is((await world.ask('/v1/versioned')).body.version, 1)
})

swap('ends what is running within the bound when it closes', async () => {
  let entered = false
  const stuck = read('/v1/stuck', () => {
    entered = true
    return new Promise(() => undefined)
  })
  const world = await serveRoutes([stuck], { limits: { drainMs: 100 } })
  const connection = await rawConnection(world.port)
  connection.write('GET /v1/stuck HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => entered)
  const started = performance.now()
  await world.close()
  await connection.closed
  assert.ok(performance.now() - started < 20_000)
})

swap('rebuilds 150 routes without holding the event loop for long', async () => {
  const routes = Array.from({ length: 150 }, (_, index) =>
    route({
      method: 'POST',
      path: `/v1/many/${index}/:id`,
      role: 'viewer',
      summary: 'One of many',
      audit: 'many.do',
      schema: {
        params: { type: 'object', properties: { id: { type: 'string', pattern: '^[0-9a-f]{12}$' } } },
        body: {
          type: 'object',
          properties: { a: { type: 'integer' }, b: { type: 'string' } },
          required: ['a'],
        },
      },
      handle: async () => ok({}),
    }),
  )
  await using world = await serveRoutes(routes)
  const others = routeSet('sample', routes)
  let longest = 0
  for (let round = 0; round < 5; round += 1) {
    const started = cpuMs()
    await world.edge.swap(await world.edge.build([others, routeSet('new', [versioned(round)])]))
    longest = Math.max(longest, cpuMs() - started)
  }
  // Generous: the bench measures it.
  assert.ok(longest < 200, String(longest))
})

swap.run()
