import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { isAccessible, signInAs } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import { addPerson, post } from '../harness/people.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'
import { shiftedClock } from '../harness/shifted-clock.ts'
import { startWebhookReceiver, type Treatment, type WebhookReceiver } from '../harness/webhook-receiver.ts'

/** Two people at once, and what is done now and then: the life of a SIM, ways in, certificates, secrets, the clock. */
const care = suite('e2e/console-care', { limitMs: 600_000 })
const TWO_DAYS_MS = 2 * 86_400_000
const SECRET = 'k7-of-the-lantern'
const executable = findBrowser()

let folder: string
let service: Service
let hooks: WebhookReceiver
let treatment: Treatment = 'fail'
let browser: Browser
let visits: Visits
let clock: ReturnType<typeof shiftedClock>

/** Configuration of the box; JSON is YAML. */
function configOf(url: string): string {
  const rule = { name: 'running', metric: 'process_start_time_seconds', op: '>', threshold: 0, for: '0s' }
  const webhook = { name: 'ops', url, secret_file: join(folder, 'ops.secret'), allow_private: true }
  const alerts = {
    enabled: true,
    interval: '1s',
    rules: [{ ...rule, severity: 'critical' }],
    webhooks: [webhook],
  }
  return JSON.stringify({ alerts, esim: { enabled: true, smdp_address: 'smdp.lab.example' } })
}

if (executable !== undefined) {
  care.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'steeple-care-'))
    clock = shiftedClock(folder)
    hooks = await startWebhookReceiver(join(folder, 'ops.secret'), () => treatment)
    const config = join(folder, 'control.yaml')
    writeFileSync(config, configOf(hooks.url))
    service = await startService({
      flags: ['--config', config],
      env: { SVC_HSS_DRIVER: 'none', SVC_FAIRUSE_ENABLED: 'true' },
      nodeFlags: clock.nodeFlags,
    })
    browser = await openBrowser(executable)
    visits = makeVisits(browser, service.url, () => service.adminToken)
  })
  care.after(async () => {
    await browser?.close()
    await service?.stop()
    await hooks?.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** A page for who may do all. */
async function asAdmin(path: string, work: (page: Page) => Promise<void>): Promise<void> {
  const { page } = await visits.enter('admin', path)
  await work(page)
  await visits.leave(page)
}

/** Nothing was complained of, nobody else was asked. */
async function isWell({ page, problems, hosts }: OpenPage): Promise<void> {
  assert.equal(problems, [])
  assert.equal([...hosts], [new URL(service.url).host])
  await page.close()
}

async function issue(label: string): Promise<string> {
  const { status, body } = await service.request('POST', '/v1/sims', { body: { label } })
  assert.is(status, 201)
  return body.sims[0].imsi_sha256_12
}

const simOf = async (hash: string) => (await service.request('GET', `/v1/sims/${hash}`)).body

/** Presses a button, and the one of the dialog that it opens. */
async function confirmed(page: Page, name: string, last = name): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: last, exact: true }).click()
}

