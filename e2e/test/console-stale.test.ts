import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { applied, isAccessible, signInWithToken } from '../harness/console-page.ts'
import { addPerson } from '../harness/people.ts'
import { type Service, startService } from '../harness/service.ts'

/** A form that was opened before somebody else changed the same is told of it, and overwrites nothing. */
const LIMIT = { limitMs: 600_000 }
const stale = suite('e2e/console-stale', LIMIT)
const executable = findBrowser()

let temp: TempDir
let file: string
let service: Service
let browser: Browser

/** A tab for who may do all; a deaf one hears of no change, and so knows of one by the refusal alone. */
async function asAdmin(path: string, isDeaf = false): Promise<OpenPage> {
  const opened = await browser.open(`${service.url}/v1/healthz`)
  if (isDeaf) await opened.page.route('**/v1/events*', (route) => route.abort())
  await opened.page.goto(service.url + path)
  await signInWithToken(opened.page, service.adminToken)
  return opened
}

const policyNow = async () => (await service.request('GET', '/v1/policy')).body

/** A SIM of its own, by its hash. */
async function issued(label: string): Promise<string> {
  const { body } = await service.request('POST', '/v1/sims', { body: { label } })
  return body.sims[0].imsi_sha256_12
}

/** What a notice says of both values. */
const both = (page: Page, theirs: string, mine: string) =>
  page.getByText(`Theirs: ${theirs}`).filter({ hasText: `Yours: ${mine}` })

