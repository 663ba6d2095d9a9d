import { objectSchema, ok, route } from '@steeple/contracts'
import { assert, eventually, stretched, suite } from '@steeple/testkit'
import { type Raw, rawConnection } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'
import { TAKE } from './world/take-route.ts'

const shares = suite('api/shares')

const PIECE = 'x'.repeat(100_000)
const MIB = 1_048_576
const ID = { params: objectSchema({ id: { type: 'string' } }, ['id']) }

/** A world that counts what it begins, and begins nothing more when told to hold. */
interface Counting extends AsyncDisposable {
  readonly world: World
  readonly begun: string[]
  readonly left: string[]
  release(): void
}

async function counting(
  limits: NonNullable<Parameters<typeof serveRoutes>[1]>['limits'] = {},
): Promise<Counting> {
  const begun: string[] = []
  const left: string[] = []
  const gate = Promise.withResolvers<void>()
  const hold = route<{ readonly id: string }, undefined, undefined>({
    method: 'GET',
    path: '/v1/hold/:id',
    role: 'viewer',
    summary: 'Waits until it is let go',
    schema: ID,
    handle: async ({ params: { id }, signal }) => {
      begun.push(id)
      signal.addEventListener('abort', () => left.push(id))
      await gate.promise
      return ok({ id })
    },
  })
  const large = route<{ readonly id: string }, undefined, undefined>({
    method: 'GET',
    path: '/v1/large/:id',
    role: 'viewer',
    summary: 'A large answer',
    schema: ID,
    handle: async ({ params: { id } }) => {
      begun.push(id)
      return ok({ id, text: PIECE })
    },
  })
  const greet = route<undefined, undefined, undefined>({
    method: 'GET',
    path: '/v1/greet',
    role: 'viewer',
    summary: 'Answers at once',
    schema: {},
    handle: async () => ok({ greeted: true }),
  })
  const world = await serveRoutes([hold, large, greet, TAKE], { limits })
  return { world, begun, left, release: gate.resolve, [Symbol.asyncDispose]: world.close }
}

const get = (path: string, token = ADMIN_TOKEN): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('')
const answered = (raw: Raw): number => raw.text().match(/HTTP\/1\.1 200/g)?.length ?? 0

/** A connection on which somebody was admitted; its text begins behind that answer. */
async function knownConnection(world: World, token = ADMIN_TOKEN): Promise<Raw> {
  const raw = await rawConnection(world.port)
  raw.write(get('/v1/greet', token))
  await eventually(() => raw.text().endsWith('{"greeted":true}'))
  const start = raw.text().length
  return { ...raw, text: () => raw.text().slice(start) }
}

shares('begins four requests of a connection and answers all that wait in order', async () => {
  await using it = await counting()
  const { world, begun, release } = it
  const raw = await knownConnection(world)
  raw.write(many(120, (index) => get(`/v1/hold/${index}`)))
  await eventually(() => begun.length >= 4)
  assert.is((await world.ask('/v1/healthz')).status, 200)
  assert.equal(begun, ['0', '1', '2', '3'])
  release()
  await eventually(() => answered(raw) === 120)
  const ids = [...raw.text().matchAll(/"id":"(\d+)"/g)].map((match) => match[1])
  assert.equal(
    ids,
    Array.from({ length: 120 }, (_, index) => String(index)),
  )
  raw.destroy()
})

shares(
  'answers as many as may wait, says with the last that it closes, and begins none behind it',
  async () => {
    await using it = await counting()
    const { world, begun, release } = it
    const raw = await knownConnection(world)
    raw.write(many(400, (index) => get(`/v1/hold/${index}`)))
    await eventually(() => begun.length === 4)
    release()
    await raw.closed
    const answers = answered(raw)
    assert.is(answers, 132)
    assert.is(begun.length, answers)
    assert.is(raw.text().match(/connection: close/gi)?.length, 1)
    assert.match(raw.text().slice(-600), /connection: close/i)
  },
)

shares('closes a connection on which nobody was admitted yet behind a few', async () => {
  await using it = await counting()
  const { world, begun, release } = it
  const raw = await rawConnection(world.port)
  raw.write(many(120, (index) => get(`/v1/hold/${index}`)))
  await eventually(() => begun.length === 4)
  release()
  await raw.closed
  assert.is(answered(raw), 12)
  assert.is(begun.length, 12)
  assert.is(raw.text().match(/connection: close/gi)?.length, 1)
  assert.match(raw.text().slice(-600), /connection: close/i)
  const stranger = await rawConnection(world.port)
  stranger.write(many(120, () => 'GET /v1/healthz HTTP/1.1\r\nHost: x\r\n\r\n'))
  await stranger.closed
  assert.is(answered(stranger), 5)
})

shares('does not work for a client that left, and lets the handler know', async () => {
  const { world, begun, left } = await counting()
  try {
    const raw = await knownConnection(world)
    raw.write(many(500, (index) => get(`/v1/hold/${index}`)))
    await eventually(() => begun.length === 4)
    raw.destroy()
    await eventually(() => left.length === 4)
    assert.equal([...left].sort(), ['0', '1', '2', '3'])
    assert.is((await world.ask('/v1/healthz')).status, 200)
    assert.is(begun.length, 4)
  } finally {
    const closedAtMs = performance.now()
    await world.close()
    // Nothing is left to wait for: those behind the first were told too.
    assert.ok(performance.now() - closedAtMs < 20_000)
  }
})