if (executable !== undefined) {
  care(
    'shows two people who are at it at once what the other has done, and loses nothing of either',
    async () => {
      const hash = await issue('ferry')
      const people = await Promise.all(
        ['ada', 'ben'].map(async (name) => {
          const opened = await browser.open(`${service.url}/sims/${hash}`)
          await signInAs(opened.page, await addPerson(service, name, ['operator']))
          await opened.page.getByRole('heading', { name: 'ferry' }).waitFor()
          await opened.page.evaluate('window.sameDocument = true')
          return opened
        }),
      )
      const [ada, ben] = people.map(({ page }) => page)
      if (ada === undefined || ben === undefined) throw new Error('two have come')
      await ben.getByRole('button', { name: 'Suspend' }).click()
      await ada.locator('.sentence').getByText('suspended by an operator').waitFor()
      await ada.getByRole('button', { name: 'Resume' }).click()
      await ben.getByRole('button', { name: 'Suspend' }).waitFor()
      assert.is((await simOf(hash)).state, 'issued')
      for (const page of [ada, ben])
        await page.getByRole('navigation').getByRole('link', { name: 'Rules' }).click()
      await ada.getByLabel('Keep audit trail, days').fill('500')
      await ben.getByLabel('Profiles armed per hour').fill('70')
      await ben.getByRole('button', { name: 'Save rules' }).click()
      // Another rule than she types: it comes by itself.
      await eventually(async () =>
        assert.is(await ada.getByLabel('Profiles armed per hour').inputValue(), '70'),
      )
      assert.is(await ada.getByLabel('Keep audit trail, days').inputValue(), '500')
      await ada.getByRole('button', { name: 'Save rules' }).click()
      await ada.getByText('The rules are saved as revision').waitFor()
      const { body } = await service.request('GET', '/v1/policy')
      assert.equal([body.retention_days.audit, body.rate_limits.tx_arm_per_hour], [500, 70])
      // Ben has nothing in his form that is not kept: it follows.
      await eventually(async () =>
        assert.is(await ben.getByLabel('Keep audit trail, days').inputValue(), '500'),
      )
      for (const page of [ada, ben]) assert.ok(await page.evaluate('window.sameDocument'))
      for (const opened of people) {
        await opened.page.context().clearCookies()
        await isWell(opened)
      }
    },
  )

  care(
    'leads a SIM through its life: a label, suspended, resumed, over its quota, replaced, revoked, forgotten',
    async () => {
      const hash = await issue('kiosk')
      await asAdmin(`/sims/${hash}`, async (page) => {
        await page.getByRole('button', { name: 'Label', exact: true }).click()
        await page.getByRole('dialog').getByLabel('Label').fill('kiosk at the quay')
        await page.getByRole('dialog').getByRole('button', { name: 'Save label' }).click()
        await page.getByRole('heading', { name: 'kiosk at the quay' }).waitFor()
        await page.getByRole('button', { name: 'Suspend' }).click()
        await page.getByRole('button', { name: 'Resume' }).click()
        await page.getByText('kiosk at the quay is resumed. Its phone may use the network again.').waitFor()
        await service.request('POST', `/v1/sims/${hash}/quota`, {
          body: { quota_bytes: 1_000, action: 'suspend' },
        })
        const usage = { report_id: 'kiosk', source: 'meter', up_bytes: 0, down_bytes: 5_000 }
        await service.request('POST', `/v1/sims/${hash}/usage`, { body: usage })
        await page.getByRole('button', { name: 'Resume' }).click()
        await page.getByRole('dialog').getByText('Its quota is used up.').waitFor()
        await isAccessible(page, 'a SIM over its quota')
        await page.getByRole('dialog').getByRole('button', { name: 'Resume anyway' }).click()
        await page.getByRole('button', { name: 'Suspend' }).waitFor()
        assert.is((await simOf(hash)).state, 'issued')
        await confirmed(page, 'Replace')
        await page.getByText('This is the new SIM. The old SIM is revoked.').waitFor()
        assert.is((await simOf(hash)).state, 'revoked')
        const next = new URL(page.url()).pathname.replace('/sims/', '')
        assert.is((await simOf(next)).label, 'kiosk at the quay')
        await page.getByRole('button', { name: 'Revoke', exact: true }).click()
        await page.getByRole('dialog').getByText('You cannot undo this').waitFor()
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
        await page.getByText('This SIM is revoked for good.').waitFor()
        for (const name of ['Suspend', 'Resume', 'Replace', 'Revoke'])
          await page.getByRole('button', { name, exact: true }).waitFor({ state: 'detached' })
        await page.getByRole('button', { name: 'Erase data' }).click()
        const forget = page.getByRole('dialog').getByRole('button', { name: 'Erase data' })
        await page.getByRole('dialog').getByLabel('Request number').fill('R-7')
        assert.ok(await forget.isDisabled())
        await page.getByRole('dialog').getByLabel(`Type ${next} to continue`).fill(next)
        await forget.click()
        await page.getByText('The data is erased').waitFor()
        await eventually(async () => assert.not((await simOf(next)).label))
      })
    },
  )

  care('draws all ways in of a person anew, which are shown once and alone good from then on', async () => {
    const zoe = await addPerson(service, 'zoe', ['viewer'])
    await asAdmin(`/people/${zoe.id}`, async (page) => {
      await confirmed(page, 'Reset credentials')
      const shown = page.getByRole('dialog')
      await shown.getByText('You see this only once.').waitFor()
      const password = (await shown.getByRole('code').first().textContent()) ?? ''
      const recovery = (await shown.getByRole('listitem').first().textContent()) ?? ''
      await isAccessible(page, 'ways in that were drawn')
      await shown.getByRole('button', { name: 'I have saved it' }).click()
      const login = async (given: string, code: string): Promise<number> => {
        const body = { username: 'zoe', password: given, code }
        return (await post(service, '/v1/auth/login', { body })).status
      }
      assert.is(await login(zoe.password, zoe.recovery_codes[0] ?? ''), 401)
      assert.is(await login(password, recovery), 200)
      await confirmed(page, 'New authenticator')
      await shown.getByText('You see this only once.').waitFor()
      assert.not.ok((await shown.textContent())?.includes(password), 'the password stays')
      const another = (await shown.getByRole('listitem').first().textContent()) ?? ''
      await shown.getByRole('button', { name: 'I have saved it' }).click()
      assert.is(await login(password, another), 200)
    })
  })

  care('seals the secret of a plugin, takes it away, and uninstalls the plugin', async () => {
    const lantern = { properties: { api_key: { type: 'string', default: '', 'x-secret': true } } }
    const schema = { properties: { lantern } }
    for (const version of ['1.0.0', '1.1.0'])
      installVersion(service.dataDir, {
        id: 'lantern',
        version,
        code: `${sourceOf()}// ${version}\n`,
        schema,
        manifest: { config: './config.schema.json' },
      })
    const loaded = await service.request('POST', '/v1/plugins/lantern/load', { body: { version: '1.1.0' } })
    assert.is(loaded.status, 200, JSON.stringify(loaded.body))
    await asAdmin('/plugins/lantern', async (page) => {
      const secrets = page.getByRole('region', { name: 'Secrets' })
      await secrets.getByText('not set').waitFor()
      await secrets.getByRole('button', { name: 'Set: api_key' }).click()
      await page.getByRole('dialog').getByLabel('Value').fill(SECRET)
      await page.getByRole('dialog').getByRole('button', { name: 'Set' }).click()
      await secrets.getByText('encrypted in the store').waitFor()
      await isAccessible(page, 'a plugin with a secret')
      assert.not.ok((await page.content()).includes(SECRET), 'it is shown to nobody')
      await secrets.getByRole('button', { name: 'Remove: api_key' }).click()
      await secrets.getByText('not set').waitFor()
      await confirmed(page, 'Uninstall')
      await page.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor()
      await page.getByText('lantern is uninstalled.').waitFor()
      const { body } = await service.request('GET', '/v1/plugins')
      assert.not.ok(body.plugins.some(({ name }: { readonly name: string }) => name === 'lantern'))
    })
    assert.not.ok(service.output().includes(SECRET))
  })

  care('revokes a certificate of eSIM, and restores it', async () => {
    assert.is((await service.request('POST', '/v1/esim/certs/init', { body: {} })).status, 201)
    const revoked = async (): Promise<number> => {
      const { body } = await service.request('GET', '/v1/esim/certs')
      return body.certs.filter((one: { readonly revoked: boolean }) => one.revoked).length
    }
    await asAdmin('/esim?tab=certs', async (page) => {
      const row = page.getByRole('row', { name: /signs eSIMs/ }).first()
      await row.getByRole('button', { name: /^Revoke/ }).click()
      await page.getByRole('dialog').getByText('eSIMs that were delivered stay.').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await row.getByText('revoked').waitFor()
      assert.is(await revoked(), 1)
      await isAccessible(page, 'a revoked certificate')
      await row.getByRole('button', { name: /^Restore/ }).click()
      await row.getByRole('button', { name: /^Revoke/ }).waitFor()
      assert.is(await revoked(), 0)
    })
  })

  care(
    'has a clock confirmed by who sees that it is right, and sends again what was given up meanwhile',
    async () => {
      await eventually(() => assert.ok(hooks.deliveries.length > 0))
      clock.shift(TWO_DAYS_MS)
      await asAdmin('/system', async (page) => {
        const shown = page.getByRole('region', { name: 'Clock' })
        await shown.getByText('in doubt', { exact: true }).waitFor()
        await isAccessible(page, 'a clock in doubt')
        // The outage above offers it, too.
        const check = shown.getByRole('button', { name: 'Check the time' })
        await check.click()
        const question = page.getByRole('dialog')
        await question.getByText(/^The box says .*\. Is that right\?$/).waitFor()
        await question.getByText(/they differ by 2 d 0 h/).waitFor()
        await isAccessible(page, 'a clock that is asked about')
        assert.ok(await question.getByRole('button', { name: 'Yes, it is right' }).isDisabled())
        await question.getByRole('button', { name: 'Cancel' }).click()
        await page.clock.setSystemTime(Date.now() + TWO_DAYS_MS)
        await check.click()
        await question.getByRole('button', { name: 'Yes, it is right' }).click()
        await shown.getByText('trusted', { exact: true }).waitFor()
        await page.getByRole('navigation').getByRole('link', { name: 'Alerts' }).click()
        await page.getByRole('tab', { name: 'Who is told' }).click()
        const receiver = page.getByRole('article', { name: 'ops' })
        const again = receiver.getByRole('button', { name: 'Send these again' })
        await again.waitFor()
        treatment = 'take'
        await again.click()
        await receiver.getByText(/message(s are| is) sent again/).waitFor()
        await eventually(() =>
          assert.ok(
            hooks.deliveries.some((one) => one.treatment === 'take' && one.payload.type !== 'alert.test'),
          ),
        )
      })
    },
  )
}

care.run()
