// Takes pictures of the Overview in each outage, made for real, beside those of main.ts.
import { enterOwnMachine, eventually, tempDir } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { signInWithToken } from '../harness/console-page.ts'
import { outageWorld } from '../harness/outages.ts'
import { done } from '../harness/service.ts'
import { take } from './take.ts'

enterOwnMachine(import.meta.filename)

const executable = findBrowser()
if (executable === undefined) throw new Error('there is no Chromium on this machine')
await using temp = await tempDir()
const world = await outageWorld(temp.path)
const browser = await openBrowser(executable)
const { service } = world.box

try {
  const { page } = await browser.open(service.url)
  await signInWithToken(page, service.adminToken)
  for (const [kind, outage] of Object.entries(world.outages)) {
    await outage.cause()
    // What follows from it may be seen before it.
    await eventually(
      async () => (await kinds()) === kind && (await page.locator('.incidents > li').count()) === 1,
    )
    await take(page, `outage-${kind.replace('_', '-')}`, { looks: ['desk-light', 'phone-dark'] })
    await outage.mend()
    await eventually(async () => (await kinds()) === '')
  }
} finally {
  await browser.close()
  await world.close()
}

async function kinds(): Promise<string> {
  const { incidents } = await done(service, 'GET', '/v1/health')
  return incidents.map(({ kind }: { readonly kind: string }) => kind).join()
}
