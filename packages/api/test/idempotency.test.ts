import { objectSchema, ok, type Reply, route, simNotFound } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, type Answer, serveRoutes, type World } from './world/serve-routes.ts'

const idempotency = suite('api/idempotency')

let runs = 0
let release: (() => void) | undefined
const mutating = route<unknown, unknown, { n?: number; fail?: string }>({
  method: 'POST',
  path: '/v1/make',
  role: 'operator',
  summary: 'Makes something',
  audit: 'thing.make',
  schema: {
    query: objectSchema({ dry: { type: 'boolean' } }),
    body: objectSchema({ n: { type: 'integer' }, fail: { type: 'string' } }),
    status: 201,
  },
  handle: async (request) => {
    runs += 1
    const run = runs
    if (request.body.fail === 'early') throw simNotFound('0123456789ab')
    const reply = await request.mutate(`thing-${run}`, async (): Promise<Reply> => {
      if (request.body.fail === 'crash') throw new Error('crash')
      return { status: 201, body: { run }, headers: { ETag: `"${run}"` } }
    })
    return request.body.fail === 'amend' ? { ...reply, body: { run, amended: true } } : reply
  },
})
const observing = route({
  method: 'POST',
  path: '/v1/observe',
  role: 'operator',
  summary: 'Changes no desired state',
  audit: { none: 'observed state' },
  handle: async () => {
    runs += 1
    return { status: 202, body: { run: runs } }
  },
})
const held = route({
  method: 'POST',
  path: '/v1/held',
  role: 'operator',
  summary: 'Waits',
  audit: { none: 'a test' },
  schema: { body: objectSchema({ n: { type: 'integer' } }) },
  handle: async () => {
    runs += 1
    await new Promise<void>((resolve) => {
      release = resolve
    })
    return ok({ run: runs })
  },
})
const open = route({
  method: 'POST',
  path: '/v1/open',
  role: 'public',
  summary: 'For anybody',
  audit: { none: 'a test' },
  handle: async () => {
    runs += 1
    return ok({ run: runs })
  },
})
const limited = route({
  method: 'POST',
  path: '/v1/limited',
  role: 'operator',
  summary: 'Is limited',
  audit: { none: 'changes nothing' },
  rateLimit: { name: 'spectrum_check' },
  handle: (request) => request.mutate('check', async () => ok({})),
})

let world: World
idempotency.before(async () => {
  world = await serveRoutes([mutating, observing, held, open, limited])
})
idempotency.after(() => world.close())

const post = (path: string, key: string, json?: unknown, token = ADMIN_TOKEN): Promise<Answer> =>
  world.ask(path, {
    method: 'POST',
    token,
    headers: { 'idempotency-key': key },
    ...(json === undefined ? {} : { json }),
  })

idempotency('repeats the first answer, status, body and headers, and changes nothing', async () => {
  const before = world.kernel.audited.length
  const first = await post('/v1/make', 'key-1', { n: 1 })
  const second = await post('/v1/make', 'key-1', { n: 1 })
  assert.is(first.status, 201)
  assert.is(first.headers.get('idempotency-replayed'), null)
  assert.is(second.status, 201)
  assert.equal(second.body, first.body)
  assert.is(second.headers.get('etag'), first.headers.get('etag'))
  assert.is(second.headers.get('idempotency-replayed'), 'true')
  assert.is(world.kernel.audited.length, before + 1)
})

idempotency('refuses the key with another body or query', async () => {
  await post('/v1/make', 'key-2', { n: 1 })
  for (const [path, json] of [
    ['/v1/make', { n: 2 }],
    ['/v1/make?dry=true', { n: 1 }],
  ] as const) {
    const answer = await post(path, 'key-2', json)
    assert.is(answer.status, 409)
    assert.is(answer.body.error.code, 'idempotency_key_reused')
  }
})

idempotency('keeps the keys of principals and paths apart', async () => {
  const other = world.kernel.token('other', ['operator'])
  const mine = await post('/v1/make', 'key-3', { n: 1 })
  const theirs = await post('/v1/make', 'key-3', { n: 1 }, other)
  assert.is.not(mine.body.run, theirs.body.run)
  assert.is((await post('/v1/observe', 'key-3')).status, 202)
})

idempotency('keeps the result of a request that ran no mutation, and of one that was refused', async () => {
  const first = await post('/v1/observe', 'key-4')
  assert.equal((await post('/v1/observe', 'key-4')).body, first.body)
  const refused = await post('/v1/make', 'key-5', { fail: 'early' })
  assert.is(refused.status, 404)
  const again = await post('/v1/make', 'key-5', { fail: 'early' })
  assert.equal(again.body, refused.body)
  assert.is(again.headers.get('idempotency-replayed'), 'true')
})

