import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { isAccessible, signInWithToken } from '../harness/console-page.ts'
import { addAuthenticator, makePasskey } from '../harness/passkey-page.ts'
import { addPerson, enter, totpAt } from '../harness/people.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'
import { type Relay, startRelay } from '../harness/tcp-proxy.ts'

/** Every way into the console, and what becomes of it when the network or the service goes. */
const signing = suite('e2e/console-signin', { limitMs: 600_000 })
const STEP_MS = 30_000
const executable = findBrowser()

let service: Service
let browser: Browser
let relay: Relay
let temp: TempDir

async function opened(url: string): Promise<Page> {
  return (await browser.open(url)).page
}

/** The page says so by itself once somebody is signed in. */
async function isIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await page.getByText('The box is not on the air').waitFor()
}

if (executable !== undefined) {
  signing.before(async () => {
    temp = await tempDir()
    service = await startService({ dataDir: temp.path })
    browser = await openBrowser(executable)
    relay = await startRelay()
    relay.target(service.url)
  })
  signing.after(async () => {
    await browser.close()
    await relay.close()
    await service.stop()
    await temp[Symbol.asyncDispose]()
  })

  signing('lets a person in by name, password and code, over a reload, and out again', async () => {
    const ada = await addPerson(service, 'ada', ['operator'])
    const page = await opened(service.url)
    const fill = async (password: string, code: string): Promise<void> => {
      await page.getByLabel('Name').fill(ada.name)
      await page.getByLabel('Password').fill(password)
      await page.getByLabel('Code').fill(code)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }
    await fill('not her password', '000000')
    await page.getByRole('alert').waitFor()
    assert.match((await page.getByRole('alert').textContent()) ?? '', 'login_failed')
    assert.is(await page.getByLabel('Name').inputValue(), ada.name, 'nothing typed is lost')
    await isAccessible(page, 'a login that failed')
    await fill(ada.password, totpAt(ada.totp_uri, Date.now()))
    await isIn(page)
    await page.reload()
    await isIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const { body } = await service.request('GET', '/v1/auth/sessions')
    assert.equal(body.sessions, [])
    await page.close()
  })

  signing('lets a person in with a passkey alone', async () => {
    const grace = await addPerson(service, 'grace', ['viewer'])
    const { token } = await enter(service, grace)
    const page = await opened(service.url.replace('127.0.0.1', 'localhost'))
    await addAuthenticator(page)
    const made = await makePasskey(page, token)
    assert.is(typeof made === 'string' ? made : made.status, 201)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await isIn(page)
    assert.is(
      await page.getByRole('button', { name: 'Stop transmitting' }).count(),
      0,
      'a viewer stops nothing',
    )
    await page.close()
  })

  signing('says why a token opens nothing', async () => {
    const page = await opened(service.url)
    await page.getByRole('button', { name: 'New box? Enter its token' }).click()
    await page.getByLabel('Token', { exact: true }).fill('svc_of_nobody')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').waitFor()
    assert.match((await page.getByRole('alert').textContent()) ?? '', 'unauthenticated')
    await page.close()
  })

  signing(
    'is opened by a link once, which leaves the address and whose token ends with the day',
    async () => {
      const told = await runSvc(['console', '--json', '--url', service.url, '--token', service.adminToken])
      assert.is(told.code, 0, told.stderr)
      const { link } = JSON.parse(told.stdout)
      const page = await opened(link)
      await isIn(page)
      assert.is(new URL(page.url()).hash, '')
      await page.reload()
      await isIn(page)
      const second = await opened(link)
      await second.getByRole('alert').waitFor()
      assert.match((await second.getByRole('alert').textContent()) ?? '', 'link_invalid')
      const { body } = await service.request('GET', '/v1/tokens')
      const lives = body.tokens
        .filter(({ name }: { name: string }) => name === 'console')
        .map(
          ({ created_at, expires_at }: Readonly<Record<string, string>>) =>
            Date.parse(expires_at ?? '') - Date.parse(created_at ?? ''),
        )
      assert.equal(lives, [43_200_000])
      const { body: trail } = await service.request('GET', '/v1/audit?limit=50')
      const actions = trail.entries.map(
        ({ action, outcome }: Readonly<Record<string, string>>) => `${action} ${outcome}`,
      )
      for (const entry of ['auth.link ok', 'auth.open ok', 'auth.open denied'])
        assert.ok(actions.includes(entry), `${entry} is not among ${actions}`)
      assert.not.ok(service.output().includes(new URL(link).hash.slice(1)), 'its token is in no log')
      const token = String(await page.evaluate("sessionStorage.getItem('steeple.token')"))
      const asIt = async () => (await service.request('GET', '/v1/auth/me', { token })).status
      assert.is(await asIt(), 200)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('Password').waitFor()
      assert.is(await asIt(), 401)
      await page.close()
      await second.close()
    },
  )

  signing('says that the connection is lost, heals it, and shows what changed meanwhile', async () => {
    const page = await opened(relay.url)
    await signInWithToken(page, service.adminToken)
    await page.getByText('the licence is not acknowledged').waitFor()
    relay.target(undefined)
    relay.cut()
    await page.getByText('The connection to the box is lost').waitFor()
    const policy = await service.request('PUT', '/v1/policy', {
      body: { spectrum: { license: { acknowledged: true, reference: 'AZ-1', holder: 'Village' } } },
    })
    assert.is(policy.status, 200, JSON.stringify(policy.body))
    relay.target(service.url)
    await page.getByText('The connection to the box is lost').waitFor({ state: 'detached' })
    await page.getByText('the licence is not acknowledged').waitFor({ state: 'detached' })
    await page.close()
  })

  signing(
    'goes on when the service is restarted under the page, and signs in over it when the session has ended',
    async () => {
      const lin = await addPerson(service, 'lin', ['operator'])
      const page = await opened(relay.url)
      const signIn = async (code: string): Promise<void> => {
        await page.getByLabel('Name').fill(lin.name)
        await page.getByLabel('Password').fill(lin.password)
        await page.getByLabel('Code').fill(code)
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      }
      await signIn(totpAt(lin.totp_uri, Date.now()))
      await isIn(page)
      const { dataDir, adminToken } = service
      relay.target(undefined)
      await service.kill()
      await page.getByText('The connection to the box is lost').waitFor()
      service = await startService({ dataDir, adminToken })
      relay.target(service.url)
      await page.getByText('The connection to the box is lost').waitFor({ state: 'detached' })
      await isIn(page)
      const { body } = await service.request('GET', '/v1/auth/sessions?limit=500')
      for (const { id, user_name } of body.sessions)
        if (user_name === 'lin') await service.request('DELETE', `/v1/auth/sessions/${id}`)
      await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
      const behind = await page.evaluate(
        "getComputedStyle(document.querySelector('dialog[open]'), '::backdrop').backgroundColor",
      )
      assert.match(String(behind), /^rgb\(/, 'nothing of the page can be read behind it')
      await isAccessible(page, 'signing in again')
      await eventually(async () => {
        await signIn(totpAt(lin.totp_uri, Date.now() + STEP_MS))
        await page.getByRole('dialog').waitFor({ state: 'detached', timeout: 5_000 })
      })
      await isIn(page)
      await page.close()
    },
  )
}

signing.run()
