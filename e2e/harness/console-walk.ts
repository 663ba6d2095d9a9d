import { assert, eventually } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import type { Browser, OpenPage } from './browser.ts'
import { goTo, signInWithToken } from './console-page.ts'
import type { Service } from './service.ts'

/** Pages that are a plugin's, by its package: their path, and their name in the menu. */
const OF_PLUGINS: Readonly<Record<string, { readonly path: string; readonly entry: string }>> = {
  alerts: { path: '/alerts', entry: 'Alerts' },
  backup: { path: '/backup', entry: 'Backup and restore' },
  'fair-use': { path: '/usage', entry: 'Usage' },
  'esim-smdp': { path: '/esim', entry: 'eSIM' },
  mesh: { path: '/mesh', entry: 'Mesh' },
}
const NOT_FOUND = 'This page does not exist'
/** Two frames: what a page asks for when it is shown, it has asked for by then. */
const IS_SHOWN = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))'

/** What a page was answered: what was refused, and what cannot be told now. */
interface Traffic {
  readonly refused: readonly string[]
  readonly unavailable: string[]
}

/**
 * Opens every page of the console that the menu leads to, those of a subscriber, of a plugin and of an import: each is shown, no
 * script fails, nothing that a page asks for is refused, and what cannot be told says why on the page. Menu and addresses lead to pages of a plugin
 * exactly where what is tried has it. The service has a SIM. Gives the paths that were opened.
 */
export async function walkConsole(
  browser: Browser,
  service: Service,
  lacks: ReadonlySet<string>,
): Promise<readonly string[]> {
  const opened = await browser.open(service.url)
  const { page, problems } = opened
  await signInWithToken(page, service.adminToken)
  const traffic = watch(page)
  const menu = page.getByRole('navigation').getByRole('link')
  // Plugins with pages stand in the menu once it is known what the service has.
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await settle(opened)
  for (const [name, { entry }] of Object.entries(OF_PLUGINS))
    if (!lacks.has(name)) await menu.getByText(entry, { exact: true }).waitFor()
  for (const [name, { entry }] of Object.entries(OF_PLUGINS))
    assert.is(await menu.getByText(entry, { exact: true }).count(), lacks.has(name) ? 0 : 1, entry)
  const links = await menu.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
  const { body } = await service.request('GET', '/v1/sims?limit=1')
  const paths = [
    ...links.filter((path) => path !== '/' && !path.endsWith('docs')),
    ...['/sims/import', '/sims/foreign', '/plugins/sims', `/sims/${body.sims[0].imsi_sha256_12}`, '/'],
  ]
  for (const path of paths) await opensPage(opened, traffic, path)
  assert.equal([...traffic.refused], [])
  for (const [name, { path }] of Object.entries(OF_PLUGINS)) {
    if (!lacks.has(name)) continue
    await page.goto(service.url + path)
    await page.getByRole('heading', { level: 1, name: NOT_FOUND }).waitFor()
  }
  assert.equal([...traffic.refused], [])
  assert.equal(problems, [])
  await page.close()
  return paths
}

/** Goes to another page as its links do, and waits for all that is on it. */
async function opensPage(opened: OpenPage, traffic: Traffic, path: string): Promise<void> {
  const { page } = opened
  const before = await page.title()
  await goTo(page, path)
  await eventually(async () => assert.is.not(await page.title(), before, path))
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settle(opened)
  assert.is(await page.getByRole('heading', { level: 1 }).count(), 1, path)
  if (traffic.unavailable.length === 0) return
  await page.getByRole('main').getByRole('alert').first().waitFor()
  // It was asked for more than once until then.
  traffic.unavailable.splice(0)
}

async function settle({ page, isQuiet }: OpenPage): Promise<void> {
  // What was read may bring parts that ask for more.
  await eventually(async () => {
    await page.evaluate(IS_SHOWN)
    assert.ok(isQuiet())
    await page.evaluate(IS_SHOWN)
    assert.ok(isQuiet())
  })
}

function watch(page: Page): Traffic {
  const refused: string[] = []
  const unavailable: string[] = []
  page.on('response', (answer) => {
    // A core that is configured and has no driver here.
    const list = answer.status() === 503 ? unavailable : refused
    if (answer.status() >= 400) list.push(`${answer.status()} ${new URL(answer.url()).pathname}`)
  })
  return { refused, unavailable }
}
