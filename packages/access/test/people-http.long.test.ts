import { assert, type FakeClock, suite, type Testbed } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'
import type { Front, Person } from './people-front.ts'

const http = suite('access/people over HTTP')
let bed: Testbed
let clock: FakeClock
let front: Front

http.before(async () => {
  ;({ bed, clock, front } = await accessBed())
})
http.after(() => bed.stop())
// Failures of one test are no lock in the next.
http.before.each(() => clock.advance(16 * 60_000))

http('logs in by password and code, whatever the case of the name', async () => {
  const ada = await front.add('Ada', ['operator'])
  const { token, roles, expires_at, cookie } = await front.enter({ ...ada, name: 'aDA' })
  assert.equal(roles, ['operator'])
  assert.is(expires_at, new Date(clock.nowMs() + 900_000).toISOString())
  assert.match(
    cookie,
    /^svc_refresh=svcr_[\w-]{70}; Path=\/v1\/auth; HttpOnly; SameSite=Strict; Max-Age=604800$/,
  )
  assert.is((await bed.request('GET', '/v1/audit', { token })).status, 200)
  assert.is((await bed.request('GET', '/v1/users', { token })).status, 403)
})

http('shows secrets once and keeps them out of lists, audit trail and events', async () => {
  const made = await bed.request('POST', '/v1/users', { body: { name: 'secretive', roles: ['viewer'] } })
  const { password, totp_uri, recovery_codes, ...rest } = made.body as Person & Record<string, unknown>
  assert.equal(Object.keys(rest).sort(), [
    'created_at',
    'id',
    'last_login_at',
    'name',
    'recovery_codes_left',
    'roles',
  ])
  assert.is(new Set(recovery_codes).size, 10)
  const { token, cookie } = await front.enter({
    ...rest,
    name: 'secretive',
    password,
    totp_uri,
    recovery_codes,
  } as Person)
  const secret = new URL(totp_uri).searchParams.get('secret') ?? ''
  const refresh = /=(svcr_[\w-]+);/.exec(cookie)?.[1] ?? ''
  const everything = JSON.stringify([
    (await bed.request('GET', '/v1/users?limit=500')).body,
    (await bed.request('GET', '/v1/auth/sessions?limit=500')).body,
    await bed.audit(),
    await bed.events(),
  ])
  for (const hidden of [password, secret, refresh, token, ...recovery_codes]) {
    assert.ok(hidden.length > 10)
    assert.not.ok(everything.includes(hidden))
  }
})

http('answers every failed login alike', async () => {
  const eve = await front.add('eve', ['viewer'])
  const code = front.code(eve)
  const wrong = [
    { username: 'eve', password: 'wrong', code },
    { username: 'eve', password: eve.password, code: '000000' },
    { username: 'nobody', password: eve.password, code },
    { username: 'eve', password: eve.password, code: 'aaaa-aaaa-aaaa-aaaa' },
  ]
  const answers = []
  for (const body of wrong) {
    const {
      status,
      body: answer,
      headers,
    } = await bed.request('POST', '/v1/auth/login', { token: false, body })
    answers.push([status, answer, headers.get('set-cookie'), headers.get('www-authenticate')])
  }
  assert.is(answers[0]?.[0], 401)
  assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
  const denied = (await bed.audit()).filter(
    ({ action, outcome }) => action === 'auth.login' && outcome === 'denied',
  )
  assert.equal(
    denied.slice(0, 4).map(({ target }) => target),
    [eve.id, 'nobody', eve.id, eve.id],
  )
})

