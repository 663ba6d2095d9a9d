import { ERROR_CATALOGUE } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { createJudge, createValidator } from '../harness/fuzz/judge.ts'
import { fetchOpenApi, type OpenApi, operationsOf } from '../harness/openapi.ts'
import { type Service, startService } from '../harness/service.ts'

const docs = suite('e2e/documentation')

/** Everything that the page transfers, compressed as a browser asks for it. */
const MOST_BYTES = 300_000
const FILES = ['/v1/docs', '/docs/api.js', '/docs/site.css', '/docs/icon.svg']

let service: Service
let document: OpenApi

docs.before(async () => {
  service = await startService()
  document = await fetchOpenApi(service.url)
})
docs.after(async () => {
  await service.stop()
})

docs('serves the page and everything that it loads itself, to anyone', async () => {
  const page = await get('/v1/docs')
  assert.is(page.type, 'text/html; charset=utf-8')
  const urls = referencesOf(page.text)
  assert.ok(urls.length >= 3, `${urls.length} files`)
  for (const reference of urls) {
    const url = new URL(reference, `${service.url}/v1/docs`)
    assert.is(url.origin, service.url, reference)
    const { type, text } = await get(url.pathname)
    assert.match(
      type,
      url.pathname.endsWith('.css') ? /^text\/css/ : /^text\/javascript|^image\/svg/,
      reference,
    )
    assert.ok(text.length > 50, reference)
  }
})

docs('names no other host in the page, in what starts it and in its style sheet', async () => {
  for (const path of FILES) {
    const { text } = await get(path)
    const hosts = [...text.matchAll(/(?:https?:)?\/\/([a-z0-9.-]+\.[a-z]{2,})/gi)].map(([, host]) => host)
    // The name of the SVG namespace is never fetched.
    const others = hosts.filter((host) => host !== 'www.w3.org')
    assert.equal(others, [], path)
    assert.not.match(text, /url\(/, path)
    assert.not.match(text, /@import/, path)
  }
})

docs('forbids the browser to ask any other host, to run anything inline, or to be framed', async () => {
  const { policy, text } = await get('/v1/docs')
  const rules = new Map(
    policy.split(';').map((rule) => {
      const [name = '', ...sources] = rule.trim().split(' ')
      return [name, sources] as const
    }),
  )
  assert.equal(rules.get('default-src'), ["'none'"])
  assert.equal(rules.get('frame-ancestors'), ["'none'"])
  for (const [name, sources] of rules) {
    for (const source of sources) assert.ok(["'none'", "'self'"].includes(source), `${name} ${source}`)
  }
  assert.equal(rules.get('script-src'), ["'self'"])
  assert.not.match(text, /<script(?![^>]*\bsrc=)/, 'an inline script')
  assert.not.match(text, /\son[a-z]+=/, 'an inline handler')
  assert.not.match(text, /<style|\sstyle=/, 'an inline style')
  assert.not.match(
    (await get('/docs/api.js')).text,
    /\beval\(|new Function|localStorage|sessionStorage|document\.cookie/,
  )
})

docs('transfers little, and nothing again that has not changed', async () => {
  let bytes = 0
  for (const path of [...FILES, '/v1/openapi.json']) {
    const { headers, text } = await get(path)
    assert.is(headers.get('content-encoding'), 'gzip', path)
    bytes += Number(headers.get('content-length'))
    const plain = await fetch(service.url + path, { headers: { 'accept-encoding': 'identity' } })
    assert.is(plain.headers.get('content-encoding'), null, path)
    assert.is(await plain.text(), text, path)
    const etag = headers.get('etag') ?? ''
    const again = await fetch(service.url + path, { headers: { 'if-none-match': etag } })
    assert.is(again.status, 304, path)
  }
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`)
  process.stdout.write(`\n# the documentation page transfers ${bytes} bytes\n`)
})

docs('groups operations by what people do, and gives each body to begin with', () => {
  const validate = createValidator()
  const groups = new Set(document.tags.map(({ name }) => name))
  for (const { method, path, object } of operationsOf(document)) {
    assert.equal(object.tags.length, 1, path)
    assert.ok(groups.has(object.tags[0] ?? ''), `${object.tags[0]} of ${path}`)
    assert.is.not(object.tags[0], 'More', `${path} has no group`)
    const content = object.requestBody?.content?.['application/json']
    if (content === undefined) continue
    assert.ok('example' in content, `${method} ${path} has no example`)
    assert.equal(validate(content.schema ?? {}, content.example), [], `${method} ${path}`)
  }
})

docs('documents every operation so that a client can be made from it', () => {
  assert.is(document.openapi, '3.1.0')
  const ids = new Set<string>()
  for (const { method, path, object, parameters } of operationsOf(document)) {
    const name = `${method} ${path}`
    const { summary } = object as unknown as { readonly summary: string }
    assert.ok(summary.length > 5, `${name} has no summary`)
    assert.not.ok(ids.has(object.operationId), `${object.operationId} is there twice`)
    ids.add(object.operationId)
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter).sort()
    const declared = parameters.filter((one) => one.in === 'path').map((one) => one.name)
    assert.equal(declared.sort(), inPath, name)
    const statuses = Object.keys(object.responses).map(Number)
    // 302 is what a route does, or what it may do beside its success; 304 stands for the success.
    const successes = statuses.filter(
      (status) => status < 400 && status !== 304 && !(status === 302 && statuses.includes(200)),
    )
    assert.is(successes.length, 1, `${name}: one success`)
    for (const status of object.security.length > 0 ? [401, 403] : []) {
      assert.ok(statuses.includes(status), `${name} lacks ${status}`)
    }
    if (method !== 'GET') assert.ok(object.requestBody !== undefined || statuses.includes(400), name)
  }
})

docs('has schemas that compile, references that lead somewhere, and only codes that it explains', () => {
  createJudge(document)
  const text = JSON.stringify(document)
  for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = reference
      .split('/')
      .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document)
    assert.ok(target !== undefined, reference)
  }
  // Those of the catalogue, and what plugins bring.
  const explained: readonly { readonly code: string }[] = Reflect.get(document, 'x-error-codes')
  const known = new Set(explained.map(({ code }) => code))
  for (const { code } of ERROR_CATALOGUE) assert.ok(known.has(code), code)
  for (const { object } of operationsOf(document)) {
    for (const [status, response] of Object.entries(object.responses)) {
      if (Number(status) < 400) continue
      const codes = JSON.stringify(response).match(/"code":\{"enum":\[([^\]]+)\]/)?.[1] ?? ''
      const listed = codes.split(',').map((code) => code.slice(1, -1))
      assert.ok(
        listed.length > 0 && listed.every((code) => known.has(code)),
        `${object.operationId}: ${codes}`,
      )
    }
  }
})

