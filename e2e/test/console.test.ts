import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { folderOf } from '../harness/builds/program.ts'
import { isAccessible, signInWithToken } from '../harness/console-page.ts'
import { type Service, startService } from '../harness/service.ts'

/** The console as the service serves it. */
const site = suite('e2e/console')
const SITE = join(folderOf('console'), 'dist/site')
const executable = findBrowser()

let service: Service
let browser: Browser | undefined

site.before(async () => {
  service = await startService()
  if (executable !== undefined) browser = await openBrowser(executable)
})
site.after(async () => {
  await browser?.close()
  await service.stop()
})

/** As a browser asks for a page. */
function page(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(service.url + path, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } })
}

site('serves its first page under a strict policy, asked for anew each time', async () => {
  const answer = await page('/')
  assert.is(answer.status, 200)
  assert.is(answer.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.is(answer.headers.get('cache-control'), 'no-cache')
  assert.is(
    answer.headers.get('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; " +
      "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  )
  const etag = answer.headers.get('etag') ?? ''
  assert.is((await page('/', { 'if-none-match': etag })).status, 304)
  assert.not.match(await answer.text(), /<script(?![^>]* src="\/console-files\/)|<style|\son[a-z]+=|\sstyle=/)
})

site('serves its files for good, in the coding that the browser takes', async () => {
  const script = readdirSync(SITE).find((name) => /^index\..*\.js$/.test(name)) ?? ''
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['identity', null],
  ] as const) {
    const answer = await fetch(`${service.url}/console-files/${script}`, {
      headers: { 'accept-encoding': accepted },
    })
    assert.is(answer.status, 200)
    assert.is(answer.headers.get('content-encoding'), coding)
    assert.is(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.is(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.match(await answer.text(), /import/)
  }
})

site('shows its first page for the pages that it finds by itself, and for nothing else', async () => {
  for (const path of ['/sims', '/sims/0123456789ab', '/a/b/c/d/e/f', '/sims?state=issued'])
    assert.is((await page(path)).headers.get('content-type'), 'text/html; charset=utf-8', path)
  const others = [
    '/a/b/c/d/e/f/g',
    '/v1/nothing',
    '/v1',
    '/docs/nothing',
    '/metrics/x',
    '/console-files/x',
    '/favicon.ico',
  ]
  for (const path of others) {
    const answer = await page(path)
    assert.is(answer.status, 404, path)
    assert.is(answer.headers.get('content-type'), 'application/json; charset=utf-8', path)
  }
  assert.is((await fetch(`${service.url}/sims`)).status, 404, 'for a program')
  assert.is((await fetch(`${service.url}/sims`, { method: 'POST' })).status, 404, 'for a change')
})

if (executable !== undefined) {
  const opened = (): Browser => {
    if (browser === undefined) throw new Error('the browser was not started')
    return browser
  }

  site('is entered with a token, and says whether the box is on the air', async () => {
    const { page, problems, hosts } = await opened().open(service.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await isAccessible(page, 'sign in')
    await signInWithToken(page, service.adminToken)
    await page.getByText('The box is not on the air, because no country is set').waitFor()
    await isAccessible(page, 'overview')
    await page.reload()
    await page.getByText('The box is not on the air').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.equal(problems, [])
    assert.equal([...hosts], [new URL(service.url).host])
    await page.close()
  })
}

site.run()
