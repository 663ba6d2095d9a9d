import { objectSchema, ok, type Reply, route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { rawConnection, rawExchange } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'
import { TAKE } from './world/take-route.ts'

const pipelining = suite('api/pipelining')

const AUTH = `Authorization: Bearer ${ADMIN_TOKEN}`

/** A world whose requests wait until the test lets them go. */
interface Held {
  readonly world: World
  /** What came in, in order. */
  readonly came: readonly string[]
  release(id: string): void
}

async function holding(): Promise<Held> {
  const came: string[] = []
  const waiting = new Map<string, () => void>()
  const hold = route<{ readonly id: string }, undefined, undefined>({
    method: 'GET',
    path: '/v1/hold/:id',
    role: 'viewer',
    summary: 'Waits until it is let go',
    schema: { params: objectSchema({ id: { type: 'string' } }, ['id']) },
    handle: async ({ params: { id } }) => {
      came.push(id)
      if (id.startsWith('held')) await new Promise<void>((resolve) => waiting.set(id, resolve))
      return ok({ id })
    },
  })
  const world = await serveRoutes([hold, TAKE])
  return { world, came, release: (id) => waiting.get(id)?.() }
}

const get = (id: string, ...headers: string[]): string =>
  [`GET /v1/hold/${id} HTTP/1.1`, 'Host: x', AUTH, ...headers, '', ''].join('\r\n')
const post = (body: string): string =>
  `POST /v1/take HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const statusesOf = (text: string): readonly string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1] ?? '')

pipelining(
  'answers every request that runs when the listener goes down, and says so with the last',
  async () => {
    const { world, came, release } = await holding()
    const connection = await rawConnection(world.port)
    connection.write(get('held-1') + get('held-2') + get('held-3'))
    await eventually(() => came.length === 3)
    const closed = world.edge.close()
    for (const id of ['held-2', 'held-1', 'held-3']) release(id)
    await connection.closed
    await closed
    const text = connection.text()
    assert.equal(statusesOf(text), ['200', '200', '200'])
    assert.equal(text.match(/"id":"held-\d"/g), ['"id":"held-1"', '"id":"held-2"', '"id":"held-3"'])
    assert.is(text.match(/connection: close/gi)?.length, 1)
    assert.ok(text.search(/connection: close/i) > text.indexOf('"id":"held-2"'))
  },
)

pipelining('begins nothing behind an answer that closes the connection', async () => {
  const { world, came, release } = await holding()
  const connection = await rawConnection(world.port)
  connection.write(get('held-1', 'Connection: close') + get('next'))
  await eventually(() => came.length === 1)
  release('held-1')
  await connection.closed
  assert.equal(came, ['held-1'])
  assert.equal(statusesOf(connection.text()), ['200'])
  const going = await rawConnection(world.port)
  going.write(get('held-2'))
  await eventually(() => came.length === 2)
  const closed = world.edge.close()
  release('held-2')
  await eventually(() => /connection: close/i.test(going.text()))
  going.write(get('late'))
  await going.closed
  await closed
  assert.equal(came, ['held-1', 'held-2'])
})

pipelining('answers what was whole before it refuses the garbage behind it', async () => {
  const { world, came, release } = await holding()
  try {
    const answer = await rawExchange(world.port, `${post('{"a":1}')}GARBAGE\r\n\r\n`, { halfClose: false })
    assert.equal(statusesOf(answer), ['200', '400'])
    assert.match(answer, '{"got":{"a":1}}')
    assert.match(answer, '"code":"validation_failed"')
    const connection = await rawConnection(world.port)
    connection.write(`${get('held-1')}GARBAGE\r\n\r\n`)
    await eventually(() => came.includes('held-1'))
    connection.write('more of it')
    release('held-1')
    await connection.closed
    assert.equal(statusesOf(connection.text()), ['200', '400'])
    const broken = `${post('{"a":2}')}POST /v1/take HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`
    assert.equal(statusesOf(await rawExchange(world.port, broken, { halfClose: false })), ['200', '400'])
  } finally {
    await world.close()
  }
})

pipelining('refuses to be a proxy, in the shape of its errors', async () => {
  const { world } = await holding()
  try {
    const alone = await rawExchange(world.port, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', {
      halfClose: false,
    })
    assert.equal(statusesOf(alone), ['405'])
    assert.match(alone, '"code":"method_not_allowed"')
    const behind = `${post('{"a":1}')}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`
    assert.equal(statusesOf(await rawExchange(world.port, behind, { halfClose: false })), ['200', '405'])
  } finally {
    await world.close()
  }
})

pipelining('answers few requests of a connection on which nobody was admitted, and closes it', async () => {
  const { world } = await holding()
  const ask = (header: string, times: number): Promise<string> =>
    rawExchange(world.port, `GET /v1/hold/x HTTP/1.1\r\nHost: x\r\n${header}\r\n`.repeat(times), {
      halfClose: false,
    })
  try {
    const stranger = await ask('', 60)
    assert.equal(statusesOf(stranger), Array(5).fill('401'))
    assert.match(stranger.slice(stranger.lastIndexOf('HTTP/1.1')), /connection: close/i)
    assert.equal(statusesOf(await ask('Authorization: Bearer svc_guess\r\n', 60)), Array(12).fill('401'))
    const known = await rawConnection(world.port)
    known.write(get('first'))
    await eventually(() => statusesOf(known.text()).length === 1)
    known.write(`${get('more')}`.repeat(60) + get('last', 'Connection: close'))
    await known.closed
    assert.equal(statusesOf(known.text()), Array(62).fill('200'))
  } finally {
    await world.close()
  }
})

pipelining('refuses HTTP/1.1 without Host', async () => {
  const { world } = await holding()
  try {
    const answer = await rawExchange(world.port, 'GET /v1/healthz HTTP/1.1\r\nConnection: close\r\n\r\n')
    assert.equal(statusesOf(answer), ['400'])
    assert.match(answer, /header Host is missing/)
  } finally {
    await world.close()
  }
})

pipelining('frames each answer itself, whatever headers and status a plugin gives', async () => {
  const replies: Record<string, Reply> = {
    length: { headers: { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }, body: { a: 1 } },
    hop: { headers: { Connection: 'close', 'Keep-Alive': 'timeout=1' }, body: { a: 1 } },
    early: { status: 100, body: { a: 1 } },
    odd: { status: 999, body: { a: 1 } },
    half: { status: 200.5, body: { a: 1 } },
  }
  const give = route<{ readonly id: string }, undefined, undefined>({
    method: 'GET',
    path: '/v1/give/:id',
    role: 'viewer',
    summary: 'Gives what it is told',
    schema: { params: objectSchema({ id: { type: 'string' } }, ['id']) },
    handle: async ({ params: { id } }) => replies[id] ?? ok({}),
  })
  await using world = await serveRoutes([give])
  const ask = (id: string): Promise<string> =>
    rawExchange(
      world.port,
      `GET /v1/give/${id} HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\nGET /v1/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      { halfClose: false },
    )
  for (const id of ['length', 'hop']) {
    const answer = await ask(id)
    assert.equal(statusesOf(answer), ['200', '200'], id)
    assert.match(answer, /content-length: 7\r/i)
    assert.not.match(answer, /content-length: 5|transfer-encoding|timeout=1/i)
  }
  for (const id of ['early', 'odd', 'half']) assert.equal(statusesOf(await ask(id)), ['500', '200'], id)
})

pipelining.run()
