import { assert, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { objections } from '../harness/console-look.ts'
import { totpAt } from '../harness/people.ts'
import { type Service, startService } from '../harness/service.ts'

const invitation = suite('e2e/invitation-page', { limitMs: 600_000 })
const PASSWORD = 'correct horse battery'
const executable = findBrowser()

let service: Service
let browser: Browser | undefined

invitation.before(async () => {
  service = await startService()
  if (executable !== undefined) browser = await openBrowser(executable)
})
invitation.after(async () => {
  await browser?.close()
  await service.stop()
})

async function invited(name: string): Promise<{ readonly link: string; readonly token: string }> {
  const made = await service.request('POST', '/v1/users/invitations', { body: { name, roles: ['operator'] } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  const { token } = made.body
  return { link: `${service.url}/v1/auth/invitation#${token}`, token }
}

invitation('leads to a page that runs nothing inline and asks nobody else', async () => {
  const headers = { accept: 'text/html' }
  const first = await fetch(`${service.url}/v1/auth/invitation`, { headers, redirect: 'manual' })
  assert.is(first.status, 302)
  assert.is(first.headers.get('location'), '/invitation')
  const shown = await fetch(`${service.url}/v1/auth/invitation`, { headers })
  assert.is(shown.status, 200)
  assert.is(shown.headers.get('content-type'), 'text/html; charset=utf-8')
  const policy = shown.headers.get('content-security-policy') ?? ''
  assert.match(policy, "default-src 'none'")
  assert.not.match(policy, /unsafe|\*|https?:/)
  assert.is(shown.headers.get('referrer-policy'), 'no-referrer')
})

if (executable !== undefined) {
  const opened = (): Browser => {
    if (browser === undefined) throw new Error('the browser was not started')
    return browser
  }

  invitation(
    'is accepted in a real browser, once, and the person logs in with what the page shows',
    async () => {
      const { link, token } = await invited('grace')
      const { page, problems, hosts } = await opened().open(link)
      await choose(page, PASSWORD, 'another password')
      assert.not.ok(page.url().includes(token), 'the token does not stay in the address')
      await page.getByText('The passwords are not the same.').waitFor()
      await choose(page, PASSWORD)
      const shown = page.getByRole('dialog', { name: 'grace' })
      await shown.getByText('Operator').waitFor()
      assert.is(await shown.locator('.codes code').count(), 10)
      await shown.getByRole('img', { name: 'QR code' }).waitFor()
      assert.equal(await objections(page), [])
      await shown.locator('summary').click()
      const uri = (await shown.locator('details code').textContent()) ?? ''
      await shown.getByLabel('Code of the app').fill(totpAt(uri, Date.now()))
      await shown.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      assert.equal(problems, [])
      assert.equal([...hosts], [new URL(service.url).host])
      await page.close()
      const { page: second } = await opened().open(link)
      await choose(second, PASSWORD)
      await second.getByText('the invitation is unknown, used or expired').waitFor()
      await second.close()
    },
  )

  invitation('says so where the link has lost its end, and takes the whole one then', async () => {
    const { page, problems } = await opened().open(`${service.url}/v1/auth/invitation`)
    await page.getByText('This link is not complete').waitFor()
    assert.is(await page.locator('form').count(), 0)
    // As pasted over the address: the document stays.
    await page.evaluate(`location.hash = '${(await invited('hopper')).token}'`)
    await choose(page, PASSWORD)
    await eventually(() => assert.not.ok(page.url().includes('svci_'), 'the token stays in the address'))
    await page.getByRole('dialog', { name: 'hopper' }).waitFor()
    assert.equal(problems, [])
    await page.close()
  })
}

invitation.run()

async function choose(page: Page, password: string, again = password): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByLabel('Repeat new password').fill(again)
  await page.getByRole('button', { name: 'Accept' }).click()
}
