import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible } from '../harness/console-page.ts'
import { makeVisits } from '../harness/console-visits.ts'
import { mint } from '../harness/credentials.ts'
import { type Service, startService } from '../harness/service.ts'

/** The console writes cards in a reader, which a stand-in for pySim-shell has. */
const LIMIT = { limitMs: 300_000 }
const cards = suite('e2e/console-cards', LIMIT)
const executable = findBrowser()

interface Reader {
  readonly program: string
  put(card: object | null): Promise<void>
  seen(): Promise<string>
}
// Of the tests of the package, which cannot be named as a module here.
const { standInReader, blankCard } = (await import(
  new URL('../../packages/card-writer/test/support/reader.ts', import.meta.url).href
)) as { standInReader(dir: string): Promise<Reader>; blankCard(number: number): object }

let folder: string
let reader: Reader
let service: Service
let browser: Browser | undefined

if (executable !== undefined) {
  cards.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'steeple-console-cards-'))
    reader = await standInReader(folder)
    const env = { SVC_HSS_DRIVER: 'none', SVC_CARD_WRITER_PROGRAM: reader.program }
    service = await startService({ dataDir: join(folder, 'data'), env })
    browser = await openBrowser(executable)
  })
  cards.after(async () => {
    await browser?.close()
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  about(['card-writer'], cards)(
    'writes the cards of a batch one after another, with the keys of one vendor’s file',
    async () => {
      const { body } = await service.request('POST', '/v1/sims', { body: { count: 2, label: 'quay' } })
      const list = async () =>
        (await service.request('GET', `/v1/cards?batch_id=${body.batch_id}`)).body.cards
      const first = (await list()).find(({ label }: { readonly label: string }) => label === 'quay 1')
      const file = join(folder, 'vendor.csv')
      writeFileSync(file, 'ICCID,ADM1\n8988211000000000020,12340020\n8988211000000000021,12340021\n')
      const token = (await mint(service, { name: 'writer', roles: ['sim:issuer'] })).token
      const visits = makeVisits(browser as Browser, service.url, async () => token)
      const { page } = await visits.enter('sim:issuer', `/sims/${first.imsi_sha256_12}`)
      await page.getByRole('button', { name: 'Write card' }).click()
      const dialog = page.getByRole('dialog', { name: 'Write card: quay 1' })
      await dialog.getByRole('button', { name: 'Read card' }).click()
      await dialog.getByText('There is no card in the reader.').waitFor()
      assert.is(
        await dialog.getByRole('button', { name: 'Download script' }).count(),
        0,
        'it may see no keys',
      )
      await reader.put(blankCard(20))
      await dialog.getByRole('button', { name: 'Read card' }).click()
      await dialog.getByText('sysmoISIM-SJA5, number ends in 0020.').waitFor()
      await dialog.locator('input[type=file]').setInputFiles(file)
      await eventually(async () =>
        assert.is(await dialog.getByLabel('ADM key of the card').inputValue(), '12340020'),
      )
      await isAccessible(page, 'writing a card')
      await dialog.getByRole('button', { name: 'Write', exact: true }).click()
      await dialog.getByText('The card is written and compared. Take it out.').waitFor()
      await reader.put(blankCard(21))
      await dialog.getByRole('button', { name: 'Next: quay 2' }).click()
      const next = page.getByRole('dialog', { name: 'Write card: quay 2' })
      await next.getByRole('button', { name: 'Read card' }).click()
      await next.getByText('number ends in 0021.').waitFor()
      assert.is(await next.getByLabel('ADM key of the card').inputValue(), '12340021')
      await next.getByRole('button', { name: 'Write', exact: true }).click()
      await next.getByText('The card is written and compared. Take it out.').waitFor()
      assert.is(await next.getByRole('button', { name: /^Next/ }).count(), 0)
      const written = (await list()).map(
        (card: { readonly label: string; readonly iccid_last4: string }) =>
          `${card.label} ${card.iccid_last4}`,
      )
      assert.equal(written.toSorted(), ['quay 1 0020', 'quay 2 0021'])
      await next.getByRole('button', { name: 'Close' }).last().click()
      await page.getByRole('button', { name: 'Write card' }).click()
      await page.getByText('This SIM is on the card with the number …0020').waitFor()
      await visits.leave(page)
      assert.not.match(await reader.seen(), /12340020|12340021/)
    },
    LIMIT,
  )
}

cards.run()
