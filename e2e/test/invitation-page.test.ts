import { assert, eventually, suite } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { type Service, startService } from '../harness/service.ts'
import { totpAt } from '../harness/totp.ts'

const invitation = suite('e2e/invitation-page')
const LIMIT = { limitMs: 600_000 }
const PASSWORD = 'correct horse battery'
const executable = findBrowser()

let service: Service
let browser: Browser | undefined

invitation.before(async () => {
  service = await startService()
  if (executable !== undefined) browser = await openBrowser(executable)
}, LIMIT)
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

invitation(
  'serves a page that runs nothing but its own script, and asks nobody else',
  async () => {
    const { headers, status } = await fetch(`${service.url}/v1/auth/invitation`)
    assert.is(status, 200)
    assert.is(headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/)
    assert.not.match(policy, /unsafe|\*|https?:/)
    assert.is(headers.get('referrer-policy'), 'no-referrer')
  },
  LIMIT,
)

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
      assert.not.ok(page.url().includes(token), 'the token does not stay in the address')
      await page.fill('#password', PASSWORD)
      await page.fill('#again', 'another password')
      await page.click('#accept')
      assert.is(await page.textContent('#said'), 'The two passwords are not the same.')
      await page.fill('#again', PASSWORD)
      await page.click('#accept')
      await page.waitForSelector('#done:not([hidden])')
      assert.equal([await page.textContent('#name'), await page.textContent('#roles')], ['grace', 'operator'])
      const codes = await page.locator('#codes code').allTextContents()
      assert.is(codes.length, 10)
      assert.is(await page.locator('#qr svg path').count(), 1)
      const uri = (await page.textContent('#uri')) ?? ''
      const body = { username: 'grace', password: PASSWORD, code: totpAt(uri, Date.now()) }
      const login = await service.request('POST', '/v1/auth/login', { token: undefined, body })
      assert.is(login.status, 200, JSON.stringify(login.body))
      assert.equal(problems, [])
      assert.equal([...hosts], [new URL(service.url).host])
      await page.close()
      const { page: second } = await opened().open(link)
      await second.fill('#password', PASSWORD)
      await second.fill('#again', PASSWORD)
      await second.click('#accept')
      await eventually(async () =>
        assert.is(
          await second.textContent('#said'),
          'the invitation is unknown, used or expired; ask for another one',
        ),
      )
      await second.close()
    },
    LIMIT,
  )

  invitation(
    'says so where the link has lost its end, and takes the whole one then',
    async () => {
      const { page, problems } = await opened().open(`${service.url}/v1/auth/invitation`)
      assert.match((await page.textContent('#said')) ?? '', /holds no invitation/)
      assert.not(await page.isVisible('#form'))
      // As pasted over the address: the document stays.
      await page.evaluate(`location.hash = '${(await invited('hopper')).token}'`)
      await page.waitForSelector('#form:not([hidden])')
      await eventually(() => assert.not.ok(page.url().includes('svci_'), 'the token stays in the address'))
      await page.fill('#password', PASSWORD)
      await page.fill('#again', PASSWORD)
      await page.click('#accept')
      await page.waitForSelector('#done:not([hidden])')
      assert.is(await page.textContent('#name'), 'hopper')
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )
}

invitation.run()
