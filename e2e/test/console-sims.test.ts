import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about, LACKS } from '../harness/builds/program.ts'
import { goTo, isAccessible } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import { mint } from '../harness/credentials.ts'
import { insertBatch, type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { type Service, startService } from '../harness/service.ts'

/** The console's pages of SIMs, a subscriber, eSIM and sessions, with a lab core behind them. */
const LIMIT = { limitMs: 600_000 }
const sims = suite('e2e/console-sims', LIMIT)
const executable = findBrowser()
/** By which it is known that a phone is online. */
const ONLINE = ['collectors', 'collector-mme', 'driver-hss']

let folder: string
let lab: LabProcess
let service: Service
let browser: Browser | undefined
let visits: Visits

if (executable !== undefined) {
  sims.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'steeple-console-sims-'))
    lab = await startLabCore(join(folder, 'lab-core'))
    service = await startService({
      dataDir: join(folder, 'data'),
      env: {
        ...lab.env,
        SVC_ESIM_ENABLED: 'true',
        SVC_ESIM_SMDP_ADDRESS: 'smdp.lab.example',
        SVC_FAIRUSE_ENABLED: 'true',
        SVC_COLLECTOR_ENABLED: 'true',
        SVC_COLLECTOR_INTERVAL: '1s',
      },
    })
    browser = await openBrowser(executable)
    visits = newVisits()
  })
  sims.after(async () => {
    await browser?.close()
    await service.stop()
    await lab.stop()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** A page for somebody with that role; nothing on it has gone wrong when `work` is done. */
async function as(
  role: string,
  path: string,
  work: (page: Page) => Promise<void>,
  of: Visits = visits,
): Promise<void> {
  const { page } = await of.enter(role, path)
  await work(page)
  await of.leave(page)
}

/** Visits of pages that nobody has been to. */
function newVisits(): Visits {
  if (browser === undefined) throw new Error('the browser was not started')
  return makeVisits(
    browser,
    service.url,
    async (role) => (await mint(service, { name: role, roles: [role] })).token,
  )
}

interface Issued {
  readonly batch: string
  readonly hashes: readonly string[]
}

async function issue(label: string, count: number): Promise<Issued> {
  const { status, body } = await service.request('POST', '/v1/sims', { body: { count, label } })
  assert.is(status, 201)
  return {
    batch: body.batch_id,
    hashes: body.sims.map(({ imsi_sha256_12: hash }: { readonly imsi_sha256_12: string }) => hash),
  }
}

/** In the page: the bars are in the colours that their key has now, and the picture is as wide as its place. */
const IS_DRAWN = `(() => {
  const canvas = document.querySelector('.plot canvas')
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  const isThere = (key) => {
    const [red, green, blue] = getComputedStyle(document.querySelector('.key.' + key)).backgroundColor.match(/[0-9]+/g).map(Number)
    for (let at = 0; at < pixels.length; at += 4)
      if (pixels[at] === red && pixels[at + 1] === green && pixels[at + 2] === blue && pixels[at + 3] === 255) return true
    return false
  }
  return isThere('down') && isThere('up') && canvas.clientWidth === document.querySelector('.plot').clientWidth
})()`

/** The files of the chart that the page has asked for. */
async function filesOfChart(page: Page): Promise<readonly string[]> {
  const asked = await page.evaluate<readonly string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name)`,
  )
  return asked.filter((name) => name.includes('usage-bars'))
}

async function stateOf(hash: string): Promise<string> {
  return (await service.request('GET', `/v1/sims/${hash}`)).body.state
}

/** Puts the cards of a batch into phones, once the core has heard of them. */
async function insert({ batch, hashes }: Issued): Promise<void> {
  await eventually(async () => {
    for (const hash of hashes) {
      const { body } = await service.request('GET', `/v1/sims/${hash}`)
      assert.is(body.provisioning.status, 'synced')
    }
  })
  await insertBatch(lab, service.dataDir, batch)
  await eventually(async () => {
    const phones = (await labPhones(lab.urls.control)).filter(({ phone }) => hashes.includes(phone))
    assert.ok(phones.every(({ ipv4 }) => ipv4 !== null))
  })
}

if (executable !== undefined) {
  sims(
    'issues cards, and finds them by label, id, card number and a whole number that gets into no address',
    async () => {
      await as('sim:issuer', '/sims', async (page) => {
        await page.getByText('No SIMs yet').waitFor()
        await isAccessible(page, 'no SIMs')
        await page.getByRole('button', { name: 'Issue SIMs' }).first().click()
        await page.getByLabel('Number of SIMs').fill('2')
        await page.getByLabel('Label', { exact: true }).fill('quay')
        const hasQuota = !LACKS.has('fair-use')
        if (hasQuota) {
          await page.getByText('More settings').click()
          assert.is(await page.getByLabel('Unit').inputValue(), 'GB')
          await page.getByLabel('Monthly quota').fill('5')
          await page.getByLabel('Unit').selectOption('MB')
        }
        await isAccessible(page, 'issuing')
        await page.getByRole('button', { name: 'Issue 2 SIMs' }).click()
        await page.getByText('2 SIMs are issued.').waitFor()
        await page.getByRole('button', { name: 'Show SIMs' }).click()
        await eventually(async () => assert.is(await page.getByRole('link', { name: 'quay' }).count(), 2))
        await issue('market', 1)
        const { body } = await service.request('GET', '/v1/sims?q=quay')
        const [one] = body.sims
        const usage = await service.request('GET', `/v1/sims/${one.imsi_sha256_12}/usage`)
        if (hasQuota) assert.is(usage.body.quota_bytes, 5_000_000)
        for (const words of ['qua', one.imsi_sha256_12, one.iccid_last4]) {
          await page.goto(`${service.url}/sims`)
          await page.getByLabel('Search').fill(words)
          await page.waitForURL((url) => url.searchParams.get('q') === words)
          await page.getByRole('link', { name: 'quay' }).first().waitFor()
          await eventually(async () => assert.is(await page.getByRole('link', { name: 'market' }).count(), 0))
        }
        await page.getByLabel('Search').fill('999990123456789')
        await page.getByText('No SIM matches').waitFor()
        assert.not.ok(page.url().includes('9999901'))
        await page.getByRole('button', { name: 'Clear filters' }).click()
        await page.getByRole('link', { name: 'market' }).waitFor()
        assert.is(await page.getByLabel('Search').inputValue(), '')
        await page.getByLabel('State').selectOption('suspended')
        await page.waitForURL(/state=suspended/)
        await page.getByText('No SIM matches').waitFor()
      })
    },
  )

  sims('says how many there are, sorts them on the service, and finds the way back to a list', async () => {
    await issue('aft', 1)
    await issue('zone', 1)
    const { body } = await service.request('GET', '/v1/sims')
    const names = (page: Page) => page.locator('tbody tr[data-place] td:nth-child(2)').allInnerTexts()
    await as('operator', '/sims', async (page) => {
      await page.getByText(`${body.total} SIMs`, { exact: true }).waitFor()
      const head = page.getByRole('columnheader', { name: 'Name' })
      // By label, until something else is chosen.
      await eventually(async () => assert.is((await names(page))[0], 'aft'))
      assert.is(await head.getAttribute('aria-sort'), 'ascending')
      await head.getByRole('button').click()
      await page.waitForURL(/sort=-label/)
      await eventually(async () => assert.is((await names(page))[0], 'zone'))
      assert.ok(await head.getByRole('button').evaluate((button) => button.matches(':focus')))
      await page.getByLabel('State').selectOption('revoked')
      await page.waitForURL(/state=revoked/)
      await page.goBack()
      await eventually(async () => assert.is((await names(page))[0], 'zone'))
      assert.is(await page.getByLabel('State').inputValue(), '')
      await page.getByRole('button', { name: 'Columns' }).click()
      await isAccessible(page, 'columns of SIMs')
      await page.getByLabel('Card number').uncheck()
      await page.keyboard.press('Escape')
      await page.reload()
      await page.getByRole('link', { name: 'zone' }).waitFor()
      assert.is(await page.getByRole('columnheader', { name: 'Card number' }).count(), 0)
      assert.is(await head.getAttribute('aria-sort'), 'descending')
      await page.getByLabel('Expires').selectOption('this-month')
      await page.getByText('No SIM matches').waitFor()
    })
  })

  sims('does the jobs of a day by single keys, never while somebody types, and tells them by ?', async () => {
    await as('sim:issuer', '/sims', async (page) => {
      await page.getByRole('heading', { name: 'SIMs', level: 1 }).waitFor()
      await page.keyboard.press('o')
      await page.waitForURL((url) => url.pathname === '/')
      await page.keyboard.press('?')
      const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
      await help.waitFor()
      await isAccessible(page, 'the shortcuts')
      // A dialog has the keys.
      await page.keyboard.press('s')
      assert.is(new URL(page.url()).pathname, '/')
      await page.keyboard.press('Escape')
      await help.waitFor({ state: 'detached' })
      await page.keyboard.press('/')
      await page.getByRole('combobox').waitFor()
      await page.keyboard.type('sao')
      assert.is(await page.getByRole('combobox').inputValue(), 'sao')
      // The first Escape empties a field of a search.
      await page.getByRole('combobox').fill('')
      await page.keyboard.press('Escape')
      await page.getByRole('combobox').waitFor({ state: 'detached' })
      await page.keyboard.press('n')
      const issuing = page.getByRole('dialog', { name: 'Issue SIMs' })
      await issuing.waitFor()
      await page.keyboard.press('Escape')
      await issuing.waitFor({ state: 'detached' })
      await page.keyboard.press('?')
      await help.getByLabel('Single keys are on').uncheck()
      await page.keyboard.press('Escape')
      await help.waitFor({ state: 'detached' })
      await page.keyboard.press('o')
      assert.is(new URL(page.url()).pathname, '/sims')
    })
  })

  about(ONLINE, sims)(
    'suspends a phone that is online, says how fast it was off, and undoes it',
    async () => {
      const issued = await issue('ferry', 1)
      const hash = issued.hashes[0] ?? ''
      await insert(issued)
      await as('operator', `/sims/${hash}`, async (page) => {
        await page.getByText('online').first().waitFor()
        await isAccessible(page, 'a subscriber')
        await page.getByRole('button', { name: 'Suspend' }).click()
        await page.getByText('ferry is suspended. It is blocked in the core. Its phone is off.').waitFor()
        assert.is(await stateOf(hash), 'suspended')
        await page.locator('.sentence').getByText('suspended by an operator').waitFor()
        await page.getByRole('button', { name: 'Resume', exact: true }).first().waitFor()
        assert.is(await page.getByText('svc sim').count(), 0, 'what to do is a button, and no command')
        await page.getByRole('button', { name: 'Undo' }).click()
        await eventually(async () => assert.is(await stateOf(hash), 'in-use'))
        await page.getByRole('button', { name: 'Suspend' }).waitFor()
        for (const name of ['Revoke', 'Label', 'Replace', 'Erase data'])
          assert.is(await page.getByRole('button', { name, exact: true }).count(), 0, name)
      })
    },
    LIMIT,
  )

  sims('changes many at once, says what became of each, and undoes it', async () => {
    const fleet = await issue('fleet', 3)
    const { hashes } = fleet
    await insert(fleet)
    for (const hash of hashes) await eventually(async () => assert.is(await stateOf(hash), 'in-use'))
    await service.request('POST', `/v1/sims/${hashes[0]}/revoke`)
    await as('operator', '/sims?q=fleet', async (page) => {
      await page.getByLabel('Select all', { exact: true }).check()
      await page.getByText('3 selected').waitFor()
      await page.getByRole('button', { name: 'Suspend' }).click()
      await page.getByRole('dialog', { name: 'Suspend 3 SIMs?' }).waitFor()
      await isAccessible(page, 'many at once')
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
      await page.getByText('2 changed, 0 unchanged, 1 failed.').waitFor()
      await page.getByText(/2 were online: all disconnected after [\d.]+ s\./).waitFor()
      await page.getByRole('dialog').getByRole('link', { name: 'fleet' }).first().waitFor()
      for (const hash of hashes.slice(1)) assert.is(await stateOf(hash), 'suspended')
      await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
      await page.getByText('2 SIMs are resumed.').waitFor()
      for (const hash of hashes.slice(1)) assert.is(await stateOf(hash), 'in-use')
    })
  })

  sims('looks through a file before it imports it, and gives the refused row back', async () => {
    const key = (): string => randomBytes(16).toString('hex')
    const csv = [
      'imsi,ki,opc,label',
      `999990000004711,${key()},${key()},pier 1`,
      `999990000004712,${key()},short,pier 2`,
      `999990000004713,${key()},${key()},pier 3`,
    ].join('\n')
    await as('sim:issuer', '/sims/import', async (page) => {
      await page.getByText('Paste rows instead').click()
      await page.getByLabel('Rows', { exact: true }).fill(csv)
      await page.getByRole('button', { name: 'Check file' }).click()
      await page.getByText('2 would be imported, 1 with an error').waitFor()
      assert.is((await service.request('GET', '/v1/sims?q=pier')).body.sims.length, 0)
      const first = page.getByRole('table', { name: 'First rows' })
      await first.getByRole('row', { name: /^2 .* pier 1$/ }).waitFor()
      await page.getByRole('row', { name: /^3 error/ }).waitFor()
      assert.is(
        await page
          .getByRole('row', { name: /^3 error/ })
          .getByRole('link')
          .count(),
        0,
      )
      await isAccessible(page, 'an import')
      await page.getByRole('button', { name: 'Import 2 rows' }).click()
      await page.getByText('2 imported, 1 with an error').waitFor()
      assert.is((await service.request('GET', '/v1/sims?q=pier')).body.sims.length, 2)
      await page.getByRole('button', { name: 'Import 2 rows' }).click()
      await page.getByText('2 already there, 1 with an error').waitFor()
    })
  })

  about(['fair-use'], sims)(
    'shows who uses most, in an order that stands in the address, and saves it',
    async () => {
      const up = (await issue('uploader', 1)).hashes[0] ?? ''
      const down = (await issue('downloader', 1)).hashes[0] ?? ''
      const amounts = [
        [up, 9_000_000, 1_000_000],
        [down, 2_000_000, 5_000_000],
      ] as const
      for (const [hash, up_bytes, down_bytes] of amounts) {
        const body = { report_id: 'most', source: 'meter', up_bytes, down_bytes }
        assert.is((await service.request('POST', `/v1/sims/${hash}/usage`, { body })).status, 200)
      }
      await as('viewer', '/', async (page) => {
        await page.getByRole('navigation').getByRole('link', { name: 'Usage', exact: true }).click()
        const table = page.getByRole('table', { name: 'Top SIMs' })
        const first = async (name: string): Promise<void> => {
          const links = table.getByRole('link', { name: /loader$/ })
          await eventually(async () => assert.is(await links.first().textContent(), name))
        }
        await first('uploader')
        await table.getByRole('button', { name: 'Received' }).click()
        await first('downloader')
        assert.match(page.url(), /\/usage\?sort=down$/)
        await page.getByLabel('Period').selectOption('7 days')
        assert.match(page.url(), /period=week/)
        await page.reload()
        await first('downloader')
        await page.locator('.plot canvas').waitFor()
        await page.getByText('Figures', { exact: true }).click()
        await isAccessible(page, 'usage')
        const saved = page.waitForEvent('download')
        await page.getByRole('button', { name: 'Save as CSV' }).click()
        const lines = (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n')
        assert.match(lines[0] ?? '', /^imsi_sha256_12,label,/)
        assert.ok(lines.includes(`${down},downloader,2000000,5000000,7000000`), lines.join('\n'))
        await table.getByRole('link', { name: 'downloader' }).click()
        await page.getByRole('heading', { level: 1, name: 'downloader' }).waitFor()
      })
    },
    LIMIT,
  )

  about(['fair-use'], sims)(
    'sets a quota, tops it up, and takes it away',
    async () => {
      const { hashes } = await issue('kiosk', 1)
      const hash = hashes[0] ?? ''
      const usage = { report_id: 'kiosk-1', source: 'meter', up_bytes: 4_000_000, down_bytes: 96_000_000 }
      await service.request('POST', `/v1/sims/${hash}/usage`, { body: usage })
      await as('operator', `/sims/${hash}`, async (page) => {
        await page.getByRole('button', { name: 'Set quota' }).click()
        await page.getByLabel('Amount').fill('2')
        await page.getByRole('button', { name: 'Save' }).click()
        await page.getByText('100 MB of 2 GB this month').waitFor()
        await page.getByRole('button', { name: 'Top up' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Top up' }).click()
        await page.getByText('100 MB of 3 GB this month').waitFor()
        await isAccessible(page, 'a quota')
        await page.getByRole('button', { name: 'Change quota' }).click()
        const [amount, unit] = [page.getByLabel('Amount'), page.getByLabel('Unit')]
        await amount.fill('5')
        await unit.selectOption('MB')
        await page.getByRole('button', { name: 'Save' }).click()
        await page.getByText('Before, it was 2 GB: 400 times as much. Go on?').waitFor()
        await page.getByRole('button', { name: 'Set 5 MB' }).click()
        await page.getByText('100 MB of 1 GB this month').waitFor()
        await page.getByRole('button', { name: 'Change quota' }).click()
        assert.equal([await amount.inputValue(), await unit.inputValue()], ['5', 'MB'])
        await page.getByRole('button', { name: 'Remove quota' }).click()
        await page.getByText('No quota.').waitFor()
        const { body } = await service.request('GET', `/v1/sims/${hash}/usage`)
        assert.is(body.quota_bytes, null)
      })
    },
    LIMIT,
  )

  about(['fair-use'], sims)(
    'draws what was used in the colours of the theme, says what is pointed at, and has it as figures',
    async () => {
      const { hashes } = await issue('chart', 2)
      const [hash = '', unused = ''] = hashes
      const usage = { report_id: 'chart-1', source: 'meter', up_bytes: 4_000_000, down_bytes: 96_000_000 }
      await service.request('POST', `/v1/sims/${hash}/usage`, { body: usage })
      const shown = async (page: Page): Promise<void> => {
        await page.getByRole('link', { name: 'chart' }).first().waitFor()
        assert.equal(await filesOfChart(page), [], 'the library is not loaded with other pages')
        await goTo(page, `/sims/${unused}`)
        await page.getByText('No usage was counted in this time').waitFor()
        await goTo(page, `/sims/${hash}`)
        const chart = page.getByRole('img', { name: '100 MB in total, 100 MB at most at one time' })
        const card = page.getByRole('region', { name: 'Usage' })
        await chart.waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          for (const width of [360, 1_280]) {
            await page.setViewportSize({ width, height: 900 })
            // Drawn with the next picture of the browser.
            await eventually(async () => assert.ok(await page.evaluate<boolean>(IS_DRAWN)))
          }
        }
        // Today is the last bar.
        const area = page.locator('.plot .u-over')
        const width = (await area.boundingBox())?.width ?? 0
        await area.hover({ position: { x: width - 4, y: 60 } })
        await card.getByText(/: 96 MB received, 4 MB sent$/).waitFor()
        await card.getByRole('heading').hover()
        await card.getByText('Choose a bar').waitFor()
        await card.getByLabel('Period').selectOption('day')
        await chart.waitFor()
        await card.getByText('Figures', { exact: true }).click()
        assert.equal(
          await card
            .getByRole('row')
            .allTextContents()
            .then(([, row]) => row?.slice(-9)),
          '96 MB4 MB',
        )
        await isAccessible(page, 'a chart')
      }
      // The library is loaded once a page.
      await as('operator', '/sims', shown, newVisits())
    },
    LIMIT,
  )

  about(['esim-smdp'], sims)(
    'issues an eSIM code, shows it to be scanned, prints it, and takes it back',
    async () => {
      await as('admin', '/esim?tab=certs', async (page) => {
        await page.getByText('No certificates yet').waitFor()
        await page.getByRole('button', { name: 'Create test issuer' }).click()
        await page.getByRole('button', { name: 'Create certificates' }).click()
        await page.getByText('identifies the box').first().waitFor()
        await isAccessible(page, 'certificates')
      })
      await as('sim:issuer', '/esim', async (page) => {
        await page.getByText('No eSIM codes yet').waitFor()
        assert.is(await page.getByRole('tab', { name: 'Certificates' }).count(), 0)
        await page.getByRole('button', { name: 'Issue codes' }).first().click()
        await page.getByLabel('Label', { exact: true }).fill('buoy')
        await page.getByLabel('Confirmation code').fill('4711')
        await page.getByRole('button', { name: 'Issue 1 code' }).click()
        await page.getByRole('img', { name: /^QR code of eSIM/ }).waitFor()
        const shown = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
        const { body } = await service.request('GET', '/v1/esim/codes')
        const qr = await service.request('GET', `/v1/esim/codes/${body.codes[0].token}/qr`, {
          headers: { accept: 'application/json' },
        })
        assert.ok(shown === qr.body.activation_code, 'what is shown is what the phone needs')
        await page.getByRole('button', { name: 'Print cards' }).click()
        await page.getByText('The phone asks for a confirmation code').waitFor()
        await page.getByRole('heading', { name: 'buoy' }).waitFor()
        await isAccessible(page, 'cards')
        await page.goto(`${service.url}/esim`)
        await page.getByRole('button', { name: /^Show the code/ }).click()
        await page.getByRole('img', { name: /^QR code of eSIM/ }).waitFor()
        await isAccessible(page, 'a code')
        await page.getByRole('button', { name: 'Revoke' }).click()
        await page.getByRole('button', { name: 'Revoke' }).click()
        await page.getByText('The code is revoked. Issue a new code.').waitFor()
        const after = await service.request('GET', `/v1/esim/codes/${body.codes[0].token}`)
        assert.is(after.body.state, 'revoked')
      })
    },
    LIMIT,
  )

  about(ONLINE, sims)(
    'shows a phone that comes on as it comes, with no reload, and lets a viewer look alone',
    async () => {
      const issued = await issue('tug', 1)
      const hash = issued.hashes[0] ?? ''
      await as('viewer', '/sessions?technology=lte', async (page) => {
        const row = page.getByRole('row').filter({ hasText: hash })
        await page.getByLabel('Network').waitFor()
        assert.is(await row.count(), 0)
        await page.evaluate('window.sameDocument = true')
        await insert(issued)
        await row.waitFor()
        await isAccessible(page, 'sessions')
        await labPhones(lab.urls.control, 'POST', `/phones/${hash}/detach`, '{}')
        await row.waitFor({ state: 'detached' })
        assert.ok(await page.evaluate('window.sameDocument'), 'it was never loaded anew')
        await page.goto(`${service.url}/sessions?state=ended`)
        await row.getByRole('link', { name: 'tug' }).click()
        await page.getByRole('heading', { name: 'tug' }).waitFor()
        await page.getByText('Why is this phone offline?').waitFor()
        for (const name of ['Suspend', 'Revoke', 'Label', 'Replace', 'Erase data', 'Set quota'])
          assert.is(await page.getByRole('button', { name, exact: true }).count(), 0, name)
        await page.goto(`${service.url}/sims`)
        await page.getByRole('link', { name: 'tug' }).waitFor()
        assert.is(await page.getByRole('checkbox').count(), 0)
        assert.is(await page.getByRole('button', { name: 'Issue SIMs' }).count(), 0)
      })
    },
    LIMIT,
  )
}

sims.run()
