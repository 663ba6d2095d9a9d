import { assert, eventually, suite } from '@steeple/testkit'
import { type Raw, rawConnection } from './world/raw-socket.ts'
import { serveRoutes, type World } from './world/serve-routes.ts'
import { TAKE } from './world/take-route.ts'

const late = suite('api/late-body')
let world: World
/** How far the edge's clock is ahead, ms. */
let aheadMs = 0

late.before(async () => {
  world = await serveRoutes([TAKE])
  const { monotonicMs } = world.kernel.clock
  Object.assign(world.kernel.clock, { monotonicMs: () => monotonicMs() + aheadMs })
})
late.after(() => world.close())

/** A request that is admitted, and whose body has not come. */
async function admitted(token: string): Promise<Raw> {
  const connection = await rawConnection(world.port)
  connection.write(
    `POST /v1/take HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      'Content-Length: 7\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n',
  )
  await eventually(() => connection.text().startsWith('HTTP/1.1 100 Continue'))
  return connection
}

/** What the rest of it is answered, a second later. */
async function answerLater(connection: Raw): Promise<string> {
  aheadMs += 1_000
  connection.write('{"a":1}')
  await connection.closed
  return connection.text().replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
}

late('takes a body that comes late from somebody who may send it still', async () => {
  const connection = await admitted(world.kernel.token('slow', ['operator']))
  assert.match(await answerLater(connection), /^HTTP\/1\.1 200 /)
})

late('refuses the body of a credential that was taken away while it came', async () => {
  const token = world.kernel.token('gone', ['operator'])
  const connection = await admitted(token)
  world.kernel.revoke(token)
  assert.match(await answerLater(connection), /^HTTP\/1\.1 401 [\s\S]*"unauthenticated"/)
  assert.not.ok(world.kernel.audited.some(({ principal }) => principal === 'id-gone'))
})

late('refuses the body of somebody who has lost the role while it came, and audits that', async () => {
  const token = world.kernel.token('less', ['operator'])
  const connection = await admitted(token)
  world.kernel.token('less', ['viewer'])
  assert.match(await answerLater(connection), /^HTTP\/1\.1 403 /)
  const entries = world.kernel.audited.filter(({ principal }) => principal === 'id-less')
  assert.equal(
    entries.map(({ outcome }) => outcome),
    ['denied'],
  )
})

late.run()
