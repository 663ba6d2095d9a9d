import { hash } from 'node:crypto'
import { assert, type FakeClock, memoryDb, suite, type Testbed } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { rolesOfMaker } from '../src/people/invitation-routes.ts'
import { USERS } from '../src/people/user-store.ts'
import { accessBed } from './access-bed.ts'
import type { Front, Person } from './people-front.ts'

const sessions = suite('access/sessions over HTTP')
let bed: Testbed
let clock: FakeClock
let front: Front

interface Listed {
  readonly id: string
  readonly user_name: string
  readonly current: boolean
  readonly last_used_at: string
  readonly address: string
}

sessions.before(async () => {
  ;({ bed, clock, front } = await accessBed())
})
sessions.after(() => bed.stop())

async function listed(token?: string, query = ''): Promise<readonly Listed[]> {
  const answer = await bed.request(
    'GET',
    `/v1/auth/sessions?limit=500${query}`,
    token === undefined ? {} : { token },
  )
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  return (answer.body as { readonly sessions: readonly Listed[] }).sessions
}

/** The last character holds two bits that say nothing: another one stands for the same signature. */
function otherSpelling(token: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return token.slice(0, -1) + digits.charAt(digits.indexOf(token.slice(-1)) ^ 1)
}

async function opens(token: string): Promise<number> {
  return (await bed.request('GET', '/v1/auth/sessions', { token })).status
}

sessions('goes on by refreshing, with the roles of now', async () => {
  const ada = await front.add('ada', ['operator'])
  const first = await front.enter(ada)
  assert.equal([await opens(first.token), await opens(otherSpelling(first.token))], [200, 401])
  await clock.advance(900_000)
  const late = await bed.request('GET', '/v1/auth/sessions', { token: first.token })
  assert.equal([late.status, (late.body as { error: { code: string } }).error.code], [401, 'token_expired'])
  await bed.request('POST', `/v1/users/${ada.id}/roles`, { body: { roles: ['viewer'] } })
  const next = await front.refresh(first.cookie)
  assert.is(next.status, 200)
  const { token, roles } = next.body as { readonly token: string; readonly roles: readonly string[] }
  assert.equal([roles, await opens(token)], [['viewer'], 200])
  assert.not.equal(next.headers.get('set-cookie'), first.cookie)
})

sessions('ends at the second use of a refresh token, for whoever holds the newest', async () => {
  const bob = await front.add('bob', ['viewer'])
  const stolen = await front.enter(bob)
  const other = await (async () => {
    await clock.advance(30_000)
    return front.enter(bob)
  })()
  const next = await front.refresh(stolen.cookie)
  const { token } = next.body as { readonly token: string }
  assert.is(await opens(token), 200)
  assert.is((await front.refresh(stolen.cookie)).status, 401)
  assert.equal([await opens(token), await opens(stolen.token), await opens(other.token)], [401, 401, 200])
  assert.is((await front.refresh(next.headers.get('set-cookie') ?? '')).status, 401)
  assert.is((await front.refresh(other.cookie)).status, 200)
  const [reuse] = (await bed.audit()).filter(({ action }) => action === 'auth.reuse')
  assert.equal([reuse?.principal.id, reuse?.detail.user], [bob.id, 'bob'])
})

sessions('of two exchanges at the same time, ends with the second', async () => {
  const { cookie } = await front.enter(await front.add('carl', ['viewer']))
  const both = await Promise.all([front.refresh(cookie), front.refresh(cookie)])
  assert.equal(both.map(({ status }) => status).sort(), [200, 401])
  const [won] = both.filter(({ status }) => status === 200)
  assert.is((await front.refresh(won?.headers.get('set-cookie') ?? '')).status, 401)
})

sessions('is over after a day without use and after a week with it', async () => {
  const dora = await front.add('dora', ['viewer'])
  const idle = await front.enter(dora)
  await clock.leap(86_400_000)
  assert.is((await front.refresh(idle.cookie)).status, 401)
  let { cookie } = await front.enter(dora)
  for (let day = 0; day < 7; day += 1) {
    const next = await front.refresh(cookie)
    assert.is(next.status, 200, `day ${day}`)
    cookie = next.headers.get('set-cookie') ?? ''
    await clock.leap(86_400_000 - (day === 6 ? 0 : 1_000))
  }
  assert.is((await front.refresh(cookie)).status, 401)
  assert.not.ok((await listed()).some(({ user_name }) => user_name === 'dora'))
})

sessions('ends by logging out, once and for good', async () => {
  const { token, cookie } = await front.enter(await front.add('eve', ['viewer']))
  assert.is(await opens(token), 200)
  const farewell = await front.logout(cookie)
  assert.is(farewell.status, 204)
  assert.match(farewell.headers.get('set-cookie') ?? '', /^svc_refresh=; Path=\/v1\/auth; .*Max-Age=0/)
  assert.is(await opens(token), 401)
  assert.is((await front.refresh(cookie)).status, 401)
  assert.is((await front.logout(cookie)).status, 204)
  assert.is((await bed.audit()).filter(({ action }) => action === 'auth.logout').length, 1)
})

