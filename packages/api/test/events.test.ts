import { assert, eventually, suite } from '@steeple/testkit'
import { type Raw, rawConnection } from './world/raw-socket.ts'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const events = suite('api/events')

let world: World
let token = ''
events.before.each(async () => {
  world = await serveRoutes([], { limits: { heartbeatMs: 60, recheckMs: 30, eventStreams: 2, drainMs: 200 } })
  token = world.kernel.token('watcher', ['viewer'])
})
events.after.each(() => world.close())

async function listen(lastEventId?: string): Promise<Raw> {
  const connection = await rawConnection(world.port)
  const resume = lastEventId === undefined ? '' : `Last-Event-ID: ${lastEventId}\r\n`
  connection.write(`GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${resume}\r\n`)
  await eventually(() => connection.text().includes('\r\n\r\n'))
  return connection
}

const idsIn = (connection: Raw): readonly number[] =>
  [...connection.text().matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))

events('sends what happens from now on, with id, type and data', async () => {
  world.kernel.emit('sim.issue', 'before')
  const stream = await listen()
  await eventually(() => stream.text().includes('retry: '))
  world.kernel.emit('sim.issue', 'abc', { count: 1 })
  await eventually(() => stream.text().includes('event: sim.issue'))
  assert.match(stream.text(), /content-type: text\/event-stream/i)
  // The first is where it begins, for who loses the connection before anything happens.
  assert.equal(idsIn(stream), [1, 2])
  assert.match(
    stream.text(),
    'data: {"id":2,"at":"1970-01-01T00:00:02.000Z","type":"sim.issue","subject":"abc","data":{"count":1}}',
  )
  stream.destroy()
})

events('tells of people and their credentials whom the audit trail tells, and whom it is about', async () => {
  const open = await listen()
  await eventually(() => open.text().includes('retry: '))
  token = world.kernel.token('worker', ['operator', 'viewer'])
  const operator = await listen()
  await eventually(() => operator.text().includes('retry: '))
  const types = ['auth.login', 'token.create', 'user.roles', 'plugin.secret.set', 'plugin.load', 'sim.issue']
  for (const type of types) world.kernel.emit(type, 'somebody')
  world.kernel.emit('user.password', 'id-watcher')
  const typesIn = (connection: Raw): readonly string[] =>
    [...connection.text().matchAll(/^event: (.+)$/gm)].map((match) => match[1] ?? '')
  await eventually(() => typesIn(operator).includes('user.password'))
  assert.equal(typesIn(operator), [...types, 'user.password'])
  await eventually(() => typesIn(open).includes('user.password'))
  assert.equal(typesIn(open), ['plugin.load', 'sim.issue', 'user.password'])
  open.destroy()
  operator.destroy()
})

events('goes on after the last event that a client has seen, and misses none', async () => {
  for (let n = 1; n <= 700; n += 1) world.kernel.emit('tick', String(n))
  const stream = await listen('100')
  await eventually(() => idsIn(stream).at(-1) === 700)
  world.kernel.emit('tick', '701')
  await eventually(() => idsIn(stream).at(-1) === 701)
  assert.equal(
    idsIn(stream),
    Array.from({ length: 601 }, (_, index) => index + 101),
  )
  stream.destroy()
})

events('says so when events in between are not kept any more', async () => {
  for (let n = 1; n <= 10; n += 1) world.kernel.emit('tick', String(n))
  world.kernel.sweepTo(6)
  const stream = await listen('2')
  await eventually(() => idsIn(stream).includes(10))
  assert.match(stream.text(), 'event: gap\ndata: {"after":2,"until":6}')
  assert.equal(idsIn(stream), [6, 7, 8, 9, 10])
  stream.destroy()
})

events('says so when a client has seen more than there is', async () => {
  world.kernel.emit('tick', '1')
  const stream = await listen('500')
  await eventually(() => stream.text().includes('event: gap\ndata: {"after":500,"until":1}'))
  world.kernel.emit('tick', '2')
  await eventually(() => idsIn(stream).includes(2))
  stream.destroy()
})

events('refuses an id that is none', async () => {
  const answer = await world.ask('/v1/events', { token, headers: { 'last-event-id': 'abc' } })
  assert.is(answer.status, 400)
  assert.is(answer.body.error.code, 'validation_failed')
})

