import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { decrypt, generateKey, readKey, readMessage, readPrivateKey } from 'openpgp'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import { type Es2Provider, startEs2Provider } from '../harness/es2-provider.ts'
import { expect } from '../harness/esim.ts'
import { type Service, startService } from '../harness/service.ts'

/** Accredited providers in the console: set up, an order file, its codes by file and by ES2+, a password, gone. */
const providers = suite('e2e/console-providers')
const LIMIT = { limitMs: 600_000 }
const executable = findBrowser()
const folder = mkdtempSync(join(tmpdir(), 'steeple-console-providers-'))

let provider: Es2Provider
let keys: { readonly publicKey: string; readonly privateKey: string }
let service: Service
let browser: Browser
let visits: Visits
let batch: string
/** Of the batch, as the order file names them. */
let iccids: readonly string[] = []

if (executable !== undefined) {
  providers.before(async () => {
    provider = await startEs2Provider()
    const made = await generateKey({ userIDs: [{ name: 'Harbour' }], type: 'ecc', date: new Date(0) })
    keys = { publicKey: made.publicKey, privateKey: made.privateKey }
    writeFileSync(join(folder, 'harbour.asc'), keys.publicKey)
    service = await startService({ env: { SVC_HSS_DRIVER: 'none' }, dataDir: join(folder, 'data') })
    batch = expect(
      await service.request('POST', '/v1/sims', { body: { count: 2, label: 'crew' } }),
      201,
    ).batch_id
    browser = await openBrowser(executable)
    visits = makeVisits(browser, service.url, () => service.adminToken)
  }, LIMIT)
  providers.after(async () => {
    await browser?.close()
    await service?.stop()
    await provider?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, LIMIT)

  about(['esim-smdp'], providers)(
    'adds a provider with its keys, and shows the fingerprint that people compare',
    async () => {
      const { page, problems } = await visits.enter('admin', '/esim?tab=providers')
      await page.getByText('No providers yet').waitFor()
      await page.getByRole('button', { name: 'Add provider' }).click()
      const dialog = page.getByRole('dialog')
      for (const [label, value] of [
        ['Short name', 'harbour'],
        ['Name', 'Harbour eSIM'],
        ['Profile at the provider', 'village'],
        ['Address of ES2+', provider.url],
        ['Your name at the provider (functionRequesterIdentifier)', '2.999.7'],
        ['Subject of its client certificate', 'CN=es2.harbour'],
      ] as const)
        await dialog.getByLabel(label, { exact: true }).fill(value)
      const { ca, cert, key } = provider.files
      for (const [label, file] of [
        ['OpenPGP key of the provider', join(folder, 'harbour.asc')],
        ['Authorities of its server (PEM)', ca],
        ['Your client certificate (PEM)', cert],
        ['Private key of that certificate (PEM)', key],
      ] as const)
        await dialog.getByLabel(label, { exact: true }).setInputFiles(file)
      await isAccessible(page, 'the form of a provider')
      await dialog.getByRole('button', { name: 'Save' }).click()
      const row = page.getByRole('row', { name: /Harbour eSIM/ })
      await row.waitFor()
      const print = (await readKey({ armoredKey: keys.publicKey })).getFingerprint()
      const shown = ((await row.textContent()) ?? '').replaceAll(/\s/g, '').toLowerCase()
      assert.ok(shown.includes(print), `${shown} has ${print}`)
      const { body } = await service.request('GET', '/v1/esim/providers/harbour')
      assert.equal([body.requester, body.notify_subject, body.has_ca], ['2.999.7', 'CN=es2.harbour', true])
      // What is left empty in the form stays as it is.
      await page.getByRole('button', { name: 'Change Harbour eSIM' }).click()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      const again = (await service.request('GET', '/v1/esim/providers/harbour')).body
      assert.equal({ ...again, changed_at: '' }, { ...body, changed_at: '' })
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['esim-smdp'], providers)(
    'saves an order file that the provider alone reads',
    async () => {
      const { page } = await visits.enter('sim:admin', '/esim?tab=providers')
      assert.is(await page.getByRole('button', { name: 'Add provider' }).count(), 0)
      await page.getByRole('button', { name: 'Order file for Harbour eSIM' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').fill(batch)
      const saving = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'Order file' }).click()
      const file = join(folder, 'order.asc')
      await (await saving).saveAs(file)
      await page.getByText('Order file with 2 SIMs.').waitFor()
      const { data } = await decrypt({
        message: await readMessage({ armoredMessage: readFileSync(file, 'utf8') }),
        decryptionKeys: await readPrivateKey({ armoredKey: keys.privateKey }),
      })
      const [, ...lines] = String(data).trimEnd().split(/\r?\n/)
      iccids = lines.map((line) => line.split(',')[0] ?? '')
      assert.is(iccids.length, 2)
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['esim-smdp'], providers)(
    'orders by ES2+, says what was refused, and imports what comes back',
    async () => {
      const [first = '', second = ''] = iccids
      provider.profiles.set(first, 'available')
      const { page } = await visits.enter('sim:admin', '/esim?tab=providers')
      await page.getByRole('button', { name: 'Order codes from Harbour eSIM' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').fill(batch)
      await dialog.getByRole('button', { name: 'Order codes' }).click()
      await page.getByText('1 code ordered, 1 refused, 0 left').waitFor()
      await page.getByText(/the provider does not know this ICCID/).waitFor()
      const csv = join(folder, 'codes.csv')
      writeFileSync(
        csv,
        `ICCID,LPA\n${second},LPA:1$rsp.provider.example$BY-FILE-2\n8.9E+18,LPA:1$x.example$A\n`,
      )
      await page.getByRole('button', { name: 'Import codes of Harbour eSIM' }).click()
      await dialog.getByLabel('File', { exact: true }).setInputFiles(csv)
      await dialog.getByRole('button', { name: 'Import codes' }).click()
      await dialog.getByText('1 imported, 0 replaced, 0 known, 1 refused').waitFor()
      await dialog.getByText(/shortened by a spreadsheet/).waitFor()
      await isAccessible(page, 'what an import refused')
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      const { codes } = (await service.request('GET', `/v1/esim/codes?batch_id=${batch}`)).body
      assert.equal(
        codes.map(({ state, provider: of }: { readonly state: string; readonly provider: string }) => [
          state,
          of,
        ]),
        [
          ['released', 'harbour'],
          ['released', 'harbour'],
        ],
      )
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['esim-smdp'], providers)(
    'shows the password of its notifications once, and keeps a provider whose codes can be used',
    async () => {
      const { page } = await visits.enter('admin', '/esim?tab=providers')
      await page.getByRole('button', { name: 'Password for notifications of Harbour eSIM' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Password', exact: true }).click()
      await dialog.getByText('The password is shown once.').waitFor()
      const password = await dialog.locator('code').textContent()
      const told = await service.request('POST', '/gsma/rsp2/es2plus/handleDownloadProgressInfo', {
        body: {
          ...{ iccid: iccids[0], notificationPointId: 3 },
          notificationPointStatus: { status: 'Executed-Success' },
        },
        headers: { authorization: `Basic ${Buffer.from(`harbour:${password}`).toString('base64')}` },
      })
      assert.is(told.status, 204)
      await dialog.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Remove Harbour eSIM' }).click()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await dialog.getByText(/codes of the provider harbour can still be used/).waitFor()
      await visits.leave(page)
    },
    LIMIT,
  )
}

providers.run()
