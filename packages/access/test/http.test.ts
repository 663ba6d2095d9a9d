import { bootstrapTokensRef } from '@steeple/contracts'
import { assert, bodyOf, codeOf, type FakeClock, suite, type Testbed } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'
import { NODE_ID } from './helpers.ts'

const http = suite('access/http')
let bed: Testbed
let clock: FakeClock

http.before(async () => {
  ;({ bed, clock } = await accessBed())
})
http.after(() => bed.stop())

interface Answer {
  readonly id: string
  readonly token: string
  readonly [field: string]: unknown
}

async function create(body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return bodyOf<Answer>(await bed.request('POST', '/v1/tokens', { body, headers }), 201)
}

http('shows a token once and keeps its hash alone', async () => {
  const { token, ...rest } = await create({ name: 'ci', roles: ['operator'], expires_in: '1h' })
  assert.match(token, /^svc_[A-Za-z0-9_-]{43}$/)
  assert.equal(rest, {
    id: rest.id,
    name: 'ci',
    kind: 'api',
    roles: ['operator'],
    expires_at: new Date(clock.nowMs() + 3_600_000).toISOString(),
  })
  const list = await bed.request('GET', '/v1/tokens')
  const { tokens } = bodyOf<{ readonly tokens: readonly Answer[] }>(list, 200)
  assert.equal(tokens.find(({ id }) => id === rest.id)?.created_by, {
    kind: 'admin-env',
    id: 'SVC_ADMIN_TOKEN',
    name: 'SVC_ADMIN_TOKEN',
  })
  const everything = JSON.stringify([list.body, await bed.audit(), await bed.events()])
  assert.not.ok(everything.includes(token))
})

http('opens what its roles open and nothing else', async () => {
  const { token } = await create({ name: 'reader', roles: ['viewer'] })
  assert.is((await bed.request('GET', '/v1/audit', { token })).status, 403)
  assert.is(
    (await bed.request('POST', '/v1/tokens', { token, body: { name: 'x', roles: ['admin'] } })).status,
    403,
  )
  const { token: operator } = await create({ name: 'operator', roles: ['operator'] })
  assert.is((await bed.request('GET', '/v1/audit', { token: operator })).status, 200)
  assert.is((await bed.request('GET', '/v1/tokens', { token: operator })).status, 403)
})

http('opens nothing from the request after its deletion on', async () => {
  const { id, token } = await create({ name: 'short', roles: ['operator'] })
  assert.is((await bed.request('GET', '/v1/audit', { token })).status, 200)
  assert.is((await bed.request('DELETE', `/v1/tokens/${id}`)).status, 204)
  assert.equal(codeOf(await bed.request('GET', '/v1/audit', { token })), 'unauthenticated')
  const again = await bed.request('DELETE', `/v1/tokens/${id}`)
  assert.equal([again.status, codeOf(again)], [404, 'token_not_found'])
})

http('keeps a token that is pasted in place of its id out of the answer and of the audit trail', async () => {
  const { token } = await create({ name: 'pasted', roles: ['viewer'] })
  const headers = { 'idempotency-key': 'pasted' }
  for (const path of [`/v1/tokens/${token}`, '/v1/tokens/nobody']) {
    const answer = await bed.request('DELETE', path, { headers })
    assert.equal([answer.status, codeOf(answer)], [404, 'token_not_found'])
    assert.not.ok(JSON.stringify(answer.body).includes(token))
  }
  assert.not.ok(JSON.stringify([await bed.audit(), await bed.events()]).includes(token))
  assert.is((await bed.request('GET', '/v1/health', { token })).status, 404)
})

http('ends a token with the one that made it', async () => {
  const { token } = await create({ name: 'maker', roles: ['admin'], expires_in: '20s' })
  const make = (body: object) => bed.request('POST', '/v1/tokens', { token, body })
  const child = bodyOf<Answer & { readonly token: string }>(
    await make({ name: 'child', roles: ['admin'] }),
    201,
  )
  assert.is(child.expires_at, new Date(clock.nowMs() + 20_000).toISOString())
  const longer = await make({ name: 'heir', roles: ['viewer'], expires_in: '1h' })
  assert.equal([longer.status, codeOf(longer)], [400, 'validation_failed'])
  await clock.advance(20_000)
  for (const credential of [token, child.token]) {
    assert.is(codeOf(await bed.request('GET', '/v1/audit', { token: credential })), 'token_expired')
  }
})

