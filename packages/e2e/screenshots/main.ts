// Takes a picture of each page of the console, on a phone and at a desk, by day and by night: docs/images/console.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { signInWithToken } from '../harness/console-page.ts'
import { type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

const FOLDER = join(ROOT, 'docs/images/console')
const PLACES = [
  { name: 'desk', width: 1_280, height: 900 },
  { name: 'phone', width: 360, height: 740 },
] as const
const PAGES = [
  'start sims sessions esim radio rules core mesh alerts audit system backup plugins settings people account',
].flatMap((names) => names.split(' '))
/** Quality of the pictures: what is smaller shows at letters. */
const QUALITY = 60
const SETTLED_MS = 700
const RADIO = `server: {country: DE}
ran:
  profiles:
    village: {technology: lte, channel: 1300, bandwidth_mhz: 10, eirp_dbm: 20}
    harbour: {technology: nr, channel: 630000, band: n78, bandwidth_mhz: 20}
`
const RULES = {
  spectrum: {
    allow_list: [{ technology: 'lte', band: 'b3', country: 'DE', earfcn_min: 1200, earfcn_max: 1500 }],
    license: { acknowledged: true, reference: 'L-2026-17', holder: 'Village network', expires_at: null },
  },
}

const executable = findBrowser()
if (executable === undefined) throw new Error('there is no Chromium on this machine')
await using temp = await tempDir()
const config = join(temp.path, 'control.yaml')
writeFileSync(config, RADIO)
const lab = await startLabCore(join(temp.path, 'lab'))
// Pictures name no folder of who took them.
const dbctl = join(temp.path, 'open5gs-dbctl')
symlinkSync(lab.env.SVC_HSS_DBCTL_PATH ?? '', dbctl)
const service = await startService({
  dataDir: join(temp.path, 'data'),
  flags: ['--config', config],
  env: {
    ...lab.env,
    SVC_HSS_DBCTL_PATH: dbctl,
    ...{ SVC_COLLECTOR_ENABLED: 'true', SVC_COLLECTOR_INTERVAL: '1s' },
    ...{ SVC_ALERTS_ENABLED: 'true', SVC_FAIRUSE_ENABLED: 'true' },
  },
})
const browser = await openBrowser(executable)
try {
  const subscriber = await settle(service, lab)
  const { page } = await browser.open(service.url)
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  await take(page, 'sign-in', 'Sign in')
  await page.reload()
  await signInWithToken(page, service.adminToken)
  const shown = [
    ['overview', '/'],
    ...PAGES.map((name) => [name, `/${name}`]),
    ['subscriber', `/sims/${subscriber}`],
  ]
  for (const [name = '', path = '/'] of shown) {
    await page.evaluate(
      `history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    await take(page, name)
  }
} finally {
  await browser.close()
  await service.stop()
  await lab.stop()
}

/** A network with cards, rules and a phone that is on; gives the hash of its subscriber. */
async function settle(of: Service, { env, urls }: LabProcess): Promise<string> {
  await of.request('PUT', '/v1/policy', { body: RULES })
  await of.request('POST', '/v1/sims', { body: { count: 12, label: 'Harbour' } })
  const { body } = await of.request('POST', '/v1/sims', { body: { label: 'School' } })
  const [sim] = body.sims
  await eventually(async () => {
    const { body: now } = await of.request('GET', `/v1/sims/${sim.imsi_sha256_12}`)
    if (now.provisioning.status !== 'synced') throw new Error('the core does not know the card yet')
  })
  const args = ['sim', 'export', sim.batch_id, '--data-dir', of.dataDir, '--format', 'json']
  const card = await runSvc(args, env)
  await labPhones(urls.control, 'POST', '/phones', card.stdout)
  await eventually(async () => {
    const { body: now } = await of.request('GET', '/v1/sessions')
    if (now.sessions.length === 0) throw new Error('nobody is on yet')
  })
  return sim.imsi_sha256_12
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
