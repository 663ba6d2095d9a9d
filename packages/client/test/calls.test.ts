import { assert, suite } from '@steeple/testkit'
import { type ClientOptions, createClient, dataOf } from '../src/index.ts'
import {
  failing,
  hangUp,
  json,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from './world/scripted-server.ts'

const calls = suite('client/calls')

let server: ScriptedServer | undefined
calls.after.each(async () => {
  await server?.close()
  server = undefined
})

async function clientOf(script: Script, options: Partial<ClientOptions> = {}) {
  server = await scriptedServer(script)
  return { server, client: createClient({ url: server.url, token: 't', backOffMs: 1, ...options }) }
}

calls('fills path and query, sends JSON with a key, and gives data with what the head says', async () => {
  const { client, server } = await clientOf([json(200, { state: 'suspended' }, { etag: '"1"' })])
  const result = await client.post('/v1/sims/{imsi}/suspend', {
    path: { imsi: 'a/b' },
    query: { wait: undefined },
    body: {},
  })
  assert.ok(result.ok)
  assert.is(result.etag, '"1"')
  assert.is(result.requestId, 'r1')
  assert.is(result.isReplayed, false)
  const [{ url = '', headers = {}, body } = {}] = server.arrived
  assert.is(url, '/v1/sims/a%2Fb/suspend')
  assert.is(body, '{}')
  assert.is(headers.authorization, 'Bearer t')
  assert.is(headers['if-match'], undefined)
  assert.match(String(headers['idempotency-key']), /^[0-9a-f]{32}$/)
})

calls('guards a change with what was read, where the operation takes that', async () => {
  const { client, server } = await clientOf([json(200, {}), json(200, {})])
  await client.put('/v1/policy', { body: { sim_swap_cooldown_hours: 12 }, ifMatch: '"0"' })
  await client.put('/v1/policy', { body: { sim_swap_cooldown_hours: 12 }, ifMatch: undefined })
  assert.equal(
    server.arrived.map(({ headers }) => headers?.['if-match']),
    ['"0"', undefined],
  )
})

calls('sends what is no JSON as it is, of its type', async () => {
  const { client, server } = await clientOf([json(200, {})])
  const content = new Blob(['imsi,ki\n'])
  await client.post('/v1/sims/import', { query: { dry_run: true }, body: { type: 'text/csv', content } })
  assert.is(server.arrived[0]?.url, '/v1/sims/import?dry_run=true')
  assert.is(server.arrived[0]?.headers['content-type'], 'text/csv')
  assert.is(server.arrived[0]?.body, 'imsi,ki\n')
})

calls('gives text as text, octets as a Blob, nothing as undefined', async () => {
  const { client } = await clientOf([
    (_, response) => response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end('a,b\n'),
    (_, response) => response.writeHead(200, { 'content-type': 'application/gzip' }).end(Buffer.from([1, 2])),
    (_, response) => response.writeHead(204).end(),
  ])
  assert.is(dataOf(await client.get('/v1/sims/export')), 'a,b\n')
  assert.is((dataOf(await client.get('/v1/support/bundle')) as Blob).size, 2)
  assert.is(dataOf(await client.delete('/v1/tokens/{id}', { path: { id: '1' } })), undefined)
})

calls('gives errors as values: of the service, of a proxy by RFC 9457, and of anything else', async () => {
  const { client } = await clientOf([
    json(400, {
      error: {
        code: 'validation_failed',
        message: 'no',
        details: [
          { pointer: '/count', message: 'too many', rule: 'maximum', limit: 5 },
          { pointer: '/x', message: 'no', rule: 1, limit: [] },
        ],
      },
    }),
    (_, response) =>
      response
        .writeHead(403, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ type: 'about:blank', title: 'Forbidden', detail: 'not from here' })),
    (_, response) => response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413</h1>'),
  ])
  const ask = async () => {
    const result = await client.post('/v1/sims', { body: { count: 1 } })
    assert.not.ok(result.ok)
    return result.ok ? undefined : result.error
  }
  assert.equal(await ask(), {
    code: 'validation_failed',
    message: 'no',
    details: [
      { pointer: '/count', message: 'too many', rule: 'maximum', limit: 5 },
      { pointer: '/x', message: 'no' },
    ],
    status: 400,
    requestId: 'r1',
    retryAfterS: undefined,
  })
  const proxied = await ask()
  assert.is(proxied?.code, 'answer_of_another')
  assert.is(proxied?.message, 'not from here')
  assert.is((await ask())?.message, '413 Payload Too Large')
})

calls('repeats with one key what was not answered, not now, or is still running', async () => {
  const { client, server } = await clientOf([
    hangUp,
    failing(503, 'not_ready', { 'retry-after': '0' }),
    failing(409, 'idempotency_in_progress'),
    json(201, { issued: 1 }, { 'idempotency-replayed': 'true' }),
  ])
  const result = await client.post('/v1/sims', { body: { count: 1 } })
  assert.is(result.ok && result.isReplayed, true)
  assert.is(server.arrived.length, 4)
  assert.is(new Set(server.arrived.map(({ headers }) => headers['idempotency-key'])).size, 1)
  assert.is(new Set(server.arrived.map(({ body }) => body)).size, 1)
})