shares('keeps a bounded number of requests that wait, over all connections', async () => {
  await using it = await counting()
  const { world, begun } = it
  const raws = await Promise.all(Array.from({ length: 90 }, () => knownConnection(world)))
  let closed = 0
  for (const raw of raws) {
    raw.write(many(600, (index) => get(`/v1/hold/${index}`)))
    void raw.closed.then(() => {
      closed += 1
    })
  }
  await eventually(() => closed > 0)
  assert.is((await world.ask('/v1/healthz')).status, 200)
  assert.ok(closed < 90, 'those within the bound were let be')
  assert.ok(begun.length <= 360, `${begun.length} were begun`)
  for (const raw of raws) raw.destroy()
})

shares('ends an answer that nobody reads, and not one that is read slowly', async () => {
  await using it = await counting({ streamStallMs: 400 })
  const { world } = it
  const raw = await knownConnection(world)
  raw.pause()
  raw.write(many(200, (index) => get(`/v1/large/${index}`)))
  await eventually(async () => (await openConnections(world)) === 1)
  raw.destroy()
})

async function openConnections(world: World): Promise<number> {
  const { text } = await world.ask('/metrics', { headers: { connection: 'close' } })
  return Number(/svc_http_connections_open (\d+)/.exec(text)?.[1])
}

shares('makes no more answers for one who reads none, and goes on for others', async () => {
  const share = { running: 64, waiting: 1_000, unreadBytes: 4 * MIB, unreadBytesInAll: 64 * MIB }
  await using it = await counting({ share })
  const { world, begun } = it
  const viewer = world.kernel.token('reader', ['viewer'])
  const lazy = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const raw = await knownConnection(world, viewer)
      raw.pause()
      raw.write(many(100, (turn) => get(`/v1/large/${index}-${turn}`, viewer)))
      return raw
    }),
  )
  await eventually(async () => {
    const before = begun.length
    assert.is((await world.ask('/v1/large/mine', { token: ADMIN_TOKEN })).status, 200)
    return before > 30 && begun.length === before + 1
  })
  // What is unread beyond the share fits into what the system itself buffers for the connections.
  assert.ok(begun.length < 1_000, `${begun.length} of 1,200 answers were made`)
  for (const raw of lazy) raw.destroy()
})

shares('lets one principal have many requests under way, and healthz pass them', async () => {
  const share = { running: 3, waiting: 2, unreadBytes: MIB, unreadBytesInAll: MIB }
  await using it = await counting({ share })
  const { world, begun, release } = it
  const viewer = world.kernel.token('busy', ['viewer'])
  const own = Array.from({ length: 6 }, (_, index) => world.ask(`/v1/hold/${index}`, { token: viewer }))
  const refused = await Promise.any(
    own.map(async (one) => ((await one).status === 429 ? one : Promise.reject())),
  )
  assert.is(refused.body.error.code, 'rate_limited')
  assert.is(refused.headers.get('retry-after'), '1')
  // The last of those that run may have to wait for its turn of the event loop.
  await eventually(() => begun.length >= 3)
  assert.is((await world.ask('/v1/healthz')).status, 200)
  assert.is(begun.length, 3)
  const other = world.ask('/v1/hold/other', { token: ADMIN_TOKEN })
  await eventually(() => begun.includes('other'))
  release()
  const statuses = (await Promise.all(own)).map(({ status }) => status)
  assert.equal(statuses.sort(), [200, 200, 200, 200, 200, 429])
  assert.is((await other).status, 200)
})

shares('reads no more of unfinished bodies than the share of their sender', async () => {
  const bodies = { each: 2 * MIB, inAll: 3 * MIB }
  await using it = await counting({ bodies, bodyTimeoutMs: stretched(3_000) })
  const { world } = it
  const viewer = world.kernel.token('uploader', ['operator'])
  const head = `POST /v1/take HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${viewer}\r\nContent-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`
  const before = process.memoryUsage().arrayBuffers
  const raws = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const raw = await rawConnection(world.port)
      raw.write(head + ' '.repeat(MIB - 1_000))
      return raw
    }),
  )
  const body = `${' '.repeat(MIB / 2)}{"a":1}`
  const headers = { 'content-type': 'application/json' }
  assert.is((await world.ask('/v1/take', { method: 'POST', token: ADMIN_TOKEN, body, headers })).status, 200)
  // Nobody else waits behind them.
  assert.equal(
    raws.filter((raw) => raw.text() !== ''),
    [],
  )
  const held = process.memoryUsage().arrayBuffers - before
  assert.ok(held < 16 * MIB, `${held} bytes are held`)
  // Those that wait and those that are read are told in time.
  await Promise.all(raws.map((raw) => raw.closed))
  for (const raw of raws) assert.match(raw.text(), /HTTP\/1\.1 408[\s\S]*request_timeout/)
  assert.is((await world.ask('/v1/take', { method: 'POST', token: viewer, body, headers })).status, 200)
})

shares('makes room for a newcomer where most connections are, by one that nobody needs', async () => {
  await using it = await counting({ connections: 20 })
  const { world, begun, release } = it
  const busy = await rawConnection(world.port)
  busy.write(get('/v1/hold/busy'))
  await eventually(() => begun.length === 1)
  const silent = await Promise.all(Array.from({ length: 40 }, () => rawConnection(world.port)))
  assert.is((await world.ask('/v1/healthz')).status, 200)
  assert.ok((await openConnections(world)) <= 20)
  release()
  await eventually(() => answered(busy) === 1)
  for (const raw of [busy, ...silent]) raw.destroy()
})

shares.run()
