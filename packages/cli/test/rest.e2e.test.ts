import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, against, fakeService, type Seen } from './fake-service.ts'
import { svc } from './svc.ts'

const rest = suite('cli/rest')

rest('follows pages up to the limit and says that there is more', async () => {
  const page = ({ query }: Seen): Answer => {
    const from = Number(query.cursor ?? 0)
    const nodes = Array.from({ length: Number(query.limit) }, (_, n) => ({ node_id: `n${from + n}` }))
    return { body: { nodes, next_cursor: String(from + nodes.length) } }
  }
  const { code, out, seen, err } = await against(page, ['nodes', 'list', '--limit', '700'])
  assert.is(code, 0)
  assert.equal(
    seen.map(({ query }) => query),
    [{ limit: '500' }, { limit: '200', cursor: '500' }],
  )
  const lines = out.trimEnd().split('\n')
  assert.is(lines.length, 701)
  assert.match(lines[0] ?? '', /^NODE +NAME +STATE +CHANNEL +PHONES +SIMS +OUTAGE +VERSION +LAST SEEN$/)
  assert.match(lines.at(-1) ?? '', /^n699 /)
  assert.match(err, /first 700/)
  const asJson = await against(page, ['nodes', 'list', '--limit', '3', '--json'])
  assert.equal(JSON.parse(asJson.out), {
    nodes: [{ node_id: 'n0' }, { node_id: 'n1' }, { node_id: 'n2' }],
    next_cursor: '3',
  })
})

rest(
  'takes the token of an invitation from standard input, and warns of one in the process list',
  async () => {
    const joined = { mesh: { name: 'valley' }, overlay_address: '100.64.0.2' }
    const join = (given: string, input?: string) =>
      against(() => ({ body: joined }), ['node', 'join', given, 'https://192.0.2.1:8443'], {
        ...(input === undefined ? {} : { input }),
      })
    const [piped, shown] = [await join('-', 'svcb_0\n'), await join('svcb_0')]
    for (const { seen } of [piped, shown]) assert.is(Reflect.get(seen[0]?.body ?? {}, 'token'), 'svcb_0')
    assert.not.match(piped.err, /process list/)
    assert.is(shown.err.match(/process list/g)?.length, 1)
  },
)

rest('sends the credential and a fresh Idempotency-Key with each change', async () => {
  const token = { id: 't1', name: 'ci', kind: 'api', roles: ['viewer'], expires_at: null, token: 'svc_new' }
  const args = ['token', 'create', 'ci', '--role', 'viewer', '--role', 'operator', '--expires-in', '30d']
  const first = await against(() => ({ status: 201, body: token }), [...args, '--json'])
  const second = await against(() => ({ status: 201, body: token }), args)
  const [request] = first.seen
  assert.is(request?.headers.authorization, 'Bearer svc_test')
  assert.equal(request?.body, { name: 'ci', roles: ['viewer', 'operator'], expires_in: '30d' })
  assert.match(String(request?.headers['idempotency-key']), /^[0-9a-f-]{36}$/)
  assert.is.not(request?.headers['idempotency-key'], second.seen[0]?.headers['idempotency-key'])
  assert.equal(JSON.parse(first.out), token)
  assert.match(second.out, /token +svc_new/)
})

rest('repeats a change once under the same key when the connection breaks', async () => {
  const answer = (_: Seen, before: number): Answer => (before === 0 ? 'reset' : { body: { armed: false } })
  const { code, seen } = await against(answer, ['tx', 'disarm'])
  assert.is(code, 0)
  assert.is(seen.length, 2)
  assert.is(seen[0]?.headers['idempotency-key'], seen[1]?.headers['idempotency-key'])
})

rest('changes the policy at the revision that it read, or that the file names', async () => {
  const answer = ({ method }: Seen): Answer =>
    method === 'GET'
      ? { body: { revision: 4 }, headers: { etag: '"4"' } }
      : { body: { retention_days: { audit: 90 } } }
  const words = ['retention_days.audit=90', 'apns=["internet"]', 'spectrum.license.holder=ACME Ltd']
  const { code, seen } = await against(answer, ['policy', 'set', ...words])
  assert.is(code, 0)
  const put = seen.find(({ method, query }) => method === 'PUT' && query.dry_run === undefined)
  assert.is(put?.headers['if-match'], '"4"')
  assert.equal(put?.body, {
    retention_days: { audit: 90 },
    apns: ['internet'],
    spectrum: { license: { holder: 'ACME Ltd' } },
  })
  const input = JSON.stringify({ revision: 3, updated_at: 'x', sim_swap_cooldown_hours: 1 })
  const edited = await against(answer, ['policy', 'set', '--file', '-'], { input })
  assert.equal(
    edited.seen.map(({ method, body, headers }) => [method, body, headers['if-match']]),
    [['PUT', { sim_swap_cooldown_hours: 1 }, '"3"']],
  )
})