events('keeps an idle stream alive with comments', async () => {
  const stream = await listen()
  await eventually(() => stream.text().includes(': still here'))
  stream.destroy()
})

events('ends when the credential is revoked', async () => {
  const stream = await listen()
  world.kernel.revoke(token)
  await eventually(() => stream.text().endsWith('0\r\n\r\n'))
  stream.destroy()
})

events('gives nothing that happens after the credential has ended, and ends at once', async () => {
  const own = await serveRoutes([], { limits: { heartbeatMs: 60_000, recheckMs: 60_000, drainMs: 200 } })
  token = own.kernel.token('watcher', ['viewer'])
  await world.close()
  world = own
  const stream = await listen()
  world.kernel.emit('sim.issue', 'before')
  await eventually(() => stream.text().includes('before'))
  world.kernel.revoke(token)
  world.kernel.emit('token.delete', 'watcher')
  world.kernel.emit('sim.issue', 'after')
  await eventually(() => stream.text().endsWith('0\r\n\r\n'))
  assert.not.match(stream.text(), /after/)
  stream.destroy()
})

events('goes on while the store does not answer for a moment', async () => {
  const stream = await listen()
  world.kernel.isDown = true
  await new Promise((resolve) => setTimeout(resolve, 80))
  world.kernel.isDown = false
  world.kernel.emit('tick', '1')
  await eventually(() => idsIn(stream).includes(1))
  stream.destroy()
})

events('bounds the number of streams and frees the place of one that left', async () => {
  const first = await listen()
  await listen()
  const third = await world.ask('/v1/events', { token })
  assert.is(third.status, 503)
  assert.is(third.body.error.code, 'not_ready')
  assert.is(third.headers.get('retry-after'), '5')
  first.destroy()
  await eventually(async () => (await world.ask('/metrics')).text.includes('svc_http_event_streams_open 1'))
  assert.match((await listen()).text(), /^HTTP\/1\.1 200 /)
})

events('bounds the streams of one principal, so that it leaves some to others', async () => {
  await using own = await serveRoutes([], { limits: { eventStreamsEach: 1, drainMs: 200 } })
  const viewer = own.kernel.token('one', ['viewer'])
  const other = own.kernel.token('two', ['viewer'])
  const open = (bearer: string): Promise<Response> =>
    fetch(`${own.url}/v1/events`, { headers: { authorization: `Bearer ${bearer}` } })
  const first = await open(viewer)
  assert.is(first.status, 200)
  const second = await open(viewer)
  assert.is(second.status, 429)
  assert.is(second.headers.get('ratelimit-limit'), '1')
  assert.ok(second.headers.get('retry-after'))
  await second.text()
  const another = await open(other)
  assert.is(another.status, 200)
  await first.body?.cancel()
  await eventually(async () => {
    const again = await open(viewer)
    if (again.status !== 200) {
      await again.text()
      throw new Error(`still ${again.status}`)
    }
    await again.body?.cancel()
  })
  await another.body?.cancel()
})

events('keeps an eighth of the streams for administrators', async () => {
  await using own = await serveRoutes([], { limits: { eventStreams: 8, eventStreamsEach: 8 } })
  const viewer = own.kernel.token('crowd', ['viewer'])
  const open = (bearer: string) =>
    fetch(`${own.url}/v1/events`, { headers: { authorization: `Bearer ${bearer}` } })
  const streams = await Promise.all(Array.from({ length: 8 }, () => open(viewer)))
  assert.equal(streams.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 503])
  const last = await open(ADMIN_TOKEN)
  assert.is(last.status, 200)
  for (const stream of [...streams, last]) await stream.body?.cancel()
})

events('survives a change of the route set', async () => {
  const stream = await listen()
  await world.edge.swap(await world.edge.build([]))
  world.kernel.emit('tick', '1')
  await eventually(() => idsIn(stream).includes(1))
  stream.destroy()
})

events('ends in order when the service stops', async () => {
  const stream = await listen()
  await world.close()
  await stream.closed
  assert.ok(stream.text().endsWith('0\r\n\r\n'))
  world = await serveRoutes([])
})

events('logs the address of a listener that has gone', async () => {
  const stream = await listen()
  stream.destroy()
  const line = () => world.kernel.lines.find(({ facts }) => facts.route === '/v1/events')
  await eventually(() => line() !== undefined)
  assert.is(line()?.facts.ip, '127.0.0.1')
})

events.run()
