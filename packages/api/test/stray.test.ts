import { route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { rawConnection, rawExchange } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const stray = suite('api/stray')

let world: World
stray.before(async () => {
  const read = route({
    method: 'GET',
    path: '/v1/read',
    role: 'viewer',
    summary: 'Reads',
    handle: async () => ({ body: {} }),
  })
  const act = route({
    method: 'POST',
    path: '/v1/act',
    role: 'operator',
    summary: 'Acts, and takes no body',
    audit: { none: 'a test' },
    handle: async () => ({ body: {} }),
  })
  world = await serveRoutes([read, act])
})
stray.after(() => world.close())

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'PROPFIND',
  'QUERY',
  'MKCOL',
  'SEARCH',
  'LOCK',
]
const BODIES: readonly string[] = [
  '\r\n',
  'Content-Length: 1\r\n\r\n{',
  'Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{',
  'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n',
  'Content-Type: text/csv\r\nContent-Length: 1\r\n\r\na',
  'Content-Type: ;\r\nContent-Length: 1\r\n\r\na',
]

stray('answers any method and body on a path that nobody serves with 404', async () => {
  for (const method of METHODS) {
    for (const body of BODIES) {
      const head = `${method} /v1/nobody HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
      const answer = await rawExchange(world.port, head + body, { halfClose: false })
      assert.match(answer, /^HTTP\/1\.1 404 /, `${method} ${JSON.stringify(body)}`)
      assert.match(answer, '"code":"not_found"')
    }
  }
})

stray('answers any other method on a known path with 405 and what is allowed', async () => {
  for (const method of METHODS.slice(1)) {
    for (const body of BODIES) {
      const head = `${method} /v1/read HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
      const answer = await rawExchange(world.port, head + body, { halfClose: false })
      assert.match(answer, /^HTTP\/1\.1 405 /, `${method} ${JSON.stringify(body)}`)
      assert.match(answer, /\r\nallow: GET, HEAD\r\n/i)
    }
  }
})

stray(
  'closes the connection of a request that asks for an upgrade and is answered before its body',
  async () => {
    const connection = await rawConnection(world.port)
    const head = 'POST /v1/act HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n'
    connection.write(`${head}Content-Length: 200000\r\n\r\n`)
    await eventually(() => assert.match(connection.text(), /^HTTP\/1\.1 401 /))
    assert.match(connection.text(), /\r\nconnection: close\r\n/i)
    await connection.closed
  },
)

stray('gives what is not HTTP a request id and the headers of every other answer', async () => {
  const tooLarge = `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`
  for (const text of ['hello\r\n\r\n', tooLarge]) {
    const answer = await rawExchange(world.port, text)
    assert.match(answer, /\r\nX-Request-Id: [0-9a-f-]{36}\r\n/)
    assert.match(answer, /\r\nX-Content-Type-Options: nosniff\r\n/)
    assert.match(answer, /\r\nCache-Control: no-store\r\n/)
    assert.match(answer, /\r\nContent-Security-Policy: default-src 'none'/)
  }
})

stray('refuses a body where none is taken, and names what is in it if it has names', async () => {
  const ask = (json: unknown) => world.ask('/v1/act', { method: 'POST', token: ADMIN_TOKEN, json })
  assert.is((await ask({})).status, 200)
  for (const json of [7, 'text', null, []]) {
    const { status, body } = await ask(json)
    assert.is(status, 400)
    assert.equal(body, { error: { code: 'validation_failed', message: 'this route takes no body' } })
  }
  const named = (await ask({ a: 1 })).body.error.details
  assert.equal(named, [{ pointer: '/a', message: 'unknown property a' }])
})

stray.run()
