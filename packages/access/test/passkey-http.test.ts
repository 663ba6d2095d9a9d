import type { Role } from '@steeple/contracts'
import { assert, codeOf, type FakeClock, suite, type Testbed, type TestResponse } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'
import { device, type Misbehaviour, type Options } from './authenticator-device.ts'
import { codeAt } from './people-helpers.ts'

const passkeys = suite('access/passkeys over HTTP')
let bed: Testbed
let clock: FakeClock
let origin: string

passkeys.before(async () => {
  ;({ bed, clock } = await accessBed())
  origin = `http://localhost:${new URL(bed.url).port}`
})
passkeys.after(() => bed.stop())

interface Person {
  readonly id: string
  readonly token: string
}

/** A person who has logged in by password and code. */
async function person(name: string, roles: readonly Role[] = ['viewer']): Promise<Person> {
  // A code of the authenticator is good once.
  await clock.advance(30_000)
  const made = await bed.request('POST', '/v1/users', { body: { name, roles } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  const { id, password, totp_uri } = made.body as Readonly<Record<'id' | 'password' | 'totp_uri', string>>
  const body = { username: name, password, code: codeAt(totp_uri, clock.nowMs()) }
  const login = await bed.request('POST', '/v1/auth/login', { token: false, body })
  assert.is(login.status, 200, JSON.stringify(login.body))
  return { id, token: (login.body as { readonly token: string }).token }
}

/** Asks as the page does: by the host name, with its origin. */
async function post(path: string, body: unknown, token?: string): Promise<TestResponse> {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: {
      origin,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const optionsOf = ({ status, body }: TestResponse): Options => {
  assert.is(status, 200, JSON.stringify(body))
  return (body as { readonly options: Options }).options
}

/** A device that is registered for a person, and a way to log in with it. */
async function registered({ id, token }: Person) {
  const key = device(id)
  const options = optionsOf(await post('/v1/auth/passkey/register/options', undefined, token))
  const response = key.create(options, origin)
  const made = await post('/v1/auth/passkey/register/verify', { response, label: 'phone' }, token)
  assert.is(made.status, 201, JSON.stringify(made.body))
  const again = await post('/v1/auth/passkey/register/verify', { response }, token)
  assert.is(codeOf(again), 'validation_failed')
  return {
    key,
    logIn: async (otherwise: Misbehaviour = {}): Promise<TestResponse> => {
      const asked = optionsOf(await post('/v1/auth/passkey/options', undefined))
      return post('/v1/auth/passkey/verify', { response: key.get(asked, origin, otherwise) })
    },
  }
}

passkeys('opens a session with the roles of the user, as a password does', async () => {
  const zoe = await person('zoe', ['admin'])
  const { logIn } = await registered(zoe)
  const login = await logIn()
  assert.is(login.status, 200, JSON.stringify(login.body))
  assert.match(login.headers.get('set-cookie') ?? '', /HttpOnly/)
  const { token, roles } = login.body as { readonly token: string; readonly roles: readonly string[] }
  assert.equal(roles, ['admin'])
  assert.is((await bed.request('GET', '/v1/users', { token })).status, 200)
  const [entry] = (await bed.audit()).filter(({ action }) => action === 'auth.login')
  assert.equal([entry?.principal.id, entry?.detail.method], [zoe.id, 'passkey'])
})

passkeys('disables a passkey whose count went back, and says so in the audit trail', async () => {
  const ivo = await person('ivo')
  const { key, logIn } = await registered(ivo)
  assert.is((await logIn({ counter: 40 })).status, 200)
  const copy = await logIn({ counter: 12 })
  assert.equal([copy.status, codeOf(copy)], [401, 'login_failed'])
  assert.is(codeOf(await logIn({ counter: 41 })), 'login_failed')
  const [entry] = (await bed.audit()).filter(({ action }) => action === 'passkey.disable')
  assert.equal(entry?.target, ivo.id)
  assert.equal(entry?.detail, { passkey: key.id, stored: 40, signed: 12, disabled: true })
  const list = await bed.request('GET', '/v1/auth/passkeys', { token: ivo.token })
  const [shown] = (list.body as { readonly passkeys: readonly { readonly disabled_at: unknown }[] }).passkeys
  assert.is(shown?.disabled_at, new Date(clock.nowMs()).toISOString())
})

passkeys('answers every failure alike, and locks after five', async () => {
  const eve = await person('eve')
  const { logIn } = await registered(eve)
  const stranger = device(eve.id)
  const asked = optionsOf(await post('/v1/auth/passkey/options', undefined))
  const unknown = await post('/v1/auth/passkey/verify', { response: stranger.get(asked, origin) })
  const unverified = await logIn({ isUnverified: true })
  const wordsOf = ({ status, body }: TestResponse): unknown => [
    status,
    (body as { readonly error: { readonly message: string } }).error.message,
  ]
  assert.equal(wordsOf(unverified), wordsOf(unknown))
  assert.is(codeOf(unverified), 'login_failed')
  for (let failure = 2; failure < 5; failure += 1) await logIn({ rpId: 'evil.example' })
  assert.is((await logIn()).status, 429)
  await clock.advance(900_000)
  assert.is((await logIn()).status, 200)
})

passkeys('open a session where failed passwords have locked the address', async () => {
  const may = await person('may')
  const { logIn } = await registered(may)
  const body = { username: 'may', password: 'not her password', code: '000000' }
  const guess = (): Promise<TestResponse> => bed.request('POST', '/v1/auth/login', { token: false, body })
  for (let failure = 0; failure < 5; failure += 1) assert.is((await guess()).status, 401)
  assert.is((await guess()).status, 429)
  assert.is((await logIn()).status, 200)
  await clock.advance(900_000)
})

passkeys('lets a removed passkey in no more, nor those of a user that is reset or removed', async () => {
  const ann = await person('ann')
  const first = await registered(ann)
  const second = await registered(ann)
  const removed = await bed.request('DELETE', `/v1/auth/passkeys/${first.key.id}`, { token: ann.token })
  assert.is(removed.status, 204)
  assert.is(codeOf(await first.logIn()), 'login_failed')
  assert.is((await second.logIn()).status, 200)
  assert.is((await bed.request('POST', `/v1/users/${ann.id}/reset`)).status, 200)
  assert.is(codeOf(await second.logIn()), 'login_failed')
  const list = await bed.request('GET', `/v1/users/${ann.id}/passkeys`)
  assert.equal(list.body, { passkeys: [], next_cursor: null })
})

passkeys("removes no passkey of another's, but for an administrator", async () => {
  const [one, other] = [await person('one'), await person('other')]
  const { key, logIn } = await registered(one)
  const path = `/v1/auth/passkeys/${key.id}`
  assert.is(codeOf(await bed.request('DELETE', path, { token: other.token })), 'passkey_not_found')
  assert.is(codeOf(await bed.request('DELETE', path)), 'passkey_not_found')
  const byAdmin = `/v1/users/${one.id}/passkeys/${key.id}`
  assert.is((await bed.request('DELETE', byAdmin, { token: other.token })).status, 403)
  assert.is((await logIn()).status, 200)
  assert.is((await bed.request('DELETE', byAdmin)).status, 204)
  assert.is(codeOf(await logIn()), 'login_failed')
})

passkeys(
  'says at an address, to a page of another site and to a token why there are no passkeys',
  async () => {
    const ask = (from: string): Promise<TestResponse> =>
      bed.request('POST', '/v1/auth/passkey/options', { token: false, headers: { origin: from } })
    const refused = await ask(bed.url)
    assert.equal([refused.status, codeOf(refused)], [409, 'passkey_unavailable'])
    assert.match(JSON.stringify(refused.body), /127\.0\.0\.1 is an address.*password and code/)
    assert.is((await ask('https://evil.example')).status, 403)
    const byToken = await post('/v1/auth/passkey/register/options', undefined, bed.adminToken)
    assert.is(codeOf(byToken), 'passkey_unavailable')
  },
)

passkeys("takes no challenge that was drawn for somebody else's registration", async () => {
  const [one, other] = [await person('first'), await person('second')]
  const options = optionsOf(await post('/v1/auth/passkey/register/options', undefined, one.token))
  const response = device(other.id).create(options, origin)
  const refused = await post('/v1/auth/passkey/register/verify', { response }, other.token)
  assert.equal([refused.status, codeOf(refused)], [400, 'validation_failed'])
})

passkeys.run()