http('answers token_expired once its time is over', async () => {
  const { token } = await create({ name: 'brief', roles: ['operator'], expires_in: '10s' })
  assert.is((await bed.request('GET', '/v1/audit', { token })).status, 200)
  await clock.advance(10_000)
  const late = await bed.request('GET', '/v1/audit', { token })
  assert.equal([late.status, codeOf(late)], [401, 'token_expired'])
})

http('gives the same token again for the same Idempotency-Key', async () => {
  const headers = { 'idempotency-key': 'one-token' }
  const first = await create({ name: 'once', roles: ['viewer'] }, headers)
  const again = await bed.request('POST', '/v1/tokens', {
    body: { name: 'once', roles: ['viewer'] },
    headers,
  })
  assert.equal(bodyOf<Answer>(again, 201), first)
  assert.is(again.headers.get('idempotency-replayed'), 'true')
})

http('makes bootstrap tokens that carry the hash of the mesh CA and work once', async () => {
  const { token, roles, expires_at } = await create({ name: 'join', kind: 'bootstrap', node_id: NODE_ID })
  assert.ok(token.startsWith(`svcb_${bed.identity.caSha256.slice(0, 32)}_`))
  assert.equal([roles, expires_at], [[], new Date(clock.nowMs() + 300_000).toISOString()])
  assert.is((await bed.request('GET', '/v1/audit', { token })).status, 401)
  const tokens = bed.service(bootstrapTokensRef)
  assert.equal((await tokens?.check(token, NODE_ID))?.roles, [])
})

http('refuses what the schema allows and the kind does not', async () => {
  for (const body of [
    { name: 'x' },
    { name: 'x', roles: [] },
    { name: 'x', kind: 'bootstrap', roles: ['viewer'] },
    { name: 'x', kind: 'bootstrap', expires_in: '1h' },
    { name: 'x', roles: ['node'] },
    { name: '\ud800', roles: ['viewer'] },
  ]) {
    const refused = await bed.request('POST', '/v1/tokens', { body })
    assert.equal([refused.status, codeOf(refused)], [400, 'validation_failed'], JSON.stringify(body))
  }
})

http('pages through the tokens without losing or repeating one while others come and go', async () => {
  const made: string[] = []
  for (let count = 0; count < 7; count += 1) {
    made.push((await create({ name: `page ${count}`, roles: ['viewer'] })).id)
    await clock.advance(1)
  }
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = bodyOf<{ readonly tokens: readonly Answer[]; readonly next_cursor: string | null }>(
      await bed.request('GET', `/v1/tokens?limit=3${query}`),
      200,
    )
    seen.push(...page.tokens.map(({ id }) => id))
    cursor = page.next_cursor
    if (cursor !== null) await create({ name: 'newcomer', roles: ['viewer'] })
  } while (cursor !== null)
  assert.equal(
    seen.filter((id) => made.includes(id)),
    made.toReversed(),
  )
  assert.is(new Set(seen).size, seen.length)
})

http('writes when a token was last used within a minute', async () => {
  const { id, token } = await create({ name: 'used', roles: ['operator'] })
  await bed.request('GET', '/v1/audit', { token })
  const usedAt = new Date(clock.nowMs()).toISOString()
  await clock.advance(70_000)
  const list = bodyOf<{ readonly tokens: readonly Answer[] }>(
    await bed.request('GET', '/v1/tokens?limit=500'),
    200,
  )
  assert.is(list.tokens.find((one) => one.id === id)?.last_used_at, usedAt)
})

http('lists the audit trail newest first, by action, principal, target and time', async () => {
  const { id } = await create({ name: 'audited', roles: ['viewer'] })
  await bed.request('DELETE', `/v1/tokens/${id}`)
  const ask = async (query: string): Promise<readonly Answer[]> =>
    bodyOf<{ readonly entries: readonly Answer[] }>(await bed.request('GET', `/v1/audit?${query}`), 200)
      .entries
  const entries = await ask(`target=${id}`)
  assert.equal(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ['token.delete', 'ok'],
      ['token.create', 'ok'],
    ],
  )
  assert.is((await ask(`target=${id}&action=token.create&principal=SVC_ADMIN_TOKEN`)).length, 1)
  const after = encodeURIComponent(new Date(clock.nowMs() + 1_000).toISOString())
  assert.is((await ask(`from=${after}`)).length, 0)
  assert.is((await bed.request('GET', '/v1/audit?from=yesterday')).status, 400)
  const [newest] = await ask('limit=1')
  const { next_cursor } = (await bed.request('GET', '/v1/audit?limit=1')).body as {
    readonly next_cursor: string
  }
  const [second] = await ask(`limit=1&cursor=${encodeURIComponent(next_cursor)}`)
  assert.is(Number(second?.seq), Number(newest?.seq) - 1)
})

http.run()