rest('changes no APNs that cut phones off before somebody has agreed', async () => {
  const set = async (core: object | null, ...more: readonly string[]) => {
    const answer = ({ method, query }: Seen): Answer => {
      const revision = { revision: 4, ...(query.dry_run === 'true' ? { core } : {}) }
      return { body: revision, headers: method === 'GET' ? { etag: '"4"' } : {} }
    }
    return await against(answer, ['policy', 'set', 'apns=["iot"]', ...more])
  }
  const changes = ({ seen }: Awaited<ReturnType<typeof set>>) =>
    seen.filter(({ method, query }) => method === 'PUT' && query.dry_run === undefined)
  const cost = { restarts: ['upf', 'smf'], subscribers_dropped: 2 }
  const asked = await set(cost)
  assert.is(asked.code, 1)
  assert.match(asked.err, 'upf, smf restart, which cuts off 2 phones. Nothing was changed.')
  assert.match(asked.err, '--yes')
  assert.equal(changes(asked), [])
  assert.equal(asked.seen.find(({ query }) => query.dry_run === 'true')?.body, { apns: ['iot'] })
  assert.match((await set({ ...cost, subscribers_dropped: null })).err, 'an unknown number of phones')
  const agreed = await set(cost, '--yes')
  assert.is(agreed.code, 0)
  assert.is(changes(agreed).length, 1)
  const problems = ['the core is away']
  const unknown = { restarts: [], subscribers_dropped: null, notes: [], problems }
  const unsure = await set(unknown)
  assert.match(
    unsure.err,
    /not known\. Nothing was changed\. To do it, add --yes\nProblem: the core is away\n/,
  )
  assert.equal([unsure.code, changes(unsure)], [1, []])
  assert.is(changes(await set(unknown, '--yes')).length, 1)
  const noted = await set({ ...unknown, subscribers_dropped: 0, notes: ['mind the pool'] })
  assert.match(noted.err, /Note: mind the pool\nProblem: the core is away\n/)
  assert.is(changes(noted).length, 1)
  for (const harmless of [{ ...cost, subscribers_dropped: 0 }, { ...cost, restarts: [] }, null])
    assert.is(changes(await set(harmless)).length, 1)
})

rest('says what the service answered, with details and request id, and exits 1', async () => {
  const error = {
    code: 'validation_failed',
    message: 'the body is wrong',
    details: [{ pointer: '/tac', message: 'must be integer\u001b[31m' }],
  }
  const { code, out, err } = await against(
    () => ({ status: 400, body: { error } }),
    ['policy', 'set', 'tac=x'],
  )
  assert.is(code, 1)
  assert.is(out, '')
  assert.is(
    err,
    'validation_failed: the body is wrong\n  /tac: must be integer\uFFFD[31m\n  request id: req-1\n',
  )
  const asJson = await against(() => ({ status: 400, body: { error } }), ['policy', 'get', '--json'])
  assert.equal(JSON.parse(asJson.err), { error, request_id: 'req-1' })
  const once = {
    code: 'validation_failed',
    message: '/q is too long',
    details: [{ pointer: '/q', message: 'is too long' }],
  }
  const short = await against(() => ({ status: 400, body: { error: once } }), ['policy', 'get'])
  assert.is(short.err, 'validation_failed: /q is too long\n  request id: req-1\n')
})

rest('says what to do when nothing listens, the credential is missing or the limit is reached', async () => {
  const nobody = await fakeService(() => 'reset')
  await nobody.close()
  const gone = await svc(['status'], { env: { SVC_URL: nobody.url } })
  assert.is(gone.code, 1)
  assert.match(
    gone.err,
    /^unreachable: cannot reach http:\/\/127\.0\.0\.1:\d+: ECONNREFUSED\n {2}.*--url or SVC_URL\n$/,
  )
  const refused = { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } }
  const bare = await against(() => refused, ['status'], { env: { SVC_TOKEN: '' } })
  assert.is(bare.seen[0]?.headers.authorization, undefined)
  assert.match(bare.err, /set SVC_TOKEN/)
  const limited = {
    status: 429,
    headers: { 'retry-after': '17' },
    body: { error: { code: 'rate_limited', message: 'enough' } },
  }
  assert.match((await against(() => limited, ['status'])).err, /try again in 17 s/)
  const stranger = await against(() => ({ body: ['not', 'ours'] }), ['status'])
  assert.match(stranger.err, /^bad_answer: /)
})

