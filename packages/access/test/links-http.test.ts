import { assert, suite, type Testbed, type TestResponse } from '@steeple/testkit'
import { accessBed } from './access-bed.ts'

const http = suite('access/links-http')
let bed: Testbed

http.before(async () => {
  ;({ bed } = await accessBed())
})
http.after(() => bed.stop())

interface Given {
  readonly token: string
}

async function given(path: string, body: object, status: number): Promise<string> {
  const answer = await bed.request('POST', path, { body })
  assert.is(answer.status, status, JSON.stringify(answer.body))
  // The edge checks every answer against its route's schema in a testbed.
  return (answer.body as Given).token
}
const byLink = async (): Promise<string> =>
  given('/v1/auth/links/open', { token: await given('/v1/auth/links', {}, 201) }, 200)
const close = (token: string): Promise<TestResponse> =>
  bed.request('POST', '/v1/auth/links/close', { token, body: {} })
const opens = async (token: string): Promise<number> =>
  (await bed.request('GET', '/v1/auth/me', { token })).status

http('ends the token of a link, and none beside it', async () => {
  const [one, other] = [await byLink(), await byLink()]
  assert.equal([await opens(one), await opens(other)], [200, 200])
  assert.is((await close(one)).status, 204)
  assert.equal([await opens(one), await opens(other)], [401, 200])
  assert.is((await close(one)).status, 401)
  const trail = (await bed.audit()).filter(({ action }) => action === 'auth.close')
  assert.equal(
    trail.map(({ outcome }) => outcome),
    ['ok'],
  )
})

http('ends it once when it is asked for twice at once', async () => {
  const token = await byLink()
  const answers = await Promise.all([close(token), close(token)])
  for (const { status } of answers) assert.ok([204, 401].includes(status), String(status))
  assert.is(await opens(token), 401)
})

http('leaves every other credential as it is', async () => {
  for (const body of [
    { name: 'dashboard', roles: ['viewer'] },
    { name: 'console', roles: ['viewer'] },
    { name: 'console', roles: ['viewer'], expires_in: '13h' },
  ]) {
    const token = await given('/v1/tokens', body, 201)
    assert.is((await close(token)).status, 204)
    assert.is(await opens(token), 200)
  }
  assert.is((await bed.request('POST', '/v1/auth/links/close', { body: {} })).status, 204)
  assert.is((await bed.request('GET', '/v1/auth/me')).status, 200)
})

http.run()