idempotency('keeps what was answered in the end, when that differs from what the mutation gave', async () => {
  const first = await post('/v1/make', 'key-6', { fail: 'amend' })
  assert.is(first.body.amended, true)
  assert.equal((await post('/v1/make', 'key-6', { fail: 'amend' })).body, first.body)
})

idempotency('never keeps a failure of the service, nor a refusal at the door', async () => {
  const before = runs
  assert.is((await post('/v1/make', 'key-7', { fail: 'crash' })).status, 500)
  assert.is((await post('/v1/make', 'key-7', { fail: 'crash' })).status, 500)
  assert.is(runs, before + 2)
  assert.is((await post('/v1/make', 'key-8', { n: 'x' })).status, 400)
  assert.is((await post('/v1/make', 'key-8', { n: 1 })).status, 201)
  const viewer = world.kernel.token('only-reads', ['viewer'])
  assert.is((await post('/v1/make', 'key-9', { n: 1 }, viewer)).status, 403)
  assert.is([...world.kernel.kept.values()].filter(({ reply }) => reply.status === 403).length, 0)
})

idempotency('runs one of two that come at the same time', async () => {
  const before = runs
  const first = post('/v1/held', 'key-10', { n: 1 })
  while (release === undefined) await new Promise((resolve) => setImmediate(resolve))
  const same = await post('/v1/held', 'key-10', { n: 1 })
  assert.is(same.status, 409)
  assert.is(same.body.error.code, 'idempotency_in_progress')
  const other = await post('/v1/held', 'key-10', { n: 2 })
  assert.is(other.body.error.code, 'idempotency_key_reused')
  release()
  assert.is((await first).status, 200)
  assert.is((await post('/v1/held', 'key-10', { n: 1 })).headers.get('idempotency-replayed'), 'true')
  assert.is(runs, before + 1)
})

idempotency('applies a change once however many requests race for the key', async () => {
  const before = world.kernel.audited.length
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('/v1/make', 'key-11', { n: 1 })))
  assert.is(world.kernel.audited.length, before + 1)
  for (const { status } of answers) assert.ok(status === 201 || status === 409)
})

idempotency('refuses a key that is not 1 to 255 visible ASCII characters', async () => {
  for (const key of ['has space', 'x'.repeat(256), 'k\u00e9y']) {
    const answer = await post('/v1/make', key, { n: 1 })
    assert.is(answer.status, 400, key)
    assert.is(answer.body.error.details[0].pointer, '/Idempotency-Key')
  }
  assert.is((await post('/v1/make', '~'.repeat(255), { n: 1 })).status, 201)
})

idempotency('keeps nothing for a public route, where there is nobody to keep it for', async () => {
  const first = await post('/v1/open', 'key-12')
  const second = await post('/v1/open', 'key-12')
  assert.is.not(first.body.run, second.body.run)
})

idempotency('says what is left of a limit, refuses beyond it, and a replay costs nothing', async () => {
  const first = await post('/v1/limited', 'key-13')
  assert.is(first.headers.get('ratelimit-limit'), '3')
  assert.is(first.headers.get('ratelimit-remaining'), '2')
  assert.is(first.headers.get('ratelimit'), '"spectrum_check";r=2;t=3600')
  assert.is(first.headers.get('ratelimit-policy'), '"spectrum_check";q=3;w=3600')
  await post('/v1/limited', 'key-13')
  await post('/v1/limited', 'key-14')
  const last = await post('/v1/limited', 'key-15')
  assert.is(last.headers.get('ratelimit-remaining'), '0')
  const refused = await post('/v1/limited', 'key-16')
  assert.is(refused.status, 429)
  assert.is(refused.body.error.code, 'rate_limited')
  assert.is(refused.headers.get('retry-after'), '3600')
  assert.is(refused.headers.get('ratelimit-remaining'), '0')
  assert.is(refused.headers.get('ratelimit-reset'), '3600')
})

idempotency('does not say of a damaged store that something is not there, nor repeats it later', async () => {
  const ask = () => post('/v1/make', 'damaged', { fail: 'early' })
  world.kernel.mayMissRows = true
  try {
    const { status, body } = await ask()
    assert.equal([status, body.error.code], [500, 'store_corrupt'])
    assert.match(body.error.message, /so this may exist or not/)
    assert.is((await post('/v1/make', 'of-use', {})).status, 201)
    assert.is(
      (await world.ask('/v1/no-such-path', { token: ADMIN_TOKEN })).status,
      404,
      'no row is looked for',
    )
  } finally {
    world.kernel.mayMissRows = false
  }
  assert.is((await ask()).status, 404)
})

idempotency.run()