if (executable !== undefined) {
  stale.before(async () => {
    temp = await tempDir()
    file = join(temp.path, 'control.yaml')
    writeFileSync(file, '# Ours.\ntac: 7\n')
    service = await startService({
      flags: ['--config', file],
      env: { SVC_HSS_DRIVER: 'none' },
    })
    browser = await openBrowser(executable)
  })
  stale.after(async () => {
    await browser?.close()
    await service?.stop()
    await temp?.[Symbol.asyncDispose]()
  })

  stale('overwrites no access points that somebody else has set while others were typed', async () => {
    const { page, problems } = await asAdmin('/start')
    const step = page.getByRole('region', { name: '6. Internet access' })
    const names = step.getByLabel('APN names')
    await eventually(async () => assert.is.not(await names.inputValue(), ''))
    await names.fill('internet, mine')
    const body = { apns: ['internet', 'theirs'] }
    assert.is((await service.request('PUT', '/v1/policy', { body })).status, 200)
    await step.getByText('Theirs: internet, theirs').waitFor()
    assert.ok(await step.getByRole('button', { name: /^(Save|Show effect)$/ }).isDisabled())
    assert.is(await names.inputValue(), 'internet, mine')
    assert.equal((await policyNow()).apns, body.apns)
    await step.getByRole('button', { name: 'Keep my values' }).click()
    await applied(step)
    await page.getByText('Saved.').waitFor()
    assert.equal((await policyNow()).apns, ['internet', 'mine'])
    assert.equal(problems, [])
    await page.close()
  })

  stale('overwrites no roles that somebody else has given while others were chosen', async () => {
    const { id } = await addPerson(service, 'dora', ['viewer'])
    const rolesNow = async (): Promise<readonly string[]> => {
      const { users } = (await service.request('GET', '/v1/users?limit=500')).body
      return users.find((user: { readonly id: string }) => user.id === id).roles
    }
    const { page, problems } = await asAdmin(`/people/${id}`)
    await page.getByRole('button', { name: 'Change roles' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('SIM issuer').check()
    const body = { roles: ['operator'] }
    assert.is((await service.request('POST', `/v1/users/${id}/roles`, { body })).status, 200)
    await dialog.getByText('Somebody else changed the roles of dora in the meantime').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Change roles' }).isDisabled())
    assert.ok(await dialog.getByLabel('SIM issuer').isChecked())
    await dialog.getByRole('button', { name: 'Take their values' }).click()
    assert.ok(await dialog.getByLabel('operator', { exact: true }).isChecked())
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.ok((await rolesNow()).includes('operator'))
    assert.equal(problems, [])
    await page.close()
  })

  stale(
    'sets no country over that of another tab, nor over what was written into the file by hand',
    async () => {
      const [{ page, problems }, other] = [await asAdmin('/start', true), await asAdmin('/start')]
      const step = (tab: Page) => tab.getByRole('region', { name: '1. Country' })
      const choose = async (tab: Page, country: string): Promise<void> => {
        await step(tab)
          .getByText('It is a laboratory')
          .or(step(tab).getByText('The radio follows the rules'))
          .waitFor()
        await step(tab).getByLabel('Country of the box').selectOption(country)
      }
      const save = (tab: Page) => step(tab).getByRole('button', { name: 'Save' })
      await choose(page, 'FR')
      await choose(other.page, 'DE')
      await save(other.page).click()
      await step(other.page).getByText('The radio follows the rules of Germany').waitFor()
      await save(page).click()
      await both(page, 'Germany', 'France').waitFor()
      assert.match(readFileSync(file, 'utf8'), 'country: DE')
      assert.ok(await save(page).isDisabled())
      await step(page).getByRole('button', { name: 'Keep my values' }).click()
      writeFileSync(file, readFileSync(file, 'utf8').replace('tac: 7', 'tac: 9'))
      await save(page).click()
      await step(page).getByText('somebody else has changed the configuration file meanwhile').waitFor()
      assert.match(readFileSync(file, 'utf8'), 'country: DE')
      await save(page).click()
      await page.getByText('Saved and in force.').waitFor()
      assert.is(readFileSync(file, 'utf8'), '# Ours.\ntac: 9\nserver:\n  country: FR\n')
      // Who has typed nothing just follows.
      await step(other.page).getByText('The radio follows the rules of France').waitFor()
      assert.equal([problems, other.problems], [[], []])
      await page.close()
      await other.page.close()
    },
  )

  stale(
    'gives no SIM a label over that of another tab, and takes back none that was changed since',
    async () => {
      const hash = await issued('harbour')
      const labelNow = async () => (await service.request('GET', `/v1/sims/${hash}`)).body.label
      const [{ page, problems }, other] = [await asAdmin(`/sims/${hash}`), await asAdmin(`/sims/${hash}`)]
      const dialog = page.getByRole('dialog')
      const label = async (tab: Page, text: string): Promise<void> => {
        await tab.getByRole('button', { name: 'Label', exact: true }).click()
        await tab.getByRole('dialog').getByRole('textbox', { name: 'Label' }).fill(text)
      }
      const save = (tab: Page) => tab.getByRole('dialog').getByRole('button', { name: 'Save label' })
      await label(page, 'mine')
      await label(other.page, 'theirs')
      await save(other.page).click()
      await other.page.getByText('The label is changed.').waitFor()
      await both(page, 'theirs', 'mine').waitFor()
      await isAccessible(page, 'a label that somebody else has changed')
      assert.ok(await save(page).isDisabled())
      assert.is(await labelNow(), 'theirs')
      await dialog.getByRole('button', { name: 'Keep my values' }).click()
      await save(page).click()
      await dialog.waitFor({ state: 'detached' })
      assert.is(await labelNow(), 'mine')
      await other.page.getByRole('button', { name: 'Undo' }).click()
      await other.page.getByText(`somebody else has changed the SIM ${hash} meanwhile`).waitFor()
      assert.is(await labelNow(), 'mine')
      assert.equal([problems, other.problems], [[], []])
      await page.close()
      await other.page.close()
    },
  )

  about(['fair-use'], stale)(
    'sets no quota over that of another tab, and tops none up twice unseen',
    async () => {
      const hash = await issued('kiosk')
      const usageNow = async () => (await service.request('GET', `/v1/sims/${hash}/usage`)).body
      const set = async (body: object): Promise<void> => {
        assert.is((await service.request('POST', `/v1/sims/${hash}/quota`, { body })).status, 200)
      }
      const { page, problems } = await asAdmin(`/sims/${hash}`, true)
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Set quota' }).click()
      await dialog.getByLabel('Amount').fill('2')
      await set({ quota_bytes: 5_000_000_000, period: 'day', action: 'alert' })
      await dialog.getByRole('button', { name: 'Save' }).click()
      await both(
        page,
        '5 GB, each day. It is only reported when it is used up.',
        '2 GB, each month. The SIM is suspended when it is used up.',
      ).waitFor()
      assert.is((await usageNow()).quota_bytes, 5_000_000_000)
      await dialog.getByRole('button', { name: 'Take their values' }).click()
      assert.is(await dialog.getByLabel('Amount').inputValue(), '5')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Top up' }).click()
      await set({ add_bytes: 1_000_000_000 })
      await dialog.getByRole('button', { name: 'Top up' }).click()
      await dialog.getByText('Theirs: 5 GB + 1 GB').waitFor()
      assert.is((await usageNow()).added_bytes, 1_000_000_000)
      await dialog.getByRole('button', { name: 'Keep my values' }).click()
      await dialog.getByRole('button', { name: 'Top up' }).click()
      await dialog.waitFor({ state: 'detached' })
      const { quota_bytes, added_bytes, period } = await usageNow()
      assert.equal([quota_bytes, added_bytes, period], [5_000_000_000, 2_000_000_000, 'day'])
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )
}

stale.run()
