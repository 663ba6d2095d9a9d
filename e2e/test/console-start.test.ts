import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { applied, isAccessible, signInWithToken } from '../harness/console-page.ts'
import { insertBatch, type LabProcess, startLabCore } from '../harness/lab-core.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

/** Setting a box up in the console, and a page that a plugin brings. */
const LIMIT = { limitMs: 600_000 }
const start = suite('e2e/console-start', LIMIT)
const executable = findBrowser()

/** A plugin with a page: its module is a text of its own, and asks the API as who is signed in. */
const NOTES = `
const MODULE = \`export function mount(root, { client, params }) {
  const title = Object.assign(document.createElement('h1'), { textContent: 'Notes of ' + params.place })
  root.append(title)
  void client.get('/v1/auth/me').then(({ data }) => root.append(Object.assign(document.createElement('p'), { textContent: 'for ' + data.name })))
  return () => { globalThis.notesAreGone = true }
}\`
export const plugin = {
  setup: async () => ({
    routes: [{
      method: 'GET', path: '/notes-files/:file', role: 'public', summary: 'files', produces: ['text/javascript'],
      schema: { params: { type: 'object', properties: { file: { type: 'string' } } } },
      handle: async () => ({ body: MODULE, headers: { 'Content-Type': 'text/javascript; charset=utf-8' } }),
    }],
  }),
}
`
const MANIFEST = {
  paths: { '/notes-files': {} },
  metrics: {},
  pages: [
    {
      path: '/notes',
      title: { en: 'Notes' },
      role: 'operator',
      group: 'care',
      module: '/notes-files/page.js',
    },
    { path: '/notes/:place', title: { en: 'Note' }, role: 'operator', module: '/notes-files/page.js' },
  ],
}

/** The number in force is typed, and over it the next before the page has drawn the first. */
const TYPED_AT_ONCE = `(async () => {
  const form = [...document.querySelectorAll('form')].find((one) => one.textContent.includes('Network code'))
  for (const [index, text] of [[0, '262'], [1, '098']]) {
    const input = form.querySelectorAll('input')[index]
    input.value = text
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))
    for (let turn = 0; turn < 10; turn++) await undefined
  }
})()`

let temp: TempDir
let lab: LabProcess
/** The configuration, in a folder of its own. */
let file: string
let service: Service
let browser: Browser