rest('takes the token from a file and warns about tokens that others can read', async () => {
  await using folder = await tempDir()
  const file = join(folder.path, 'token')
  await writeFile(file, 'svc_filed\n', { mode: 0o644 })
  const answer = (): Answer => ({ body: { armed: false } })
  const filed = await against(answer, ['tx', 'status', '--token-file', file])
  assert.is(filed.seen[0]?.headers.authorization, 'Bearer svc_filed')
  assert.match(filed.err, /can be read by others/)
  const typed = await against(answer, ['tx', 'status', '--token', 'svc_typed'])
  assert.is(typed.seen[0]?.headers.authorization, 'Bearer svc_typed')
  assert.match(typed.err, /visible in the process list/)
  assert.not.match(typed.err, /svc_typed/)
})

rest('exits 1 when the answer is no: not allowed, down', async () => {
  const verdict = { allowed: false, gate: 'license', reason: 'none', channels_checked: 1, results: [] }
  const args = ['spectrum', 'check', '--technology', 'nr', '--channel', '620000,630000', '--bandwidth', '20']
  const check = await against(() => ({ body: verdict }), args)
  assert.is(check.code, 1)
  assert.equal(check.seen[0]?.body, { technology: 'nr', channels: [620000, 630000], bandwidth_mhz: 20 })
  const down = await against(() => ({ body: { status: 'down', components: [] } }), ['health'])
  assert.is(down.code, 1)
  const fine = await against(() => ({ body: { status: 'degraded', components: [] } }), ['health'])
  assert.is(fine.code, 0)
})

rest(
  'says first what is wrong, what it means for phones and what to do, in status and health alike',
  async () => {
    const incident = {
      ...{ id: 'no_radio', kind: 'no_radio', severity: 'critical', title: 'No radio', component: 'ran' },
      ...{ detail: 'no base station\u001b[2J', effects: [], impact: '14 phones are off.', phones_off: 14 },
      ...{ advice: 'Look at its cable.', runbook: '/docs/how-to/on-duty#no-radio' },
      since: '2026-11-28T14:02:03.456Z',
    }
    for (const command of ['status', 'health']) {
      const told = await against(
        () => ({ body: { status: 'degraded', incidents: [incident], components: [] } }),
        [command],
      )
      const [first, impact, cause, advice, more, space, rest] = told.out.split('\n')
      assert.equal(
        [first, impact, cause, advice, space, told.code],
        [
          ...['OUTAGE: No radio', '  14 phones are off. Since 2026-11-28 14:02:03Z.'],
          ...['  Cause: ran: no base station\uFFFD[2J', '  Look at its cable.', '', 0],
        ],
      )
      assert.match(more ?? '', /^ {2}More: http:.*\/docs\/how-to\/on-duty#no-radio$/)
      assert.match(rest ?? '', /^status +degraded$/)
    }
  },
)

rest('waits for a service that is about to answer, and for one that is about to be well', async () => {
  const starting = (before: number): Answer | undefined => {
    if (before === 0) return 'reset'
    const error = { code: 'not_ready', message: 'the service is starting' }
    return before === 1 ? { status: 503, body: { error } } : undefined
  }
  const status = await against(
    (_, before) => starting(before) ?? { body: { node_id: 'n1' } },
    ['status', '--wait', '--json'],
  )
  assert.equal([status.code, JSON.parse(status.out), status.seen.length], [0, { node_id: 'n1' }, 3])
  const once = await against((_, before) => starting(before) ?? { body: {} }, ['status'])
  assert.equal([once.code, once.seen.length], [1, 1])
  const health = await against(
    (_, before) => starting(before) ?? { body: { status: before < 4 ? 'degraded' : 'ok', components: [] } },
    ['health', '--wait', '60', '--json'],
  )
  assert.equal([health.code, JSON.parse(health.out).status, health.seen.length], [0, 'ok', 5])
})

rest('ends its wait with what it last saw, and at once where waiting is of no use', async () => {
  const error = { code: 'unauthenticated', message: 'no such token' }
  const refused = await against(() => ({ status: 401, body: { error } }), ['status', '--wait', '60'])
  assert.equal([refused.code, refused.seen.length], [1, 1])
  const ill = await against(
    () => ({ body: { status: 'degraded', components: [] } }),
    ['health', '--wait', '0.5', '--json'],
  )
  assert.equal([ill.code, JSON.parse(ill.out).status], [1, 'degraded'])
  assert.ok(ill.seen.length > 1)
  const gone = await svc(['status', '--url', 'http://127.0.0.1:1', '--wait', '0.5s'], {
    env: { SVC_TOKEN: 'svc_test' },
  })
  assert.is(gone.code, 1)
  assert.match(gone.err, /waited for 0\.5 s/)
  const wrong = await svc(['health', '--wait', 'long'])
  assert.is(wrong.code, 2)
})

rest('says that an answer is too large, and not that nobody is there', async () => {
  const { code, err } = await against(
    () => ({ body: { nodes: [], more: 'x'.repeat(2 ** 26) } }),
    ['nodes', 'list'],
  )
  assert.is.not(code, 0)
  assert.match(err, /the answer is larger than 64 MiB/)
  assert.not.match(err, /cannot reach/)
})

rest.run()
