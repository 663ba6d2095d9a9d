// Takes a picture of each page of the console, on a phone and at a desk, by day and by night: docs/images/console.
import { mkdirSync, rmSync } from 'node:fs'
import { tempDir } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { goTo, signInWithToken } from '../harness/console-page.ts'
import { consoleWorld } from '../harness/console-world.ts'
import { addPerson } from '../harness/people.ts'
import { FOLDER, PLACES, take } from './take.ts'

const PAGES = [
  'start sims sessions usage esim radio rules core mesh alerts audit system backup plugins settings people account',
].flatMap((names) => names.split(' '))
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
  await take(page, 'sign-in', { heading: 'Sign in' })
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
