import { assert, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import {
  addAuthenticator,
  logInByPasskey,
  makePasskey,
  type PageAnswer,
  type VirtualAuthenticator,
} from '../harness/passkey-page.ts'
import { totpAt } from '../harness/people.ts'
import { type Service, startService } from '../harness/service.ts'

const passkeys = suite('e2e/passkeys', { limitMs: 600_000 })
const executable = findBrowser()

let service: Service
let browser: Browser | undefined
let pageUrl: string

passkeys.before(async () => {
  service = await startService()
  pageUrl = `http://localhost:${new URL(service.url).port}/v1/docs`
  if (executable !== undefined) browser = await openBrowser(executable)
})
passkeys.after(async () => {
  await browser?.close()
  await service.stop()
})

interface Registered {
  readonly page: Page
  readonly device: VirtualAuthenticator
  readonly userId: string
  readonly token: string
  readonly passkey: string
}

/** A person who has logged in by password and code and made a passkey in a page of the browser. */
async function registered(opened: Browser, name: string): Promise<Registered> {
  const made = await service.request('POST', '/v1/users', { body: { name, roles: ['operator'] } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  const { id: userId, password, totp_uri } = made.body
  const body = { username: name, password, code: totpAt(totp_uri, Date.now()) }
  const login = await service.request('POST', '/v1/auth/login', { token: undefined, body })
  assert.is(login.status, 200, JSON.stringify(login.body))
  const { token } = login.body
  const { page } = await opened.open(pageUrl)
  const device = await addAuthenticator(page)
  const { status, body: passkey } = answered(await makePasskey(page, token))
  assert.is(status, 201, JSON.stringify(passkey))
  assert.equal([passkey.host_name, passkey.label], ['localhost', 'virtual'])
  return { page, device, userId, token, passkey: passkey.id }
}

function answered(answer: PageAnswer | string): PageAnswer {
  if (typeof answer === 'string') throw new Error(`the browser refused: ${answer}`)
  return answer
}

const outcome = (answer: PageAnswer | string): string =>
  typeof answer === 'string' ? answer : `${answer.status} ${answer.body.error?.code ?? ''}`.trim()

// Failed logins from one address lock it: all of them together here are fewer than five.
if (executable !== undefined) {
  const withBrowser = (): Browser => {
    if (browser === undefined) throw new Error('the browser was not started')
    return browser
  }

  passkeys('are made in a real browser, and open a session without a password', async () => {
    const { page, userId } = await registered(withBrowser(), 'zoe')
    const { status, body } = answered(await logInByPasskey(page))
    assert.is(status, 200, JSON.stringify(body))
    assert.equal(body.roles, ['operator'])
    const seen = await service.request('GET', '/v1/audit?action=auth.login', { token: body.token })
    assert.equal([seen.status, seen.body.entries[0].principal.id], [200, userId])
    assert.equal(
      (await page.context().cookies()).map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
      [[true, 'Strict']],
    )
    await page.context().clearCookies()
    await page.close()
  })

  passkeys('open nothing where nobody was verified, whatever the page asks of the browser', async () => {
    const { page, device } = await registered(withBrowser(), 'ivo')
    await device.verifies(false)
    assert.is(outcome(await logInByPasskey(page)), 'NotAllowedError')
    assert.is(outcome(await logInByPasskey(page, 'discouraged')), '401 login_failed')
    await device.verifies(true)
    assert.is(outcome(await logInByPasskey(page)), '200')
    await page.close()
  })

  passkeys('open nothing any more once a copy has signed', async () => {
    const { page, device, userId } = await registered(withBrowser(), 'eve')
    for (let time = 0; time < 3; time += 1) assert.is(outcome(await logInByPasskey(page)), '200')
    const signed = await device.signCount()
    await device.goBackTo(1)
    assert.is(outcome(await logInByPasskey(page)), '401 login_failed')
    await device.goBackTo(signed + 10)
    assert.is(outcome(await logInByPasskey(page)), '401 login_failed')
    const { body } = await service.request('GET', `/v1/users/${userId}/passkeys`)
    assert.match(body.passkeys[0].disabled_at, /^20/)
    const trail = await service.request('GET', '/v1/audit?action=passkey.disable')
    assert.equal(
      trail.body.entries.map(({ target }: { readonly target: string }) => target),
      [userId],
    )
    await page.close()
  })

  passkeys('open nothing once they are removed', async () => {
    const { page, token, passkey } = await registered(withBrowser(), 'ann')
    assert.is(outcome(await logInByPasskey(page)), '200')
    const removed = await service.request('DELETE', `/v1/auth/passkeys/${passkey}`, { token })
    assert.is(removed.status, 204)
    assert.is(outcome(await logInByPasskey(page)), '401 login_failed')
    await page.close()
  })

  passkeys('are not to be had at an address, and the answer says what works there', async () => {
    const { page } = await withBrowser().open(`${service.url}/v1/docs`)
    const { status, body } = answered(await logInByPasskey(page))
    assert.equal([status, body.error.code], [409, 'passkey_unavailable'])
    assert.match(body.error.message, /127\.0\.0\.1 is an address.*password and code/)
    await page.close()
  })
} else {
  passkeys('say at an address that they need a host name', async () => {
    const headers = { origin: service.url }
    const refused = await service.request('POST', '/v1/auth/passkey/options', { token: undefined, headers })
    assert.equal([refused.status, refused.body.error.code], [409, 'passkey_unavailable'])
  })
}

passkeys.run()
