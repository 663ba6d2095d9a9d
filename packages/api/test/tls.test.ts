import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { BOX_SERVER_NAME, isServiceError, ok, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { rawConnection, rawExchange } from './world/raw-socket.ts'
import { serveRoutes } from './world/serve-routes.ts'
import { serverCertificate, serveTls, type TlsWorld } from './world/serve-tls.ts'

const tls = suite('api/tls')

/** Ends in an answer however long it takes to be let go. */
const slow = Promise.withResolvers<void>()
const routes = [
  route({
    method: 'GET',
    path: '/v1/slow',
    role: 'viewer',
    summary: 'Answers when it is let go',
    handle: async () => {
      await slow.promise
      return ok({ done: true })
    },
  }),
]

let world: TlsWorld

tls.before(async () => {
  world = await serveTls(routes, { plainListen: '127.0.0.1:0' })
})
tls.after(() => world.close())

tls('serves over TLS, with a word to browsers to stay there', async () => {
  const answer = await world.get('/v1/version')
  assert.is(answer.status, 200)
  assert.is(answer.headers['strict-transport-security'], 'max-age=31536000')
})

tls('serves plain HTTP on loopback, without that word and without a certificate', async () => {
  const port = world.edge.plainAddress()?.port
  const answer = await fetch(`http://127.0.0.1:${port}/v1/version`)
  assert.is(answer.status, 200)
  assert.is(answer.headers.get('strict-transport-security'), null)
  assert.is((await fetch(`http://127.0.0.1:${port}/v1/plugins`)).status, 401)
})

tls('listens plainly nowhere but on loopback', async () => {
  for (const plainListen of ['0.0.0.0:0', ':0', '[::]:0', '192.0.2.1:0', 'example.org:0', 'nonsense']) {
    let code = ''
    const served = await serveRoutes([], { plainListen }).catch((error: unknown) => {
      code = isServiceError(error) ? error.code : String(error)
      return undefined
    })
    await served?.close()
    assert.is(code, 'config_invalid', plainListen)
  }
})

const IN_THE_CLEAR: readonly (readonly [string, string])[] = [
  ['a request', 'GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a request for a proxy', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['half a request', 'GET /v1/ver'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['an empty line', '\r\n'],
  ['a record of an unknown version', '\x16\x00\x00\x00\x05hello'],
  ['a record that is too long', '\x16\x03\x01\xff\xff'.padEnd(70_000, 'x')],
]

tls('never says a word in the clear to whoever speaks in the clear', async () => {
  for (const [what, bytes] of IN_THE_CLEAR) {
    const answer = await rawExchange(world.port, bytes)
    assert.not.match(answer, /HTTP/, what)
    // An alert of the TLS record protocol is the most that there may be (RFC 8446 §6).
    assert.ok(
      answer === '' || (answer.startsWith('\x15') && answer.length === 7),
      `${what}: ${answer.length}`,
    )
  }
  assert.is((await world.get('/v1/version')).status, 200)
})

tls('closes what says nothing, and noise', async () => {
  await using own = await serveTls([], { limits: { headersTimeoutMs: 200 } })
  const silent = await rawConnection(own.port)
  await silent.closed
  assert.is(silent.text(), '')
  for (let n = 0; n < 50; n++) {
    const answer = await rawExchange(own.port, randomBytes(200).toString('latin1'))
    assert.not.match(answer, /HTTP/)
  }
})

tls('speaks TLS 1.3 alone, and 1.2 when it is told so', async () => {
  const old = await world.dial({ maxVersion: 'TLSv1.2' }).catch((error: NodeJS.ErrnoException) => error.code)
  assert.is(old, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')
  const socket = await world.dial()
  assert.is(socket.getProtocol(), 'TLSv1.3')
  socket.destroy()
  await using lenient = await serveTls([], { minVersion: 'TLSv1.2' })
  const second = await lenient.dial({ maxVersion: 'TLSv1.2' })
  assert.is(second.getProtocol(), 'TLSv1.2')
  second.destroy()
  const oldest = await lenient
    .dial({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
    .catch((error: NodeJS.ErrnoException) => error.code)
  assert.is(oldest, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')
})

tls('speaks HTTP/1.1 and nothing else', async () => {
  const socket = await world.dial({ ALPNProtocols: ['h2', 'http/1.1'] })
  assert.is(socket.alpnProtocol, 'http/1.1')
  socket.destroy()
  const other = await world
    .dial({ ALPNProtocols: ['h2'] })
    .catch((error: NodeJS.ErrnoException) => error.code)
  assert.is(other, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')
})

tls('presents a renewed certificate to whoever comes next, and drops nobody', async () => {
  const token = world.kernel.token('renewal', ['viewer'])
  const before = await world.dial()
  const shown = (socket: TLSSocket): string | undefined => socket.getPeerX509Certificate()?.serialNumber
  assert.is(shown(before)?.toLowerCase(), world.server.serial)
  const pending = world.get('/v1/slow', { socket: before, token, headers: { connection: 'keep-alive' } })
  const next = await serverCertificate(world.mesh)
  world.renew({ key: next.key, cert: next.cert + world.mesh.pem })
  const after = await world.dial()
  assert.is(shown(after)?.toLowerCase(), next.serial)
  after.destroy()
  slow.resolve()
  assert.is((await pending).status, 200)
  assert.is(before.destroyed, false)
  before.destroy()
})

tls('keeps the certificate that it has when the next one is no pair', async () => {
  const shown = async (): Promise<string | undefined> => {
    const socket = await world.dial()
    const serial = socket.getPeerX509Certificate()?.serialNumber
    socket.destroy()
    return serial
  }
  const before = await shown()
  const [one, other] = [await serverCertificate(world.mesh), await serverCertificate(world.mesh)]
  world.renew({ key: other.key, cert: one.cert })
  assert.is(await shown(), before)
  assert.ok(world.kernel.lines.some(({ message }) => message === 'the renewed certificate could not be used'))
})

tls('shows other boxes the certificate of the mesh, whatever people are shown', async () => {
  await using own = await serveTls([])
  const serialFor = async (servername: string): Promise<string | undefined> => {
    const socket = await own.dial({ servername })
    const serial = socket.getPeerX509Certificate()?.serialNumber.toLowerCase()
    socket.destroy()
    return serial
  }
  assert.is(await serialFor(BOX_SERVER_NAME), own.server.serial)
  const [ofMesh, renewed] = [await serverCertificate(own.mesh), await serverCertificate(own.mesh)]
  own.renew({ boxes: ofMesh })
  assert.is(await serialFor(BOX_SERVER_NAME), ofMesh.serial)
  assert.is(await serialFor('localhost'), own.server.serial)
  own.renew({ boxes: renewed })
  assert.is(await serialFor(BOX_SERVER_NAME), renewed.serial)
  const client = await own.mesh.issue({})
  const socket = await own.dial({ servername: BOX_SERVER_NAME, client })
  assert.is((await own.get('/v1/events', { socket })).status, 403)
})

tls('lets nobody renegotiate', async () => {
  await using lenient = await serveTls([], { minVersion: 'TLSv1.2' })
  const socket = await lenient.dial({ maxVersion: 'TLSv1.2' })
  const refused = once(socket, 'error')
  socket.renegotiate({}, () => undefined)
  assert.match(String(await refused), /no renegotiation/)
})

tls.run()