http('says when another try may pass', async () => {
  await front.add('lock', ['viewer'])
  const body = { username: 'lock', password: 'wrong', code: '000000' }
  for (let count = 0; count < 5; count += 1) assert.is((await front.login(body)).status, 401)
  const { status, headers } = await front.login(body)
  const said = ['retry-after', 'ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name))
  assert.equal([status, ...said], [429, '900', '5', '0'])
  const [lock] = (await bed.audit()).filter(({ action }) => action === 'auth.lock')
  assert.equal(lock?.detail, { locked: 'network', network: '127.0.0.1' })
})

http('takes each code once, and none from before it', async () => {
  const bob = await front.add('bob', ['viewer'])
  const early = front.code(bob)
  await clock.advance(30_000)
  const body = { username: 'bob', password: bob.password, code: front.code(bob) }
  assert.is((await front.login(body)).status, 200)
  assert.is((await front.login(body)).status, 401)
  assert.is((await front.login({ ...body, code: early })).status, 401)
  await clock.advance(30_000)
  assert.is((await front.login({ ...body, code: front.code(bob) })).status, 200)
})

http('takes a code one step early or late, and no more', async () => {
  const carl = await front.add('carl', ['viewer'])
  for (const [offsetMs, status] of [
    [-60_000, 401],
    [60_000, 401],
    [-30_000, 200],
    [30_000, 200],
  ] as const) {
    const code = front.code(carl, clock.nowMs() + offsetMs)
    assert.is(
      (await front.login({ username: 'carl', password: carl.password, code })).status,
      status,
      `${offsetMs}`,
    )
  }
})

http('takes each recovery code once, in whatever case', async () => {
  const dora = await front.add('dora', ['viewer'])
  const [first = '', second = ''] = dora.recovery_codes
  const body = { username: 'dora', password: dora.password, code: first.toUpperCase() }
  assert.is((await front.login(body)).status, 200)
  assert.is((await front.login({ ...body, code: first })).status, 401)
  assert.is((await front.login({ ...body, code: second.replaceAll('-', ' ') })).status, 200)
  const users = (await bed.request('GET', '/v1/users?limit=500')).body as {
    readonly users: readonly Person[]
  }
  assert.is(users.users.find(({ name }) => name === 'dora')?.recovery_codes_left, 8)
})

http('of two logins with one code at the same time, lets one in', async () => {
  const twin = await front.add('twin', ['viewer'])
  const body = { username: 'twin', password: twin.password, code: front.code(twin) }
  const both = await Promise.all([front.login(body), front.login(body)])
  assert.equal(both.map(({ status }) => status).sort(), [200, 401])
})

http('takes roles and sessions away from the next request on', async () => {
  const frank = await front.add('frank', ['operator'])
  const { token } = await front.enter(frank)
  const status = async (path: string): Promise<number> => (await bed.request('GET', path, { token })).status
  assert.is(await status('/v1/audit'), 200)
  await bed.request('POST', `/v1/users/${frank.id}/roles`, { body: { roles: ['viewer'] } })
  assert.equal([await status('/v1/audit'), await status('/v1/auth/sessions')], [403, 200])
  await bed.request('POST', `/v1/users/${frank.id}/roles`, { body: { roles: ['operator'] } })
  assert.is(await status('/v1/audit'), 200)
  assert.is((await bed.request('DELETE', `/v1/users/${frank.id}`)).status, 204)
  assert.is(await status('/v1/audit'), 401)
  assert.is(
    (await front.login({ username: 'frank', password: frank.password, code: front.code(frank) })).status,
    401,
  )
})

http('resets a user: nothing of before opens anything', async () => {
  const grace = await front.add('grace', ['viewer'])
  const { token, cookie } = await front.enter(grace)
  const reset = await bed.request('POST', `/v1/users/${grace.id}/reset`)
  assert.is(reset.status, 200)
  assert.is((await bed.request('GET', '/v1/auth/sessions', { token })).status, 401)
  assert.is((await front.refresh(cookie)).status, 401)
  await clock.advance(60_000)
  assert.is(
    (await front.login({ username: 'grace', password: grace.password, code: front.code(grace) })).status,
    401,
  )
  await front.enter(reset.body as Person)
})

http('gives another authenticator, and the one before is good for nothing', async () => {
  const hana = await front.add('hana', ['viewer'])
  const { body } = await bed.request('POST', `/v1/users/${hana.id}/totp`)
  const body1 = { username: 'hana', password: hana.password, code: front.code(hana) }
  assert.is((await front.login(body1)).status, 401)
  assert.is((await front.login({ ...body1, code: hana.recovery_codes[0] ?? '' })).status, 401)
  await front.enter({ ...hana, ...(body as Pick<Person, 'totp_uri'>) })
})

http('changes the own password and ends the other sessions', async () => {
  const ines = await front.add('ines', ['viewer'])
  const other = await front.enter(ines)
  await clock.advance(30_000)
  const mine = await front.enter(ines)
  await clock.advance(30_000)
  const body = { password: ines.password, code: front.code(ines), new_password: 'a new one, long enough' }
  const wrong = { ...body, password: 'not the one before' }
  const change = (sent: object) => bed.request('POST', '/v1/auth/password', { token: mine.token, body: sent })
  assert.is((await change(wrong)).status, 401)
  assert.is((await change(body)).status, 204)
  assert.is((await bed.request('GET', '/v1/auth/sessions', { token: other.token })).status, 401)
  assert.is((await bed.request('GET', '/v1/auth/sessions', { token: mine.token })).status, 200)
  await clock.advance(30_000)
  await front.enter({ ...ines, password: body.new_password })
  assert.is((await bed.request('POST', '/v1/auth/password', { body })).status, 409)
})

http(
  'draws other recovery codes for who proves to be there, shows them once, and says how many are left',
  async () => {
    const path = '/v1/auth/recovery-codes'
    const jude = await front.add('jude', ['viewer'])
    const { token } = await front.enter(jude)
    const left = async () => (await bed.request('GET', path, { token })).body
    assert.equal(await left(), { left: 10 })
    await clock.advance(30_000)
    const body = { password: jude.password, code: front.code(jude) }
    const key = { 'idempotency-key': 'other-codes' }
    const draw = (sent: object, headers = {}) => bed.request('POST', path, { token, body: sent, headers })
    assert.is((await draw({ ...body, password: 'not the one of jude' })).status, 401)
    assert.is((await draw({ ...body, code: '000000' })).status, 401)
    assert.equal(await left(), { left: 10 })
    const drawn = await draw(body, key)
    assert.is(drawn.status, 200, JSON.stringify(drawn.body))
    const { recovery_codes: codes } = drawn.body as Pick<Person, 'recovery_codes'>
    assert.is(new Set([...codes, ...jude.recovery_codes]).size, 20)
    assert.equal((await draw(body, key)).body, drawn.body, 'an answer that was lost is asked for again')
    assert.is((await draw(body)).status, 401, 'the code is used up')
    assert.equal(await left(), { left: 10 })
    const login = async (code = '') =>
      (await front.login({ username: 'jude', password: jude.password, code })).status
    assert.equal([await login(jude.recovery_codes[0]), await login(codes[0])], [401, 200])
    assert.equal(await left(), { left: 9 })
    await clock.advance(30_000)
    assert.is(await login(front.code(jude)), 200, 'the authenticator is the same')
    const entries = (await bed.audit()).filter(({ action }) => action === 'user.recovery_codes')
    assert.equal(
      entries.map(({ target, outcome, detail }) => [target, outcome, outcome === 'ok' ? detail : undefined]),
      [
        [jude.id, 'denied', undefined],
        [jude.id, 'ok', { name: 'jude' }],
        [jude.id, 'denied', undefined],
        [jude.id, 'denied', undefined],
      ],
    )
    const said = JSON.stringify([await bed.audit(), await bed.events()])
    for (const code of codes) assert.not.ok(said.includes(code))
  },
)

http('gives recovery codes to people alone, and locks who guesses for them', async () => {
  const path = '/v1/auth/recovery-codes'
  const kim = await front.add('kim', ['viewer'])
  const { token } = await front.enter(kim)
  const body = { password: kim.password, code: kim.recovery_codes[0] }
  const made = await bed.request('POST', '/v1/tokens', { body: { name: 'of a program', roles: ['admin'] } })
  const program = (made.body as { readonly token: string }).token
  assert.equal((await bed.request('GET', path, { token: program })).body, { left: null })
  assert.is((await bed.request('POST', path, { token: program, body })).status, 409)
  for (let count = 0; count < 5; count += 1)
    assert.is((await bed.request('POST', path, { token, body: { ...body, code: '000000' } })).status, 401)
  assert.is((await bed.request('POST', path, { token, body })).status, 429)
  await clock.advance(16 * 60_000)
  const again = await front.enter(kim)
  assert.equal((await bed.request('GET', path, { token: again.token })).body, { left: 10 })
  assert.is((await bed.request('POST', path, { token: again.token, body })).status, 200)
})

http('keeps the last administrator unless it is forced', async () => {
  const root = await front.add('root', ['admin'])
  const code = async (method: 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> => {
    const answer = await bed.request(method, path, body === undefined ? {} : { body })
    return (
      (answer.body as { readonly error?: { readonly code?: string } } | undefined)?.error?.code ??
      answer.status
    )
  }
  assert.is(await code('DELETE', `/v1/users/${root.id}`), 'last_admin')
  assert.is(await code('POST', `/v1/users/${root.id}/roles`, { roles: ['viewer'] }), 'last_admin')
  const second = await front.add('root2', ['admin'])
  assert.is(await code('POST', `/v1/users/${root.id}/roles`, { roles: ['viewer'] }), 200)
  assert.is(await code('DELETE', `/v1/users/${second.id}?force=true`), 204)
})

http('refuses names that are taken, passwords that are short and roles that are none', async () => {
  await front.add('taken', ['viewer'])
  for (const [body, status] of [
    [{ name: 'TAKEN', roles: ['viewer'] }, 409],
    [{ name: 'short', roles: ['viewer'], password: 'elevenchars' }, 400],
    [{ name: 'noded', roles: ['node'] }, 400],
    [{ name: 'none', roles: [] }, 400],
    [{ name: 'a b', roles: ['viewer'] }, 400],
    [{ name: '-x', roles: ['viewer'] }, 400],
  ] as const) {
    assert.is((await bed.request('POST', '/v1/users', { body })).status, status, JSON.stringify(body))
  }
})

http.run()
