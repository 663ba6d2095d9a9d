import { once } from 'node:events'
import { Agent } from 'node:https'
import { ok, type Reply, type Request, type Route, route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Leaf, makeCa, NODE_ID } from './world/certificates.ts'
import { serveTls, type TlsAnswer, type TlsWorld } from './world/serve-tls.ts'

const certificates = suite('api/client-certificates')

const DAY_MS = 86_400_000
const OTHER_NODE = '99999999-2222-4333-8444-555555555555'

const who = async ({ principal }: Request): Promise<Reply> => {
  const { kind, id, roles, expiresAtMs } = principal
  return ok({ kind, id, roles: [...roles].sort(), expires_at_ms: expiresAtMs ?? null })
}

const ROUTES: readonly Route[] = [
  route({ method: 'GET', path: '/v1/who', role: 'viewer', nodeToo: true, summary: 'Who asks', handle: who }),
  route({ method: 'GET', path: '/v1/people', role: 'viewer', summary: 'People alone', handle: who }),
  route({
    method: 'GET',
    path: '/v1/open',
    role: 'public',
    summary: 'Everybody',
    handle: async () => ok({}),
  }),
  route({
    method: 'POST',
    path: '/v1/nodes/:id/enroll',
    role: 'bootstrap',
    nodeToo: true,
    summary: 'Enroll',
    audit: 'node.enroll',
    handle: who,
  }),
  route({
    method: 'POST',
    path: '/v1/nodes/:id/closed',
    role: 'bootstrap',
    summary: 'For bootstrap tokens alone',
    audit: 'node.enroll',
    handle: who,
  }),
  route({
    method: 'POST',
    path: '/v1/stop',
    role: 'operator',
    summary: 'Changes something without a body',
    audit: 'test.stop',
    handle: who,
  }),
  route({ method: 'GET', path: '/v1/keys/:id', role: 'node', summary: 'Of nodes alone', handle: who }),
  route({
    method: 'GET',
    path: '/v1/nodes/:id/notes',
    role: 'viewer',
    nodeToo: true,
    summary: 'Of one node',
    handle: who,
  }),
]

let world: TlsWorld

certificates.before(async () => {
  // Open connections are looked at after a commit alone: not between a revocation and the request that shall see it.
  world = await serveTls(ROUTES, { limits: { recheckMs: 20, certificatesMs: 1e9 } })
})
certificates.after(() => world.close())

const operator = (name: string): Leaf => ({ names: [{ type: 'url', value: `svc://cli/${name}` }] })

certificates('makes a node of a certificate of the mesh', async () => {
  const notAfterMs = Math.floor((Date.now() + DAY_MS) / 1_000) * 1_000
  const client = await world.mesh.issue({ notAfterMs })
  const { status, body } = await world.get('/v1/who', { client })
  assert.is(status, 200)
  assert.equal(body, { kind: 'node', id: NODE_ID, roles: ['node'], expires_at_ms: notAfterMs })
  assert.is((await world.get('/v1/people', { client })).status, 403)
})

certificates('makes an operator of a certificate of this box, with the roles of the moment', async () => {
  const client = await world.own.issue(operator('anna'))
  const socket = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    assert.is((await world.get('/v1/people', { client, agent: socket })).body.kind, 'cli')
    world.operatorRoles = ['sim:issuer']
    assert.equal((await world.get('/v1/people', { client, agent: socket })).body.roles, [
      'sim:issuer',
      'viewer',
    ])
  } finally {
    world.operatorRoles = ['viewer']
    socket.destroy()
  }
})

certificates('asks for a certificate and does without one', async () => {
  const answer = await world.get('/v1/who')
  assert.is(answer.status, 401)
  assert.is(answer.code, 'unauthenticated')
  const socket = await world.dial()
  assert.is(socket.authorized, false)
  socket.destroy()
})

certificates('refuses what is expired, early, foreign, misused or unknown', async () => {
  const foreign = await makeCa('Mesh CA')
  const refused: readonly (readonly [
    string,
    Parameters<TlsWorld['mesh']['issue']>[0],
    TlsWorld['mesh'],
    string,
  ])[] = [
    ['expired', { notAfterMs: Date.now() - 60_000 }, world.mesh, 'certificate_revoked'],
    ['not yet valid', { notBeforeMs: Date.now() + DAY_MS / 2 }, world.mesh, 'unauthenticated'],
    ['foreign', {}, foreign, 'unauthenticated'],
    ['for servers', { usages: ['1.3.6.1.5.5.7.3.1'] }, world.mesh, 'unauthenticated'],
    ['for nothing', { usages: [] }, world.mesh, 'unauthenticated'],
    ['a CA', { isCa: true }, world.mesh, 'unauthenticated'],
    ['nameless', { names: [] }, world.mesh, 'unauthenticated'],
    ['a node of the own CA', {}, world.own, 'unauthenticated'],
    ['an operator of the mesh', operator('anna'), world.mesh, 'unauthenticated'],
  ]
  for (const [what, leaf, ca, code] of refused) {
    const client = await ca.issue(leaf)
    const answer = await world.get('/v1/who', { client })
    assert.equal([answer.status, answer.code], [401, code], what)
    assert.is(answer.headers.connection, 'close', what)
    // A token does not make up for it.
    const token = world.kernel.token('person', ['viewer'])
    assert.is((await world.get('/v1/who', { client, token })).code, code, what)
    assert.is((await world.get('/v1/open', { client })).status, 200, what)
  }
})

