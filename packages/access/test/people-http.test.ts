import {
  assert,
  type FakeClock,
  fakeClock,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
  type TestResponse,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { codeAt } from './people-helpers.ts'

const people = suite('access/people over HTTP')
let bed: Testbed
let clock: FakeClock

people.before(
  async () => {
    const { startTestbed } = await loadTestbed()
    clock = fakeClock(Date.UTC(2026, 5, 1))
    bed = await startTestbed({ plugins: [await pluginFrom(import.meta.url, plugin)], clock })
  },
  { limitMs: 360_000 },
)
people.after(() => bed.stop())

people('logs a new user in by password and code', async () => {
  const made = await bed.request('POST', '/v1/users', { body: { name: 'ada', roles: ['admin'] } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  const { password, totp_uri } = made.body as { readonly password: string; readonly totp_uri: string }
  const login = await bed.request('POST', '/v1/auth/login', {
    token: false,
    body: { username: 'Ada', password, code: codeAt(totp_uri, clock.nowMs()) },
  })
  assert.is(login.status, 200, JSON.stringify(login.body))
  const { token } = login.body as { readonly token: string }
  const users = await bed.request('GET', '/v1/users', { token })
  assert.is(users.status, 200, JSON.stringify(users.body))
  const cookie = login.headers.get('set-cookie') ?? ''
  assert.match(cookie, /HttpOnly; SameSite=Strict/)
  const again = await refresh(cookie)
  assert.is(again.status, 200, JSON.stringify(again.body))
  assert.is((await refresh(cookie)).status, 401)
  assert.is((await refresh(again.headers.get('set-cookie') ?? '')).status, 401)
  assert.is((await bed.request('GET', '/v1/users', { token })).status, 401)
})

function refresh(setCookie: string): Promise<TestResponse> {
  const [cookie = ''] = setCookie.split(';', 1)
  return bed.request('POST', '/v1/auth/refresh', { token: false, headers: { cookie } })
}

people.run()