calls('gives up after so many tries, with the last error', async () => {
  const { client, server } = await clientOf([failing(503, 'store_unavailable')], { retries: 2 })
  const result = await client.get('/v1/status')
  assert.is(!result.ok && result.error.code, 'store_unavailable')
  assert.is(server.arrived.length, 3)
})

calls(
  'sends nothing twice that no key protects, that is a stream, or that waiting does not mend',
  async () => {
    const once = async (
      script: Script,
      ask: (client: ReturnType<typeof createClient>) => Promise<{ readonly ok: boolean }>,
    ) => {
      const { client, server } = await clientOf(script)
      assert.is((await ask(client)).ok, false)
      assert.is(server.arrived.length, 1)
      await server.close()
    }
    await once([hangUp], (client) =>
      client.post('/v1/auth/login', { body: { username: 'a', password: 'b', code: '123456' } }),
    )
    const content = (): ReadableStream<Uint8Array> => new Blob(['x']).stream()
    await once([failing(503, 'not_ready')], (client) =>
      client.post('/v1/restore', { body: { type: 'application/octet-stream', content: content() } }),
    )
    await once([failing(500, 'internal')], (client) => client.get('/v1/status'))
    await once([failing(409, 'sim_revoked')], (client) => client.post('/v1/sims', { body: { count: 1 } }))
    await once([failing(429, 'rate_limited', { 'retry-after': '3127' })], (client) =>
      client.post('/v1/sims', { body: { count: 1 } }),
    )
  },
)

calls('asks for another token when one is refused, once', async () => {
  const refused = failing(401, 'token_expired')
  const asked: (string | undefined)[] = []
  const token = (old: string | undefined): string => {
    asked.push(old)
    return old === undefined ? 'old' : 'new'
  }
  const { client, server } = await clientOf([refused, json(200, {}), refused], { token })
  assert.ok((await client.get('/v1/status')).ok)
  assert.equal(asked, [undefined, 'old'])
  assert.equal(
    server.arrived.map(({ headers }) => headers.authorization),
    ['Bearer old', 'Bearer new'],
  )
  const result = await client.get('/v1/status')
  assert.is(!result.ok && result.error.code, 'token_expired')
  assert.is(server.arrived.length, 4)
})

calls('ends with its signal, and says what did not come within the time', async () => {
  const { client } = await clientOf([() => undefined], { retries: 0 })
  const late = await client.get('/v1/status', { timeoutMs: 20 })
  assert.is(!late.ok && late.error.code, 'no_answer_in_time')
  const controller = new AbortController()
  const reason = new Error('enough')
  const ends = client.get('/v1/status', { signal: controller.signal }).then(
    () => undefined,
    (error: unknown) => error,
  )
  controller.abort(reason)
  assert.is(await ends, reason)
})

calls('says that a connection was lost', async () => {
  const { client } = await clientOf([hangUp], { retries: 0 })
  const nobody = await client.get('/v1/status')
  assert.is(!nobody.ok && nobody.error.code, 'connection_lost')
  assert.throws(() => dataOf(nobody), /^connection_lost: |no whole answer/)
})

calls('tells a body that was cut off from a whole one', async () => {
  const { client } = await clientOf(
    [
      (_, response) => {
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
          .write('{"a":')
        setImmediate(() => response.socket?.destroy())
      },
      json(200, { state: 'on-air' }),
    ],
    {},
  )
  assert.ok((await client.get('/v1/status')).ok)
})

calls('gives the rows of all pages, reads them as they are needed, and throws what a page says', async () => {
  const page = (ids: readonly string[], next: string | null) =>
    json(200, { sims: ids.map((imsi_sha256_12) => ({ imsi_sha256_12 })), next_cursor: next })
  const { client, server } = await clientOf([
    page(['a', 'b'], 'n&1'),
    page(['c'], null),
    page(['a'], 'x'),
    failing(400, 'invalid_cursor'),
  ])
  const seen: string[] = []
  for await (const sim of client.rows('/v1/sims', { query: { limit: 2 } })) seen.push(sim.imsi_sha256_12)
  assert.equal(seen, ['a', 'b', 'c'])
  assert.equal(
    server.arrived.map(({ url }) => url),
    ['/v1/sims?limit=2', '/v1/sims?limit=2&cursor=n%261'],
  )
  const rows = client.rows('/v1/sims')
  assert.is((await rows.next()).value?.imsi_sha256_12, 'a')
  assert.is(server.arrived.length, 3)
  const error = await rows.next().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.match(String(error), /invalid_cursor/)
})

calls('says when what is here still holds', async () => {
  const { client } = await clientOf([(_, response) => response.writeHead(304).end()])
  const result = await client.get('/v1/policy', { ifNoneMatch: '"4"' })
  assert.equal(!result.ok && [result.error.code, result.error.status], ['not_modified', 304])
})

calls('opens an answer that the caller reads', async () => {
  const { client } = await clientOf([(_, response) => response.writeHead(200).end('octets')])
  assert.is(await dataOf(await client.open('/v1/backup')).text(), 'octets')
})

calls.run()