sessions('are listed to their own user, to administrators all', async () => {
  const frank = await front.add('frank', ['operator'])
  const grace = await front.add('grace', ['viewer'])
  const mine = await front.enter(frank)
  await front.enter(grace)
  const own = await listed(mine.token)
  assert.equal(
    own.map(({ user_name, current, address }) => [user_name, current, address]),
    [['frank', true, '127.0.0.1']],
  )
  const all = await listed()
  assert.ok(['frank', 'grace'].every((name) => all.some(({ user_name }) => user_name === name)))
  assert.equal(
    (await listed(undefined, `&user_id=${grace.id}`)).map(({ user_name }) => user_name),
    ['grace'],
  )
  const foreign = await bed.request('GET', `/v1/auth/sessions?user_id=${grace.id}`, { token: mine.token })
  assert.is(foreign.status, 403)
})

sessions('are ended by their own user and by administrators, by nobody else', async () => {
  const hana = await front.add('hana', ['operator'])
  const ines = await front.add('ines', ['viewer'])
  const ofHana = await front.enter(hana)
  const ofInes = await front.enter(ines)
  const [hanas] = await listed(undefined, `&user_id=${hana.id}`)
  const [inesId] = await listed(undefined, `&user_id=${ines.id}`)
  const end = async (id: string | undefined, token?: string): Promise<number> => {
    const more = token === undefined ? {} : { token }
    return (await bed.request('DELETE', `/v1/auth/sessions/${id}`, more)).status
  }
  assert.is(await end(inesId?.id, ofHana.token), 404)
  assert.is(await opens(ofInes.token), 200)
  assert.is(await end(inesId?.id), 204)
  assert.is(await opens(ofInes.token), 401)
  assert.is((await front.refresh(ofInes.cookie)).status, 401)
  assert.is(await end(hanas?.id, ofHana.token), 204)
  assert.is(await opens(ofHana.token), 401)
  assert.is(await end(hanas?.id), 404)
})

sessions('take no cookie that a page of another origin sends', async () => {
  const { cookie, token } = await front.enter(await front.add('jack', ['viewer']))
  const { host } = new URL(bed.url)
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://${host}0` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    assert.is((await front.refresh(cookie, headers)).status, 403, JSON.stringify(headers))
  }
  assert.is(await opens(token), 200)
  // fetch says cors for a page's own request, too; the site is what counts.
  const own = await front.refresh(cookie, { origin: bed.url, 'sec-fetch-site': 'same-origin' })
  assert.is(own.status, 200)
})

sessions('take no refresh token that is none', async () => {
  const { cookie } = await front.enter(await front.add('kate', ['viewer']))
  const token = /svc_refresh=([^;]+)/.exec(cookie)?.[1] ?? ''
  const flipped = `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`
  for (const bad of ['', 'x', flipped, token.slice(0, -1), `${token}A`, token.toLowerCase()]) {
    assert.is((await front.refresh(`svc_refresh=${bad}`)).status, 401, bad)
  }
  assert.is(
    (await front.refresh(`other=1; svc_refresh=${token}`)).status,
    401,
    'a whole Set-Cookie is cut at its ;',
  )
  assert.is((await front.refresh(cookie)).status, 200)
})

interface Invited {
  readonly id: string
  readonly token: string
}

async function invite(body: object, token?: string): Promise<Invited> {
  const answer = await bed.request('POST', '/v1/users/invitations', {
    body,
    ...(token === undefined ? {} : { token }),
  })
  assert.is(answer.status, 201, JSON.stringify(answer.body))
  return answer.body as Invited
}

const accept = (token: string, password = 'long enough, I hope') =>
  bed.request('POST', '/v1/auth/invitation', { token: false, body: { token, password } })

sessions('lets invited people in, once', async () => {
  const { token } = await invite({ name: 'lena', roles: ['operator'] })
  const both = await Promise.all([accept(token), accept(token)])
  assert.equal(both.map(({ status }) => status).sort(), [201, 401])
  const made = both.find(({ status }) => status === 201)?.body as Person
  assert.equal([made.roles, made.password], [['operator'], undefined])
  await front.enter({ ...made, password: 'long enough, I hope' })
  assert.is((await accept(token)).status, 401)
  const everything = JSON.stringify([await bed.audit(), await bed.events()])
  assert.not.ok(everything.includes(token))
})

