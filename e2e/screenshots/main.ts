// Takes a picture of each page of the console, on a phone and at a desk, by day and by night: docs/images/console.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { goTo, signInWithToken } from '../harness/console-page.ts'
import { consoleWorld } from '../harness/console-world.ts'
import { ROOT } from '../harness/launch.ts'
import { addPerson } from '../harness/people.ts'

const FOLDER = join(ROOT, 'docs/images/console')
const PLACES = [
  { name: 'desk', width: 1_280, height: 900 },
  { name: 'phone', width: 360, height: 740 },
] as const
const PAGES = [
  'start sims sessions usage esim radio rules core mesh alerts audit system backup plugins settings people account',
].flatMap((names) => names.split(' '))
/** Quality of the pictures: what is smaller shows at letters. */
const QUALITY = 60
const SETTLED_MS = 700
const DAY_MS = 86_400_000
/** So long ago may be reported. */
const USED_DAYS = 24
const executable = findBrowser()
if (executable === undefined) throw new Error('there is no Chromium on this machine')
await using temp = await tempDir()
const { service, subscriber, close } = await consoleWorld(temp.path)
const { id: person } = await addPerson(service, 'ada', ['operator'])
await useSome()
const browser = await openBrowser(executable)
try {
  const { page } = await browser.open(service.url)
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  await take(page, 'sign-in', 'Sign in')
  // Where Sign out can be seen.
  await page.setViewportSize(PLACES[0])
  await page.reload()
  await signInWithToken(page, service.adminToken)
  const shown = [
    ['overview', '/'],
    ...PAGES.map((name) => [name, `/${name}`]),
    ['import', '/sims/import'],
    ['subscriber', `/sims/${subscriber}`],
    ['plugin', '/plugins/alerts'],
    ['person', `/people/${person}`],
  ]
  for (const [name = '', path = '/'] of shown) {
    await goTo(page, path)
    await take(page, name)
  }
} finally {
  await browser.close()
  await close()
}

/** What the subscriber has used in the last weeks, so that there is something to draw. */
async function useSome(): Promise<void> {
  for (let day = 0; day < USED_DAYS; day += 1) {
    const report = {
      ...{ report_id: `day-${day}`, source: 'meter', at: new Date(Date.now() - day * DAY_MS).toISOString() },
      ...{ down_bytes: (((day * 7) % 11) + 2) * 31_000_000, up_bytes: (((day * 5) % 4) + 1) * 9_000_000 },
    }
    const { status } = await service.request('POST', `/v1/sims/${subscriber}/usage`, { body: report })
    if (status !== 200) throw new Error(`usage: ${status}`)
  }
}

/** Pictures of what is shown now, once it is drawn. */
async function take(page: Page, name: string, heading?: string): Promise<void> {
  const protocol = await page.context().newCDPSession(page)
  for (const { name: place, width, height } of PLACES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page
        .getByRole('heading', { level: 1, ...(heading === undefined ? {} : { name: heading }) })
        .waitFor()
      // What a page reads when it comes into view is there by then: the service is on this machine.
      await page.waitForTimeout(SETTLED_MS)
      const { data } = await protocol.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
      writeFileSync(join(FOLDER, `${name}-${place}-${colorScheme}.webp`), Buffer.from(data, 'base64'))
    }
  }
  await protocol.detach()
}