if (executable !== undefined) {
  start.before(async () => {
    temp = await tempDir()
    lab = await startLabCore(join(temp.path, 'lab'))
    const core = join(temp.path, 'core')
    mkdirSync(core)
    file = join(temp.path, 'etc', 'control.yaml')
    mkdirSync(join(temp.path, 'etc'))
    writeFileSync(file, '# Ours.\ntac: 7\n')
    service = await startService({
      flags: ['--config', file],
      env: {
        ...lab.env,
        SVC_COLLECTOR_ENABLED: 'true',
        SVC_COLLECTOR_INTERVAL: '1s',
        SVC_CORE_A_CONFIG_DIR: core,
      },
    })
    browser = await openBrowser(executable)
  })
  start.after(async () => {
    await browser.close()
    await service.stop()
    await lab.stop()
    await temp[Symbol.asyncDispose]()
  })

  about(['collectors', 'collector-mme', 'driver-hss'], start)(
    'leads from a new box to a phone that was online',
    async () => {
      const { page, problems } = await browser.open(service.url)
      await signInWithToken(page, service.adminToken)
      await page.getByRole('link', { name: 'Set up the box' }).first().click()
      const step = (name: string) => page.getByRole('region', { name })
      const country = step('1. Country')
      await country.getByText('To do').waitFor()
      await country.getByLabel('Country of the box').selectOption('DE')
      await country.getByRole('button', { name: 'Save' }).click()
      await country.getByText('The radio follows the rules of Germany').waitFor()
      assert.is((await service.request('GET', '/v1/status')).body.country, 'DE')
      assert.is(readFileSync(file, 'utf8'), '# Ours.\ntac: 7\nserver:\n  country: DE\n')
      const plmn = step('2. Network number')
      await plmn.getByText('a number for laboratories').waitFor()
      await plmn.getByLabel('Country code').fill('20')
      await plmn.getByText('Enter three digits, for example 999.').waitFor()
      await plmn.getByLabel('Country code').fill('208')
      await plmn.getByText('208 is the code of France, but the box is in Germany.').waitFor()
      await page.getByRole('link', { name: '3. Licence' }).waitFor()
      const license = step('3. Licence')
      await license.getByLabel('I have read the licence for this place').check()
      await license.getByLabel('Reference').fill('L-7')
      await license.getByRole('button', { name: 'Save rules' }).click()
      await license.getByText('Done').waitFor()
      const paper = page.getByRole('region', { name: 'Licence document' })
      await paper.getByLabel('File').setInputFiles({
        name: 'letter.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('Dear village'),
      })
      await paper.getByRole('button', { name: 'Attach' }).click()
      await paper.getByText('is no PDF, PNG or JPEG').waitFor()
      await paper.getByLabel('File').setInputFiles({
        name: 'licence.pdf',
        mimeType: 'application/pdf',
        buffer: Buffer.from('%PDF-1.7 licence'),
      })
      await paper.getByRole('button', { name: 'Attach' }).click()
      await paper.getByRole('button', { name: 'Remove' }).waitFor()
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        paper.getByRole('button', { name: 'Download the document of L-7' }).click(),
      ])
      assert.is(readFileSync(await saved.path(), 'utf8'), '%PDF-1.7 licence')
      const spectrum = step('4. Frequencies')
      await spectrum.getByRole('button', { name: 'Add entry' }).click()
      await spectrum.getByLabel('Band').fill('b3')
      await spectrum.getByLabel('From, MHz').fill('1815')
      await spectrum.getByLabel('To, MHz').fill('1825')
      await spectrum.getByRole('button', { name: 'Save rules' }).click()
      await spectrum.getByText('allowed in DE: 1,815 – 1,825 MHz').first().waitFor()
      const air = step('5. Radio profile')
      await air.getByRole('region', { name: 'Found on this box' }).getByText('LTE (srsenb)').waitFor()
      await air.getByRole('button', { name: 'Add radio profile' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Profile name').fill('mast')
      await dialog.getByText('Ready to arm').waitFor()
      assert.is(await dialog.getByLabel('Downlink centre in MHz').inputValue(), '1820')
      await dialog.getByLabel('Downlink centre in MHz').fill('1824')
      await dialog.getByText('Why it cannot be armed').waitFor()
      await isAccessible(page, 'a profile outside of the licence')
      await dialog.getByLabel('Downlink centre in MHz').fill('1820')
      await dialog.getByText('Ready to arm').waitFor()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      const card = air.getByRole('article', { name: 'Profile mast' })
      await card.getByRole('button', { name: 'Change mast' }).click()
      await dialog.getByLabel('Width in MHz').fill('5')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await card.getByText('1,817.5 – 1,822.5 MHz').waitFor()
      await card.getByRole('button', { name: 'Arm mast' }).click()
      await dialog.getByText('starts no radio program of its own').waitFor()
      for (const point of ['in this country', 'licence is valid', 'licence allows', 'Antenna and power'])
        await dialog.getByLabel(point).check()
      await dialog.getByRole('button', { name: 'Start transmitting' }).click()
      await card.getByText('Stop transmitting before you change or remove it.').waitFor()
      assert.is((await service.request('GET', '/v1/tx/arm')).body.profile, 'mast')
      assert.is((await service.request('POST', '/v1/tx/disarm')).status, 200)
      await card.getByRole('button', { name: 'Remove mast' }).click()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await air.getByText('No radio profiles').waitFor()
      assert.equal((await service.request('GET', '/v1/tx/profiles')).body.profiles, [])
      const apns = step('6. Internet access')
      await apns.getByLabel('APN names').fill('internet, village')
      await applied(apns)
      await page.getByText('Saved.', { exact: true }).waitFor()
      assert.equal((await service.request('GET', '/v1/policy')).body.apns, ['internet', 'village'])
      const person = step('7. First person')
      await person.getByLabel('Name').fill('ada')
      await person.getByRole('button', { name: 'Invite' }).click()
      await person.getByRole('img', { name: 'QR code of the invitation' }).waitFor()
      const { body: invited } = await service.request('GET', '/v1/users/invitations')
      assert.equal(
        invited.invitations.map(({ name, roles }: { name: string; roles: readonly string[] }) => [
          name,
          roles,
        ]),
        [['ada', ['admin']]],
      )
      const sim = step('8. First SIM')
      await sim.getByRole('button', { name: 'Issue test SIM' }).click()
      await sim.getByText('Known to the core: yes').waitFor()
      await isAccessible(page, 'setting up')
      const { body } = await service.request('GET', '/v1/sims?label=test')
      await insertBatch(lab, service.dataDir, body.sims[0].batch_id)
      await sim.getByText('the network works').waitFor()
      const { body: live } = await service.request('GET', '/v1/sessions')
      const [session] = live.sessions
      for (const [typed, name] of [
        ['tes', /^test …[0-9]{4} SIM$/],
        [session.ue_ip, new RegExp(`^${session.ue_ip} .* online$`)],
      ] as const) {
        await page.goto(`${service.url}/start`)
        await step('1. Country').waitFor()
        await page.keyboard.press('Control+k')
        await page.getByRole('combobox', { name: 'Search for a page, SIM' }).fill(typed)
        await page.getByRole('option', { name }).waitFor()
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { level: 1, name: 'test' }).waitFor()
      }
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )

  about(['core-config', 'driver-core-a'], start)(
    'shows before the number of the network is changed what that does to the core',
    async () => {
      const { page, problems } = await browser.open(`${service.url}/start`)
      await signInWithToken(page, service.adminToken)
      const before = [readFileSync(file, 'utf8'), (await service.request('GET', '/v1/status')).body.plmn]
      const plmn = page.getByRole('region', { name: '2. Network number' })
      const [mcc, mnc] = [plmn.getByLabel('Country code'), plmn.getByLabel('Network code')]
      const does = plmn.getByRole('region', { name: 'Effect on the core' })
      const look = plmn.getByRole('button', { name: 'Show effect' })
      await mcc.fill('262')
      await mnc.fill('98')
      await look.click()
      await does.getByText('The core would change').waitFor()
      await does.getByText('This box only compares').waitFor()
      const { body: plan } = await service.request('GET', '/v1/core/plan?mcc=262&mnc=98')
      await does.getByText(`${plan.subscribers_dropped} phone`).waitFor()
      await does.getByText(`This takes about ${plan.expected_s} seconds.`).waitFor()
      await does.getByRole('row').filter({ hasText: 'mme' }).waitFor()
      const mme = does.getByRole('group').filter({ hasText: 'mme.yaml' })
      await mme.getByText('mme.yaml', { exact: true }).click()
      await mme.getByText('mcc: "262"').first().waitFor()
      await isAccessible(page, 'what a change does to the core')
      // What is typed after that was not looked at.
      await mnc.fill('97')
      await does.waitFor({ state: 'detached' })
      assert.is(await plmn.getByRole('button', { name: 'Apply' }).count(), 0)
      // A core that tells nothing of its phones.
      const untold = { ...plan, subscribers_dropped: null, expected_s: null }
      await page.route('**/v1/core/plan?*', (asked) => asked.fulfill({ json: untold }))
      await look.click()
      await does.getByText('The core does not report how many phones lose the network.').waitFor()
      await does.getByText('It is not known how long this takes.').waitFor()
      await page.unroute('**/v1/core/plan?*')
      await plmn.getByRole('button', { name: 'Not now' }).click()
      await does.waitFor({ state: 'detached' })
      assert.equal(
        [readFileSync(file, 'utf8'), (await service.request('GET', '/v1/status')).body.plmn],
        before,
      )
      assert.equal(readdirSync(join(temp.path, 'core')), [], 'looking writes nothing')
      await applied(plmn)
      await plmn.getByText('It is 262-97.').waitFor()
      assert.is((await service.request('GET', '/v1/status')).body.plmn, '262-97')
      assert.match(readFileSync(file, 'utf8'), 'mnc: "97"')
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )

  about(['core-config', 'driver-core-a'], start)(
    'shows beside the rules what other access points do to the core',
    async () => {
      const { page, problems } = await browser.open(`${service.url}/rules`)
      await signInWithToken(page, service.adminToken)
      const { apns } = (await service.request('GET', '/v1/policy')).body
      const changes = page.getByRole('region', { name: 'not saved yet' })
      const names = page.getByLabel('APN names')
      await names.fill([...apns, 'harbour'].join('\n'))
      await changes.getByRole('button', { name: 'Show effect' }).click()
      const smf = changes.getByRole('group').filter({ hasText: 'smf.yaml' })
      await smf.getByText('smf.yaml', { exact: true }).click()
      await smf.getByText('harbour').first().waitFor()
      await isAccessible(page, 'what a rule does to the core')
      await names.fill([...apns, 'pier'].join('\n'))
      await changes.getByRole('button', { name: 'Show effect' }).waitFor()
      assert.equal((await service.request('GET', '/v1/policy')).body.apns, apns)
      assert.equal(problems, [])
      await page.close()
    },
    LIMIT,
  )

  start('says what to write where it may not, and sees when it counts', async () => {
    const issued = await service.request('POST', '/v1/sims', { body: { count: 1 } })
    assert.is(issued.status, 201, JSON.stringify(issued.body))
    const before = readFileSync(file, 'utf8')
    // Before the page reads the settings: what is typed over a file that is another by then is refused as stale.
    rmSync(join(temp.path, 'etc'), { recursive: true })
    const { page, problems } = await browser.open(`${service.url}/start`)
    await signInWithToken(page, service.adminToken)
    const plmn = page.getByRole('region', { name: '2. Network number' })
    await plmn.getByLabel('Network code').waitFor()
    await page.evaluate(TYPED_AT_ONCE)
    await plmn.getByText('With another number they cannot use the network').waitFor()
    await applied(plmn)
    await plmn.getByText('Waiting for the change to take effect').first().waitFor()
    await isAccessible(page, 'lines for the configuration')
    const lines = await plmn.locator('pre').textContent()
    assert.is(lines?.trim(), 'plmn:\n  mcc: "262"\n  mnc: "098"')
    mkdirSync(join(temp.path, 'etc'))
    // The number that the file has already is taken out of it.
    writeFileSync(file, `${before.replace(/plmn:\n(?: .*\n)*/, '')}${lines ?? ''}`)
    service.child.kill('SIGHUP')
    await plmn.getByText('It is 262-098.').waitFor()
    await plmn.getByText('Waiting for the change to take effect').waitFor({ state: 'detached' })
    assert.is((await service.request('GET', '/v1/status')).body.plmn, '262-098')
    assert.equal(problems, [])
    await page.close()
  })

  start('shows the page of a plugin while the plugin is there', async () => {
    const { page, problems } = await browser.open(service.url)
    await signInWithToken(page, service.adminToken)
    const entry = page.getByRole('navigation').getByRole('link', { name: 'Notes' })
    assert.is(await entry.count(), 0)
    installVersion(service.dataDir, { id: 'notes', version: '1.0.0', code: NOTES, manifest: MANIFEST })
    const loaded = await service.request('POST', '/v1/plugins/notes/load', { body: {} })
    assert.is(loaded.status, 200, JSON.stringify(loaded.body))
    await entry.click()
    await page.getByText('for SVC_ADMIN_TOKEN').waitFor()
    await page.goto(`${service.url}/notes/harbour`)
    await page.getByRole('heading', { name: 'Notes of harbour' }).waitFor()
    await isAccessible(page, 'the page of a plugin')
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click()
    await page.getByText('The box is not on the air').waitFor()
    await eventually(async () => assert.ok(await page.evaluate('globalThis.notesAreGone')))
    assert.is((await service.request('POST', '/v1/plugins/notes/unload', { body: {} })).status, 200)
    await entry.waitFor({ state: 'detached' })
    assert.equal(problems, [])
    await page.close()
  })
}

start.run()
