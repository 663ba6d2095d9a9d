import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible, signInWithToken, withoutTime } from '../harness/console-page.ts'
import { insertBatch, type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { type Service, startService } from '../harness/service.ts'

/** The first screen beside a lab core: what is on it, and that it is on it at once. */
const LIMIT = { limitMs: 600_000 }
const home = suite('e2e/console-home', LIMIT)
const executable = findBrowser()

let temp: TempDir
let lab: LabProcess
let isLabGone = false
let service: Service
let browser: Browser

/** A part of the screen by its heading. */
function part(page: Page, name: string) {
  return page.getByRole('region', { name })
}

if (executable !== undefined) {
  home.before(async () => {
    temp = await tempDir()
    lab = await startLabCore(join(temp.path, 'lab'))
    service = await startService({
      env: { ...lab.env, SVC_COLLECTOR_ENABLED: 'true', SVC_COLLECTOR_INTERVAL: '1s' },
    })
    browser = await openBrowser(executable)
  })
  home.after(async () => {
    await browser.close()
    await service.stop()
    if (!isLabGone) await lab.stop()
    await temp[Symbol.asyncDispose]()
  })

  about(['fair-use'], home)(
    'says what is, and shows what changes without a reload',
    async () => {
      const { page, problems } = await browser.open(service.url)
      await signInWithToken(page, service.adminToken)
      // As long as nobody has seen the cell of the lab core, and then.
      await page
        .getByText('The box is not on the air')
        .or(page.getByText('This box drives no radio.'))
        .waitFor()
      const issued = await service.request('POST', '/v1/sims', { body: { label: 'village' } })
      assert.is(issued.status, 201)
      const happenings = part(page, 'Recent events')
      await happenings.getByText('SIMs were issued').waitFor({ timeout: 30_000 })
      const people = part(page, 'Subscribers')
      await people.getByText('No phone is online').waitFor()
      const { body } = await service.request('GET', '/v1/sims?limit=1')
      await eventually(async () => {
        const { body: listed } = await service.request('GET', '/v1/sims?limit=1')
        assert.is(listed.sims[0].provisioning.status, 'synced')
      })
      const { batch_id, imsi_sha256_12: hash } = body.sims[0]
      await insertBatch(lab, service.dataDir, batch_id)
      await people.getByText('No phone is online').waitFor({ state: 'hidden' })
      // Sessions are told before the SIM is put into use by the same look.
      await eventually(async () =>
        assert.is((await service.request('GET', `/v1/sims/${hash}`)).body.state, 'in-use'),
      )
      await people.getByText('Counting is off: no data is counted on this box.').waitFor()
      const used = { report_id: 'village', source: 'meter', up_bytes: 1_000_000, down_bytes: 7_600_000 }
      assert.is((await service.request('POST', `/v1/sims/${hash}/usage`, { body: used })).status, 200)
      await people.getByText('8.6 MB: 7.6 MB received, 1 MB sent').waitFor()
      await people.getByRole('img', { name: 'Data for each hour of today' }).waitFor()
      await people.getByRole('link', { name: 'village' }).waitFor()
      await isAccessible(page, 'overview with somebody on it')
      await people.getByRole('button', { name: 'Suspend village' }).click()
      await page.getByText('village is suspended. It is blocked in the core. Its phone is off.').waitFor()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('village is resumed. Its phone may use the network again.').waitFor()
      await happenings.getByText('A SIM was resumed village').waitFor()
      assert.is((await service.request('GET', `/v1/sims/${hash}`)).body.state, 'in-use')
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )

  about(['driver-core-a'], home)(
    'shows on the page of a SIM that its phone comes and goes because it is told',
    async () => {
      const issued = await service.request('POST', '/v1/sims', { body: { label: 'valley' } })
      assert.is(issued.status, 201)
      const { batch_id, imsi_sha256_12: hash } = issued.body.sims[0]
      const { page, problems } = await browser.open(`${service.url}/sims/${hash}`)
      await signInWithToken(page, service.adminToken)
      const { moment } = await withoutTime(page, () =>
        page.getByText('offline', { exact: true }).first().waitFor(),
      )
      await insertBatch(lab, service.dataDir, batch_id)
      await eventually(async () => {
        await moment()
        assert.is(await page.getByText('online', { exact: true }).count(), 1)
      })
      await labPhones(lab.urls.control, 'POST', `/phones/${hash}/detach`, '{}')
      await eventually(async () => {
        await moment()
        assert.is(await page.getByText('offline', { exact: true }).count(), 1)
      })
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )

  about(['driver-core-a'], home)(
    'shows an outage because it is told, once, with its cause folded below',
    async () => {
      const { page, problems } = await browser.open(service.url)
      await signInWithToken(page, service.adminToken)
      const needs = part(page, 'To do now')
      const { moment } = await withoutTime(page, () =>
        part(page, 'Radio and core')
          .getByText(/parts? works?\./)
          .waitFor(),
      )
      await needs.getByText(/^Checked \d+ things at .*: all is well\.$/).waitFor()
      const core = needs.getByRole('listitem', { name: 'No core', exact: true })
      await lab.stop()
      isLabGone = true
      await eventually(async () => {
        const { components } = (await service.request('GET', '/v1/health')).body
        const daemons = components.find(({ name }: { name: string }) => name === 'driver-core-a.daemons')
        assert.not.equal(daemons?.status, 'ok')
      })
      await eventually(async () => {
        await moment()
        assert.is(await core.count(), 1)
      })
      await page.clock.resume()
      await isAccessible(page, 'overview with an outage')
      assert.equal(await needs.getByRole('link', { name: 'Open Core' }).getAttribute('href'), '/core')
      const runbook = (await core.getByRole('link', { name: 'What to do' }).getAttribute('href')) ?? ''
      assert.is((await fetch(new URL(runbook, service.url))).status, 200)
      await core.getByText('Cause and what follows').click()
      await core
        .getByText(/^Core \(Open5GS\): /)
        .first()
        .waitFor()
      const happened = part(page, 'Recent events')
      await happened.getByRole('listitem').filter({ hasText: 'Core (Open5GS)' }).first().waitFor()
      await eventually(async () => {
        const { alerts } = (await service.request('GET', '/v1/alerts?state=open')).body
        const subjects = alerts.map(({ subject }: { subject: string }) => subject)
        assert.equal(subjects, ['driver-core-a.daemons'])
      }, 120_000)
      await page.goto(`${service.url}/alerts`)
      await page.getByText('1 alert about it').waitFor()
      assert.is(await page.getByRole('listitem', { name: 'No core', exact: true }).count(), 1)
      await isAccessible(page, 'alerts with an outage')
      await page.goto(`${service.url}/system`)
      await page.getByText('Cause and what follows').click()
      const shown = (await page.locator('main').textContent()) ?? ''
      const { components: all } = (await service.request('GET', '/v1/health')).body
      const names = all.map(({ name }: { name: string }) => name)
      assert.ok(names.length > 10, String(names))
      assert.equal(
        names.filter((name: string) => name.includes('.') && shown.includes(name)),
        [],
      )
      assert.not.match(shown, /\d{4}-\d\d-\d\dT\d\d:/)
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )
}

home.run()