sessions('refuses invitations that are over, withdrawn, or of somebody who may not any more', async () => {
  await clock.advance(16 * 60_000)
  const root = await front.add('root', ['admin'])
  const { token: asRoot } = await front.enter(root)
  const brief = await invite({ name: 'm1', roles: ['viewer'], expires_in: '1m' })
  const withdrawn = await invite({ name: 'm2', roles: ['viewer'] })
  const orphan = await invite({ name: 'm3', roles: ['viewer'] }, asRoot)
  const list = await bed.request('GET', '/v1/users/invitations')
  assert.is((list.body as { readonly invitations: readonly object[] }).invitations.length, 3)
  assert.not.ok(JSON.stringify(list.body).includes('svci_'))
  await clock.advance(60_000)
  assert.is((await bed.request('DELETE', `/v1/users/invitations/${withdrawn.id}`)).status, 204)
  await bed.request('DELETE', `/v1/users/${root.id}?force=true`)
  for (const { token } of [brief, withdrawn, orphan]) assert.is((await accept(token)).status, 401)
  assert.is(
    (
      await bed.request('POST', '/v1/users/invitations', {
        body: { name: 'm', roles: ['viewer'], expires_in: '31d' },
      })
    ).status,
    400,
  )
})

sessions('takes the hash of a token that was drawn elsewhere, opens it once, and never again', async () => {
  await clock.advance(16 * 60_000)
  const tokens = ['a', 'b'].map((letter) => `svci_${letter.repeat(43)}`)
  const [first, second] = tokens.map((token) => hash('sha256', token))
  const soon = new Date(clock.nowMs() + 3_600_000).toISOString()
  const give = (sha256 = '', expires_at = soon, more = {}) =>
    bed.request('PUT', `/v1/users/invitations/hashes/${sha256}`, {
      body: { name: 'o1', roles: ['viewer'], expires_at, ...more },
    })
  for (const wrong of [
    give(first?.slice(1)),
    give(first, new Date(clock.nowMs() - 1).toISOString()),
    give(first, new Date(clock.nowMs() + 31 * 86_400_000).toISOString()),
    give(first, soon, { expires_in: '1h' }),
  ])
    assert.is((await wrong).status, 400)
  const open = async () =>
    ((await bed.request('GET', '/v1/users/invitations')).body as { invitations: object[] }).invitations
  const before = (await open()).length
  const one = (await give(first)).body as { readonly id: string }
  assert.equal((await give(first)).body, one)
  assert.is((await give(first, soon, { name: 'o2' })).status, 400)
  const third = hash('sha256', 'c')
  const race = await Promise.all([1, 2, 3, 4, 5].map(() => give(third, soon, { name: 'o3' })))
  assert.equal(new Set(race.map(({ status, body }) => `${status} ${(body as { id: string }).id}`)).size, 1)
  const [{ body: raced } = { body: {} }] = race
  const { id } = raced as { readonly id: string }
  await bed.request('DELETE', `/v1/users/invitations/${id}`)
  assert.not.ok('token' in one)
  const other = await give(second)
  assert.is(other.status, 200)
  assert.is((await open()).length, before + 1, 'another token takes the place of the first')
  assert.is((await accept(tokens[0] ?? '')).status, 401)
  assert.is((await accept(tokens[1] ?? '')).status, 201)
  assert.is((await open()).length, before)
  const again = await give(second)
  assert.equal(
    [again.status, (again.body as { error: { code: string } }).error.code],
    [409, 'invitation_ended'],
  )
})

sessions('lets nobody in again who was removed, by another invitation of the same name', async () => {
  await clock.advance(16 * 60_000)
  const [first, second] = [
    await invite({ name: 'p1', roles: ['viewer'] }),
    await invite({ name: 'P1', roles: ['operator'] }),
  ]
  const made = (await accept(first.token)).body as Person
  assert.is((await bed.request('DELETE', `/v1/users/${made.id}`)).status, 204)
  assert.is((await accept(second.token)).status, 401)
})

sessions('refuses invitations of a token that is gone', async () => {
  await clock.advance(16 * 60_000)
  const made = await bed.request('POST', '/v1/tokens', { body: { name: 'desk', roles: ['admin'] } })
  const desk = made.body as { readonly id: string; readonly token: string }
  const [fine, late] = [
    await invite({ name: 'n1', roles: ['viewer'] }, desk.token),
    await invite({ name: 'n2', roles: ['admin'] }, desk.token),
  ]
  assert.is((await accept(fine.token)).status, 201)
  assert.is((await bed.request('DELETE', `/v1/tokens/${desk.id}`)).status, 204)
  assert.is((await accept(late.token)).status, 401)
})

sessions(
  'knows what the maker of an invitation may by now, also one who made it by a certificate',
  async () => {
    const db = memoryDb(MIGRATIONS)
    const id = 'u1'
    const row = {
      ...{ id, name: 'ada', name_key: 'ada', roles: '["viewer"]', password_hash: '', created_at_ms: 1 },
      ...{ created_by: '{}', last_login_at_ms: null },
    }
    await db.write((tx) => USERS.insert(tx, row))
    for (const kind of ['user', 'cli'] as const) {
      assert.equal(await rolesOfMaker(db, { kind, id }, 2), new Set(['viewer']))
      assert.equal(await rolesOfMaker(db, { kind, id: 'u2' }, 2), new Set())
    }
    assert.is(await rolesOfMaker(db, { kind: 'admin-env', id: 'SVC_ADMIN_TOKEN' }, 2), 'any')
  },
)

sessions.run()