certificates(
  'refuses one that nobody has issued here, and one when nobody answers for its kind',
  async () => {
    const client = await world.mesh.issue({})
    world.known.add('none')
    assert.is((await world.get('/v1/who', { client })).code, 'unauthenticated')
    world.known.clear()
    assert.is((await world.get('/v1/who', { client })).status, 200)
    await using bare = await serveTls(ROUTES)
    bare.kernel.services.clear()
    assert.is((await bare.get('/v1/who', { client: await bare.mesh.issue({}) })).code, 'unauthenticated')
  },
)

certificates('believes no service that makes more of a node than a node', async () => {
  const client = await world.own.issue(operator('eve'))
  world.operatorRoles = ['node']
  try {
    assert.is((await world.get('/v1/who', { client })).status, 401)
  } finally {
    world.operatorRoles = ['viewer']
  }
})

certificates('lets the token say who acts where there are both', async () => {
  const client = await world.mesh.issue({})
  const token = world.kernel.token('person', ['viewer'])
  const answer = await world.get('/v1/people', { client, token })
  assert.equal([answer.status, answer.body.kind, answer.body.id], [200, 'token', 'id-person'])
  const unknown = await world.get('/v1/who', { client, token: `svc_${'u'.repeat(43)}` })
  assert.is(unknown.code, 'unauthenticated')
  // Asked before, and remembered: the certificate is looked at all the same.
  world.revoked.add(client.serial)
  assert.is((await world.get('/v1/people', { client, token })).code, 'certificate_revoked')
})

certificates('lets no page of another site change anything by the certificate of a browser', async () => {
  const client = await world.own.issue(operator('anna'))
  const stop = (headers: Readonly<Record<string, string>>, token?: string): Promise<TlsAnswer> =>
    world.get('/v1/stop', { client, method: 'POST', headers, ...(token === undefined ? {} : { token }) })
  const host = `127.0.0.1:${world.port}`
  world.operatorRoles = ['operator']
  try {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: `https://${host}` },
    ]) {
      const answer = await stop({ host, ...headers })
      assert.equal([answer.status, answer.code], [403, 'forbidden'], JSON.stringify(headers))
    }
    // A command, a page of this service, and a script that holds a token, which no browser adds by itself.
    assert.is((await stop({ host })).status, 200)
    assert.is((await stop({ host, origin: `https://${host}`, 'sec-fetch-site': 'same-origin' })).status, 200)
    const token = world.kernel.token('person', ['operator'])
    assert.is((await stop({ host, origin: 'https://tool.example' }, token)).status, 200)
    // Reading goes on: a link on another page leads here, and its script sees nothing of the answer.
    const link = { client, headers: { host, 'sec-fetch-site': 'cross-site' } }
    assert.is((await world.get('/v1/who', link)).status, 200)
  } finally {
    world.operatorRoles = ['viewer']
  }
})

certificates('opens the enroll route to the node itself alone', async () => {
  const client = await world.mesh.issue({})
  const enroll = (id: string, verb = 'enroll'): Promise<TlsAnswer> =>
    world.get(`/v1/nodes/${id}/${verb}`, { client, method: 'POST' })
  assert.is((await enroll(NODE_ID)).status, 200)
  assert.is((await enroll(OTHER_NODE)).status, 403)
  assert.is((await enroll(NODE_ID, 'closed')).status, 403)
  assert.is((await world.get(`/v1/nodes/${NODE_ID}/notes`, { client })).status, 200)
  assert.is((await world.get(`/v1/nodes/${OTHER_NODE}/notes`, { client })).status, 403)
  assert.is((await world.get(`/v1/keys/${NODE_ID}`, { client })).status, 200)
  assert.is((await world.get(`/v1/keys/${OTHER_NODE}`, { client })).status, 403)
  const person = await world.own.issue(operator('anna'))
  assert.is((await world.get(`/v1/nodes/${OTHER_NODE}/notes`, { client: person })).status, 200)
})

