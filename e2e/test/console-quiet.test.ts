import { assert, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { importSims, simsCsv } from '../bench/store-of-sims.ts'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { signInWithToken, withoutTime } from '../harness/console-page.ts'
import { type Service, startService } from '../harness/service.ts'

/** How little a console asks for and draws: what `bench -- console` measures, as counts that no machine's speed changes. */
const quiet = suite('e2e/console-quiet', { limitMs: 600_000 })
const executable = findBrowser()
const SIMS = 1_200
/** Rows in the document, however many there are: what can be seen and some to either side. */
const MOST_ROWS = 150
/** What tells of a SIM; and what is asked for as time goes by, which may fall together with that. */
const CHANGED = ['/v1/sims', '/v1/audit']
const BY_TIME = ['/v1/status', '/v1/sessions', '/v1/usage', '/v1/peers', '/v1/tx/arm', '/v1/incidents']
/** Of the page's clock; below the 45 s after which a stream without a sign of life is opened anew. */
const IDLE_S = 40
const MOST_MEANWHILE = 12
/** Four times as long as it takes a page to look again at settings that somebody is awaited to write. */
const AWAITED_S = 12
/** Of the first screen: what is sent, compressed, and what a processor works for it, so that one of a quarter of the speed takes a second. */
const [MOST_BYTES, MOST_BUSY_S] = [150_000, 0.25]
/** Looks in a row between which nothing was asked for. */
const QUIET_LOOKS = 60

let service: Service
let browser: Browser

/** What a page asks the API for from now on, by path. */
function asked(page: Page): string[] {
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))
  return paths
}

/** Resolves when what a page asks for first has been asked for. */
async function isQuiet(paths: readonly string[]): Promise<void> {
  let before = 0
  let looks = 0
  await eventually(() => {
    looks = paths.length === before ? looks + 1 : 0
    before = paths.length
    assert.ok(before > 0 && looks > QUIET_LOOKS)
  })
}

if (executable !== undefined) {
  quiet.before(async () => {
    service = await startService({ env: { SVC_HSS_DRIVER: 'none' } })
    await importSims(service, simsCsv(0, SIMS, []), SIMS)
    browser = await openBrowser(executable)
  })
  quiet.after(async () => {
    await browser.close()
    await service.stop()
  })

  quiet('asks for what has changed alone after a change, and for little while nothing happens', async () => {
    const { page } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    await page.locator('.sentence').first().waitFor()
    const paths = asked(page)
    await withoutTime(page, async () => {
      await page.locator('.sentence').first().waitFor()
      // What plugins show comes with their modules, a little later.
      await isQuiet(paths)
    })
    paths.length = 0
    const { body } = await service.request('GET', '/v1/sims?limit=1')
    const sim = `/v1/sims/${body.sims[0].imsi_sha256_12}`
    assert.is((await service.request('POST', `${sim}/suspend`, { body: {} })).status, 200)
    await page.getByText('A SIM was suspended').waitFor()
    await page.clock.runFor(1_000)
    await eventually(() => assert.ok(paths.includes('/v1/sims') && paths.includes('/v1/audit')))
    // Its label is not in the event.
    const others = paths.filter((one) => ![...CHANGED, ...BY_TIME, sim].includes(one))
    assert.equal(others, [])
    await isQuiet(paths)
    paths.length = 0
    for (let second = 0; second < IDLE_S; second++) await page.clock.runFor(1_000)
    assert.ok(paths.includes('/v1/status'), paths.join(' '))
    assert.ok(paths.length <= MOST_MEANWHILE, `${paths.length} requests: ${paths.join(' ')}`)
    await page.close()
  })

  quiet('needs little for the first screen, of the network and of the processor', async () => {
    const { page } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    const protocol = await page.context().newCDPSession(page)
    await protocol.send('Network.enable')
    await protocol.send('Network.setCacheDisabled', { cacheDisabled: true })
    await protocol.send('Performance.enable', { timeDomain: 'threadTicks' })
    let bytes = 0
    protocol.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    const busy = async (): Promise<number> => {
      const { metrics } = await protocol.send('Performance.getMetrics')
      return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
    }
    const before = await busy()
    const paths = asked(page)
    await page.reload()
    await page.locator('.sentence').first().waitFor()
    const took = (await busy()) - before
    await isQuiet(paths)
    assert.ok(bytes > 10_000 && bytes <= MOST_BYTES, `${bytes} bytes`)
    assert.ok(took > 0 && took <= MOST_BUSY_S, `${took} s`)
    await page.close()
  })

  quiet('is sent no list again that has not changed', async () => {
    const { page } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    await page.goto(`${service.url}/sessions`)
    const heading = page.getByRole('heading', { level: 1 })
    const paths = asked(page)
    const { moment } = await withoutTime(page, () => heading.waitFor())
    await isQuiet(paths)
    const statuses: number[] = []
    page.on('response', (response) => {
      if (new URL(response.url()).pathname === '/v1/sessions') statuses.push(response.status())
    })
    for (let second = 0; second < IDLE_S; second++) await moment()
    await eventually(() => assert.ok(statuses.length >= 3))
    assert.equal([...new Set(statuses)], [304])
    await page.close()
  })

  quiet('asks for no settings again where nobody is awaited to write them', async () => {
    const { page } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    await page.goto(`${service.url}/start`)
    const paths = asked(page)
    const { moment } = await withoutTime(page, () => page.getByText('999-').first().waitFor())
    await isQuiet(paths)
    // What panels ask for first, they ask once the clock of the page has moved.
    await moment()
    await isQuiet(paths)
    assert.ok(paths.includes('/v1/settings'))
    paths.length = 0
    for (let second = 0; second < AWAITED_S; second++) await moment()
    await eventually(() => assert.ok(paths.length > 0))
    assert.not.ok(paths.includes('/v1/settings'), paths.join(' '))
    await page.close()
  })

  quiet('draws what can be seen of a list alone', async () => {
    const { page } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    await page.goto(`${service.url}/sims`)
    const rows = page.locator('tr[data-place]')
    await rows.first().waitFor()
    await eventually(async () => {
      await page.evaluate(`document.querySelector('.table-frame').scrollTop = 1e9`)
      assert.ok((await rows.count()) <= MOST_ROWS, `${await rows.count()} rows are drawn`)
      assert.is(await page.locator(`tr[data-place="${SIMS - 1}"]`).count(), 1)
    })
    assert.ok((await rows.count()) <= MOST_ROWS)
    await page.close()
  })
}

quiet.run()
