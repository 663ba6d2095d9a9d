import { objectSchema, ok, route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Raw, rawConnection, rawExchange } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'
import { TAKE } from './world/take-route.ts'

const raw = suite('api/raw-http')

const AUTH = `Authorization: Bearer ${ADMIN_TOKEN}`
const pour = route<unknown, unknown, AsyncIterable<Uint8Array>>({
  method: 'POST',
  path: '/v1/pour',
  role: 'operator',
  summary: 'Takes bytes as they come',
  audit: 'take.pour',
  consumes: ['application/octet-stream'],
  bodyLimit: 10_000,
  handle: async (request) => {
    let size = 0
    for await (const chunk of request.body) size += chunk.length
    return ok({ size })
  },
})
const slow = route({
  method: 'GET',
  path: '/v1/wait',
  role: 'viewer',
  summary: 'Waits until the client leaves',
  handle: (request) =>
    new Promise((resolve) => {
      came.push(request.id)
      request.signal.addEventListener('abort', () => {
        left.push(request.id)
        resolve(ok({}))
      })
    }),
})
const broken = route({
  method: 'GET',
  path: '/v1/broken-off',
  role: 'viewer',
  summary: 'Fails when the client leaves, as what was begun for it does',
  handle: (request) =>
    new Promise((_, reject) => {
      came.push(request.id)
      request.signal.addEventListener('abort', () => reject(request.signal.reason))
    }),
})
const echo = route<unknown, { readonly text: string }, undefined>({
  method: 'GET',
  path: '/v1/echo',
  role: 'viewer',
  summary: 'Says it again',
  schema: { query: objectSchema({ text: { type: 'string' } }, ['text']) },
  handle: async (request) => ok({ text: request.query.text }),
})
const root = route({
  method: 'GET',
  path: '/',
  role: 'public',
  summary: 'The first page',
  handle: async () => ok({ page: 1 }),
})
const came: string[] = []
const left: string[] = []

let world: World
/** One that gives up soon; the other waits as long as a busy machine takes. */
let hurried: World
raw.before(async () => {
  const routes = [TAKE, pour, slow, broken, echo, root]
  world = await serveRoutes(routes, { limits: { unreadBodyMs: 3_000, headerBytes: 4_096 } })
  hurried = await serveRoutes(routes, { limits: { bodyTimeoutMs: 150, headersTimeoutMs: 250 } })
})
raw.after(async () => {
  await world.close()
  await hurried.close()
})

const open = (): Promise<Raw> => rawConnection(world.port)

raw('answers garbage with 400 in the one error shape and closes', async () => {
  for (const text of [
    'hello\r\n\r\n',
    'GET /v1/healthz HTTP/9.9\r\n\r\n',
    'GET /v1/healthz HTTP/1.1\r\nbad header\r\n\r\n',
    'GET /v1/healthz HTTP/1.1\r\nHost: x\r\nX-A: a\u0000b\r\n\r\n',
    'POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    'POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  ]) {
    const answer = await rawExchange(world.port, text)
    assert.match(answer, /^HTTP\/1\.1 400 /, JSON.stringify(text))
    assert.match(answer, '"code":"validation_failed"')
  }
})