certificates('sees a revocation on an open connection, and ends it', async () => {
  const client = await world.mesh.issue({})
  const socket = await world.dial({ client })
  const ended = once(socket, 'close')
  const agent = { socket, headers: { connection: 'keep-alive' } }
  assert.is((await world.get('/v1/who', { ...agent })).status, 200)
  world.revoked.add(client.serial)
  const answer = await world.get('/v1/who', { ...agent })
  assert.equal([answer.status, answer.code], [401, 'certificate_revoked'])
  await ended
})

certificates('ends connections on which nobody says anything', async () => {
  const client = await world.mesh.issue({})
  const other = await world.mesh.issue({})
  const [idle, good, anonymous] = [
    await world.dial({ client }),
    await world.dial({ client: other }),
    await world.dial(),
  ]
  const ended = once(idle, 'close')
  world.revoked.add(client.serial)
  world.kernel.emit('node.remove', NODE_ID)
  await ended
  assert.equal([good.destroyed, anonymous.destroyed], [false, false])
  good.destroy()
  anonymous.destroy()
})

certificates('answers what was on its way while it was looked for connections to end', async () => {
  // The next look is long after the request.
  await using own = await serveTls(ROUTES, { limits: { recheckMs: 500, certificatesMs: 1e9 } })
  const client = await own.mesh.issue({})
  const looked = Promise.withResolvers<void>()
  for (const holders of own.kernel.services.values())
    if ('holderOf' in holders)
      Object.assign(holders, {
        holderOf: async () => {
          setImmediate(looked.resolve)
          return undefined
        },
      })
  const socket = await own.dial({ client })
  own.kernel.emit('node.remove', NODE_ID)
  await looked.promise
  assert.is((await own.get('/v1/who', { socket })).code, 'unauthenticated')
})

certificates('ends event streams of a revoked certificate', async () => {
  const client = await world.own.issue(operator('stream'))
  const socket = await world.dial({ client })
  const ended = once(socket, 'close')
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => assert.match(text, /retry:/))
  world.revoked.add(client.serial)
  world.kernel.emit('user.certificate_revoke', 'stream')
  await ended
})

certificates('asks again when a session is resumed', async () => {
  const client = await world.mesh.issue({})
  const tickets: Buffer[] = []
  const first = await world.dial({ client, onTicket: (ticket) => tickets.push(ticket) })
  assert.is((await world.get('/v1/who', { socket: first })).status, 200)
  first.destroy()
  const session = tickets[0]
  assert.ok(session)
  const second = await world.dial({ client, session })
  assert.is(second.isSessionReused(), true)
  assert.is((await world.get('/v1/who', { socket: second })).body.id, NODE_ID)
  second.destroy()
  world.revoked.add(client.serial)
  const third = await world.dial({ client, session })
  assert.is((await world.get('/v1/who', { socket: third })).code, 'certificate_revoked')
  third.destroy()
})

/** What a certificate is answered once its open connection, which was good, has ended by the cause. */
async function codeAfterEnd(
  cause: (own: Awaited<ReturnType<typeof serveTls>>) => Promise<void>,
): Promise<string | undefined> {
  await using own = await serveTls(ROUTES, { limits: { recheckMs: 20, certificatesMs: 20 } })
  const client = await own.mesh.issue({})
  const socket = await own.dial({ client })
  const ended = once(socket, 'close')
  assert.is((await own.get('/v1/who', { socket, headers: { connection: 'keep-alive' } })).status, 200)
  await cause(own)
  await ended
  return (await own.get('/v1/who', { client })).code
}

certificates('follows a change of the CA on open connections', async () => {
  const code = await codeAfterEnd(async (own) => own.renew({ nodesCa: (await makeCa('Another mesh')).pem }))
  assert.is(code, 'unauthenticated')
})

certificates('goes by the clock of the service', async () => {
  const code = await codeAfterEnd(async (own) => {
    const later = own.kernel.clock.nowMs() + 2 * DAY_MS
    own.kernel.clock.nowMs = () => later
  })
  assert.is(code, 'certificate_revoked')
})

certificates('lets no store that does not answer end anything', async () => {
  await using own = await serveTls(ROUTES, { limits: { recheckMs: 10, certificatesMs: 10 } })
  const client = await own.mesh.issue({})
  const socket = await own.dial({ client })
  let asked = 0
  for (const holders of own.kernel.services.values())
    if ('holderOf' in holders)
      Object.assign(holders, {
        holderOf: async () => {
          asked += 1
          throw new Error('no store')
        },
      })
  await eventually(() => assert.ok(asked > 3))
  assert.is(socket.destroyed, false)
  socket.destroy()
})

certificates.run()
