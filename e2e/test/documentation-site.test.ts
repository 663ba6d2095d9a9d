import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { assert, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { objections } from '../harness/console-look.ts'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'

/** The documentation as the service shows it, and as files. */
const site = suite('e2e/documentation-site')

const FOLDER = join(ROOT, 'docs/site/dist')
/** Pages of each form: lists, tables, blocks of commands, a long reference. */
const LOOKED_AT = ['index.html', 'how-to/alerts.html', 'reference/cli.html', 'reference/configuration.html']

let service: Service
let browser: Browser | undefined

site.before(async () => {
  service = await startService()
  const executable = findBrowser()
  if (executable !== undefined) browser = await openBrowser(executable)
})
site.after(async () => {
  await browser?.close()
  await service.stop()
})

site('is served to anybody, every page of it, and no file that is none of it', async () => {
  const first = await fetch(`${service.url}/docs`, { redirect: 'manual' })
  assert.is(first.status, 302)
  assert.is(first.headers.get('location'), '/docs/index.html')
  const below = await fetch(`${service.url}/docs/`)
  assert.is(below.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.is(await below.text(), readFileSync(join(FOLDER, 'index.html'), 'utf8'))
  for (const [path, page] of [
    ['how-to', 'index.html'],
    ['how-to/sims', 'how-to/sims.html'],
  ] as const)
    assert.is((await fetch(`${service.url}/docs/${path}`)).url, `${service.url}/docs/${page}`, path)
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.\w+$/.test(path),
  )
  assert.ok(files.length > 100, `${files.length} files`)
  for (const path of files) {
    const response = await fetch(`${service.url}/docs/${path}`)
    assert.is(response.status, 200, path)
    assert.is(await response.text(), readFileSync(join(FOLDER, path), 'utf8'), path)
    assert.is(response.headers.get('x-content-type-options'), 'nosniff', path)
    assert.match(response.headers.get('content-security-policy') ?? '', "default-src 'none'", path)
  }
  for (const path of ['nothing.html', '..%2fpackage.json', 'how-to/..%2f..%2fpackage.json', 'strange'])
    assert.is((await fetch(`${service.url}/docs/${path}`)).status, 404, path)
})

site('runs nothing inline and names no other host that a page would load from', () => {
  for (const path of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.html')) continue
    const html = readFileSync(join(FOLDER, path), 'utf8')
    assert.not.match(html, /<script(?![^>]* src="[^":]+")|<style|\son[a-z]+=|\sstyle=/, path)
    assert.not.match(html, /<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?\/\//, path)
  }
})

site(
  'is read, searched and walked through by keyboard, in a browser, by day, by night and on a phone',
  async () => {
    if (browser === undefined) {
      process.stdout.write('\n# no browser is installed: the site was not looked at\n')
      return
    }
    const { page, problems, hosts } = await browser.open(`${service.url}/docs`)
    assert.is(new URL(page.url()).pathname, '/docs/index.html')
    await findsByKeyboard(page)
    assert.match(page.url(), /\/docs\/how-to\/quotas\.html/)
    for (const path of LOOKED_AT) {
      await page.goto(`${service.url}/docs/${path}`)
      await isAccessible(page, path)
      await fitsPhone(page, path)
    }
    assert.equal(problems, [])
    assert.equal([...hosts], [new URL(service.url).host])
    await page.close()
  },
)

site('is read and searched as files, without any service', async () => {
  if (browser === undefined) return
  const { page, problems } = await browser.open(pathToFileURL(join(FOLDER, 'how-to/sims.html')).href)
  await findsByKeyboard(page)
  assert.match(page.url(), /^file:.*\/how-to\/quotas\.html/)
  assert.equal(problems, [])
  await page.close()
})

site.run()

/** `/` goes to the search, what is found comes from the index that is loaded then, Enter opens it. */
async function findsByKeyboard(page: Page): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.type('top up quota')
  const first = page.locator('#hits a').first()
  await first.waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  assert.is(await first.getAttribute('aria-selected'), 'true')
  assert.match((await first.textContent()) ?? '', /top up/i)
  await page.keyboard.press('Enter')
  await page.waitForURL(/quotas\.html/)
  assert.match((await page.locator('h1').textContent()) ?? '', 'Quotas')
}

/** No rule of axe-core is broken, and no rule about colours by night: there are others then, and nothing else. */
async function isAccessible(page: Page, path: string): Promise<void> {
  for (const [colorScheme, rules] of [
    ['light', 'all'],
    ['dark', 'colours'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    assert.equal(await objections(page, rules), [], `${path}, ${colorScheme}`)
  }
}

async function fitsPhone(page: Page, path: string): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 })
  const overhang = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
  assert.ok(overhang <= 0, `${path}: ${overhang} pixels stick out`)
  const nav = page.locator('#nav')
  assert.not.ok(await nav.isVisible())
  await page.locator('#menu').click()
  await nav.waitFor()
  await page.keyboard.press('Escape')
  await eventually(async () => assert.not.ok(await nav.isVisible()))
  await page.setViewportSize({ width: 1_280, height: 900 })
}