raw('answers too large headers and a too long URL with 431', async () => {
  const headers = await rawExchange(
    world.port,
    `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(5_000)}\r\n\r\n`,
  )
  assert.match(headers, /^HTTP\/1\.1 431 /)
  assert.match(headers, '"code":"headers_too_large"')
  const url = await rawExchange(world.port, `GET /${'x'.repeat(5_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
  assert.match(url, /^HTTP\/1\.1 431 /)
})

raw('gives up on headers that do not arrive in time', async () => {
  const answer = await rawExchange(hurried.port, 'GET /v1/healthz HTTP/1.1\r\nHost: x\r\n', {
    halfClose: false,
  })
  assert.match(answer, /^HTTP\/1\.1 408 /)
  assert.match(answer, '"code":"request_timeout"')
})

raw('gives up on a body that does not arrive in time', async () => {
  const head = `POST /v1/take HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"`
  const answer = await rawExchange(hurried.port, head, { halfClose: false })
  assert.match(answer, /^HTTP\/1\.1 408 /)
  assert.match(answer, '"code":"request_timeout"')
})

raw('stops a chunked body at the limit and does not read on for long', async () => {
  const connection = await open()
  connection.write(
    `POST /v1/take HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  for (let sent = 0; sent < 20; sent += 1) connection.write(chunk)
  await eventually(() => /^HTTP\/1\.1 413 /.test(connection.text()))
  await connection.closed
})

raw('stops a streamed body at the limit and says so', async () => {
  const connection = await open()
  connection.write(
    `POST /v1/pour HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  for (let sent = 0; sent < 5; sent += 1) connection.write(`1000\r\n${'x'.repeat(4_096)}\r\n`)
  await eventually(() => /^HTTP\/1\.1 413 /.test(connection.text()))
  connection.destroy()
})

raw('closes the connection of a client that pauses inside a streamed body', async () => {
  const head = `POST /v1/pour HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/octet-stream\r\nContent-Length: 100\r\n\r\nabc`
  assert.is(await rawExchange(hurried.port, head, { halfClose: false }), '')
})

raw('invites a body only after it has looked at the credential', async () => {
  const head =
    'POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\nExpect: 100-continue\r\n'
  const refused = await rawExchange(world.port, `${head}\r\n`, { halfClose: false })
  assert.match(refused, /^HTTP\/1\.1 401 /)
  assert.match(refused, /connection: close/i)
  const connection = await open()
  connection.write(`${head}${AUTH}\r\n\r\n`)
  await eventually(() => connection.text().startsWith('HTTP/1.1 100 Continue'))
  connection.write('{"a":1}')
  await eventually(() => connection.text().includes('{"got":{"a":1}}'))
  connection.end()
})

raw('serves the absolute form and requests without Host as any other', async () => {
  const absolute = await rawExchange(
    world.port,
    'GET http://box:8080/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  )
  assert.match(absolute, /^HTTP\/1\.1 200 /)
  const old = await rawExchange(world.port, 'GET /v1/version HTTP/1.0\r\n\r\n')
  assert.match(old, /^HTTP\/1\.1 200 /)
  const star = await rawExchange(world.port, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  assert.match(star, /^HTTP\/1\.1 (404|400) /)
  assert.match(star, '"error"')
})

raw('refuses a request that says twice who sends it or where to', async () => {
  const ask = (...headers: string[]) =>
    rawExchange(
      world.port,
      ['GET /v1/version HTTP/1.1', ...headers, 'Connection: close', '', ''].join('\r\n'),
    )
  for (const twice of [
    ['Host: a', AUTH, 'authorization: Bearer other'],
    ['Host: a', 'HOST: b', AUTH],
    ['Host: a', AUTH, 'Idempotency-Key: k1', 'idempotency-key: k2'],
  ]) {
    const answer = await ask(...twice)
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /validation_failed/)
    assert.match(answer, /was sent twice/)
    assert.not.match(answer, /Bearer/)
  }
  assert.match(await ask('Host: a', AUTH, 'Accept: a/b', 'Accept: c/d'), /^HTTP\/1\.1 200 /)
})

raw('answers requests that were sent without waiting, in order', async () => {
  const one = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const answer = await rawExchange(
    world.port,
    `${one('/v1/version')}${one('/v1/none')}GET /v1/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  )
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])
  assert.equal(statuses, ['200', '404', '200'])
})

raw('gives each of many answers of one turn to its own client, whole, whoever leaves meanwhile', async () => {
  const connections = await Promise.all(Array.from({ length: 150 }, open))
  const textOf = (index: number): string => (index % 2 === 0 ? `nr-${index}` : `Straße-${index}-€`)
  for (const [index, connection] of connections.entries()) {
    const method = index % 5 === 0 ? 'HEAD' : 'GET'
    const query = encodeURIComponent(textOf(index))
    connection.write(
      `${method} /v1/echo?text=${query} HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nConnection: close\r\n\r\n`,
    )
    if (index % 7 === 0) connection.destroy()
  }
  await Promise.all(connections.map(({ closed }) => closed))
  for (const [index, connection] of connections.entries()) {
    if (index % 7 === 0) continue
    const bytes = Buffer.from(JSON.stringify({ text: textOf(index) })).toString('latin1')
    const [head = '', body] = connection.text().split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 200 /, `${index}: ${connection.text()}`)
    assert.match(head, new RegExp(`content-length: ${bytes.length}\r`, 'i'))
    assert.is(body, index % 5 === 0 ? '' : bytes)
  }
})

raw('does not let a request id break the headers of the answer', async () => {
  const answer = await rawExchange(
    world.port,
    'GET /v1/version HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\tb\r\nX-Request-Id: evil\r\nConnection: close\r\n\r\n',
  )
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.not.match(answer, 'evil')
})

raw('tells a handler that its client has left, and answers nobody', async () => {
  const connection = await open()
  connection.write(`GET /v1/wait HTTP/1.1\r\nHost: x\r\nX-Request-Id: leaver\r\n${AUTH}\r\n\r\n`)
  await eventually(() => came.includes('leaver'))
  connection.destroy()
  await eventually(() => left.includes('leaver'))
  await eventually(() =>
    world.kernel.lines.some((line) => line.facts.request_id === 'leaver' && line.facts.status === 499),
  )
})

raw('takes what is broken off for a client that has left for no failure', async () => {
  const connection = await open()
  connection.write(`GET /v1/broken-off HTTP/1.1\r\nHost: x\r\nX-Request-Id: breaker\r\n${AUTH}\r\n\r\n`)
  await eventually(() => came.includes('breaker'))
  connection.destroy()
  const lines = () => world.kernel.lines.filter((line) => line.facts.request_id === 'breaker')
  await eventually(() => lines().some((line) => line.facts.status === 499))
  assert.equal(
    lines().filter(({ level }) => level === 'error'),
    [],
  )
})

raw('says that nothing behind an Upgrade is read', async () => {
  const text = `GET /v1/healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  const answer = await rawExchange(world.port, text + text, { halfClose: false })
  assert.is(answer.match(/HTTP\/1\.1 200/g)?.length, 1)
  assert.match(answer, /connection: close/i)
})

raw('reads no body in a coding that it does not know, and nothing behind it', async () => {
  const chunked = '7\r\n{"a":1}\r\n0\r\n\r\n'
  const post = (version: string, coding: string): string =>
    `POST /v1/take HTTP/${version}\r\nHost: x\r\n${AUTH}\r\nContent-Type: application/json\r\nTransfer-Encoding: ${coding}\r\n\r\n${chunked}`
  const plain = await rawExchange(
    world.port,
    post('1.1', 'Chunked') + post('1.1', 'gzip, chunked') + post('1.1', 'chunked'),
    {
      halfClose: false,
    },
  )
  assert.equal(
    [...plain.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
    ['200', '400'],
  )
  assert.match(plain, /the only Transfer-Encoding that is read is chunked/)
  const old = await rawExchange(world.port, post('1.0', 'chunked'), { halfClose: false })
  assert.match(old, /^HTTP\/1\.1 400[\s\S]*HTTP\/1\.0 has no Transfer-Encoding/)
})

raw('answers once what ends in a coding that it does not know', async () => {
  const answer = await rawExchange(
    world.port,
    'GET /v1/healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: cow\r\n\r\n',
  )
  assert.is(answer.match(/HTTP\/1\.1 /g)?.length, 1, answer)
  assert.match(answer, /^HTTP\/1\.1 400[\s\S]*connection: close/i)
})

raw('refuses HTTP/0.9, which has no status to answer with', async () => {
  const answer = await rawExchange(world.port, 'GET /v1/healthz\r\n\r\n', { halfClose: false })
  assert.match(answer, /^HTTP\/1\.1 400[\s\S]*HTTP\/0\.9 is not spoken here/)
})

raw('takes a target that is no path for none of its own', async () => {
  const ask = async (target: string): Promise<string> =>
    await rawExchange(world.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  assert.match(await ask('/'), /^HTTP\/1.1 200 /)
  assert.match(await ask('http://x'), /^HTTP\/1.1 200 /)
  for (const target of ['*', '*/', 'v1/echo', 'x:1'])
    assert.match(await ask(target), /^HTTP\/1.1 40[04] /, target)
})

raw.run()