docs('is found through, read and tried in a browser, in the dark and on a phone', async () => {
  const executable = findBrowser()
  if (executable === undefined) {
    process.stdout.write('\n# no browser is installed: the page was not run\n')
    assert.match((await get('/docs/api.js')).text, /openapi\.json/)
    return
  }
  await using browser = await openBrowser(executable)
  const { page, problems, hosts } = await browser.open(`${service.url}/v1/docs`)
  await page.waitForSelector('.operation', { state: 'attached' })
  const shown = await page.locator('.operation .path').allTextContents()
  const wanted = operationsOf(document).map(({ path }) => path)
  assert.equal([...shown].sort(), wanted.filter((path) => !/^(\/v1)?\/docs\//.test(path)).sort())
  const content = await page.locator('main').boundingBox()
  assert.ok((content?.width ?? 0) > 700, `the text is ${content?.width} wide on a desk`)
  await findsByKeyboard(page)
  await triesWithToken(page)
  const [light, dark] = [await ground(page, 'light'), await ground(page, 'dark')]
  assert.ok(light > 200 && dark < 60, `ground ${light} by day, ${dark} by night`)
  await fitsPhone(page)
  assert.equal(problems, [])
  assert.equal([...hosts], [new URL(service.url).host])
  assert.equal(await page.evaluate('[document.cookie, localStorage.length, sessionStorage.length]'), [
    '',
    0,
    0,
  ])
})

docs.run()

/** `/` goes to the search, arrows choose, Enter opens what was found. */
async function findsByKeyboard(page: Page): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.type('transition')
  await page.waitForSelector('#hits a')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  const operation = page.locator('#post_v1_lifecycle_transition')
  await operation.locator('.inside').waitFor()
  assert.is(await operation.getAttribute('open'), '')
  assert.match((await operation.locator('.sample').first().textContent()) ?? '', /^curl -X POST/)
  assert.match((await operation.textContent()) ?? '', 'invalid_transition')
  // The list follows what is in view.
  await page
    .locator('nav a[aria-current]', { hasText: /^Move this node to another lifecycle state$/ })
    .waitFor({ state: 'attached' })
}

async function triesWithToken(page: Page): Promise<void> {
  const tokens = page.locator('#get_v1_tokens')
  await tokens.locator('summary').first().click()
  const send = tokens.getByRole('button', { name: 'Send', exact: true })
  await send.click()
  await tokens.locator('.answer .bad').waitFor()
  assert.match((await tokens.locator('.answer').textContent()) ?? '', /401.*unauthenticated/s)
  await page.locator('#token').click()
  await page.locator('#token-field').fill(service.adminToken)
  await page.keyboard.press('Enter')
  await send.click()
  await tokens.locator('.answer .good').waitFor()
  assert.match((await tokens.locator('.answer').textContent()) ?? '', /"tokens": \[/)
  assert.not.match((await page.content()) ?? '', service.adminToken)
}

/** Mean brightness of the page's ground, 0 to 255. */
async function ground(page: Page, colorScheme: 'light' | 'dark'): Promise<number> {
  await page.emulateMedia({ colorScheme })
  const colour = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
  const parts = (colour.match(/\d+/g) ?? []).slice(0, 3).map(Number)
  return parts.reduce((sum, part) => sum + part, 0) / 3
}

async function fitsPhone(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 })
  const overhang = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  assert.ok(overhang <= 0, `${overhang} pixels stick out`)
  assert.not.ok(await page.locator('nav').isVisible())
  await page.locator('#menu').click()
  // Longer than the screen, and its end can be reached.
  await page.evaluate("document.querySelectorAll('nav details').forEach((one) => { one.open = true })")
  await page.locator('nav a', { hasText: 'Error codes' }).click()
  await page.locator('nav').waitFor({ state: 'hidden' })
  await page.waitForURL(/#errors$/)
}

interface Served {
  readonly headers: Headers
  readonly type: string
  readonly policy: string
  readonly text: string
}

async function get(path: string): Promise<Served> {
  const response = await fetch(service.url + path)
  assert.is(response.status, 200, path)
  assert.is(response.headers.get('x-content-type-options'), 'nosniff', path)
  return {
    headers: response.headers,
    type: response.headers.get('content-type') ?? '',
    policy: response.headers.get('content-security-policy') ?? '',
    text: await response.text(),
  }
}

/** What a browser fetches for a page: the targets of its `src` and `href`. */
function referencesOf(html: string): readonly string[] {
  return [...html.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(([, target = '']) => target)
}
