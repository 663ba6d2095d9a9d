import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible, withoutTime } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import type { TokenRole } from '../harness/contract-roles.ts'
import { type Box, makeBox } from '../harness/mesh/box.ts'
import { boxPlace, makeLan } from '../harness/mesh/places.ts'
import { type Air, openAir } from '../harness/radio/air.ts'
import { radioConfig } from '../harness/radio/box.ts'

enterOwnMachine(import.meta.filename)

/** Radio, rules, core and mesh in the console: a box with a radio and TLS, a second one that joins it, one browser. */
const pages = suite('e2e/console-radio')
const ROUTE = '10.77.0.0/16'
const LIMIT = { limitMs: 900_000 }
const executable = findBrowser()
const folder = mkdtempSync(join(tmpdir(), 'steeple-console-radio-'))

let air: Air
let mast: Box
let hill: Box
let browser: Browser | undefined
let visits: Visits

pages.before(async () => {
  if (executable === undefined) return
  makeLan()
  air = await openAir(folder)
  const core = join(folder, 'core')
  mkdirSync(core)
  const env = { SVC_PEERING_MDNS: 'false' }
  const place = await boxPlace(1)
  mast = await makeBox({
    name: 'mast',
    place,
    folder: join(folder, 'mast'),
    env,
    config: `${radioConfig(air.binary)}core_a: {config_dir: ${core}}\n`,
  })
  hill = await makeBox({
    ...{ name: 'hill', place: await boxPlace(2), folder: join(folder, 'hill') },
    env: { ...env, SVC_PEERING_ADVERTISE: ROUTE },
  })
  await Promise.all([mast.start(), hill.start()])
  browser = await openBrowser(executable, [
    '--ignore-certificate-errors',
    `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${place.address}`,
  ])
  visits = makeVisits(browser, mast.url, tokenOf)
}, LIMIT)

pages.after(async () => {
  await browser?.close()
  await Promise.all([mast?.kill(), hill?.kill()])
  air?.close()
  rmSync(folder, { recursive: true, force: true })
}, LIMIT)

/** A page of the console, as somebody with that role sees it; `visits` takes it back. */
const openAs = (role: TokenRole, path: string) => visits.enter(role, path)

async function tokenOf(role: string): Promise<string> {
  const made = await mast.ask('POST', '/v1/tokens', { name: role, roles: [role] })
  assert.is(made.status, 201, JSON.stringify(made.body))
  return made.body.token
}

async function change(body: object): Promise<void> {
  const answer = await mast.ask('PUT', '/v1/policy', body)
  assert.is(answer.status, 200, JSON.stringify(answer.body))
}

async function seesNo(page: Page, button: string | RegExp): Promise<void> {
  assert.is(await page.getByRole('button', { name: button }).count(), 0, String(button))
}

if (executable !== undefined) {
  about(['driver-ran'], pages)(
    'names what keeps a profile off the air, to everybody, and arms nothing meanwhile',
    async () => {
      const { page, problems } = await openAs('viewer', '/radio')
      const card = page.getByRole('article', { name: 'Profile mast' })
      await card.getByText('2,677.5 – 2,682.5 MHz').waitFor()
      await card.getByText('no license is acknowledged').waitFor()
      await page.getByText('Licence: missing').waitFor()
      await seesNo(page, /^Arm/)
      await isAccessible(page, 'radio of a viewer')
      const admin = await openAs('admin', '/radio')
      await admin.page.getByRole('button', { name: 'Arm mast' }).click()
      const dialog = admin.page.getByRole('dialog')
      await dialog.getByText('no license is acknowledged').waitFor()
      await dialog.getByText('the allow-list has no entry of DE').waitFor()
      await dialog.getByLabel('The box is in this country').check()
      await dialog.getByLabel('Antenna and power are right').check()
      assert.ok(await dialog.getByLabel('The licence is valid for this place and this carrier').isDisabled())
      assert.ok(await dialog.getByRole('button', { name: 'Start transmitting' }).isDisabled())
      await isAccessible(admin.page, 'checklist that is closed')
      assert.equal([...problems, ...admin.problems], [])
      await visits.leave(page)
      await visits.leave(admin.page)
    },
    LIMIT,
  )

  pages(
    'changes the rules, tells a second tab that its form is old, and loses nothing that was typed there',
    async () => {
      const first = await openAs('operator', '/rules')
      const second = await openAs('operator', '/rules')
      const typed = second.page.getByLabel('Keep audit trail, days')
      await typed.fill('500')
      await second.page.getByLabel('Profiles armed per hour').fill('70')
      await first.page.getByLabel('I have read the licence for this place').check()
      const foot = await first.page.evaluate(
        "document.querySelector('.save [type=submit]').getBoundingClientRect().bottom <= innerHeight",
      )
      assert.ok(foot, 'what saves a change is in sight where it was made')
      await first.page.getByLabel('Reference').fill('L-7')
      await first.page.getByRole('button', { name: 'Add entry' }).click()
      const entry = first.page.getByRole('group', { name: 'Entry 1' })
      assert.is(await entry.getByLabel('Country').inputValue(), 'DE')
      await entry.getByLabel('Band').fill('b777')
      await first.page.getByLabel('Profiles armed per hour').fill('90')
      await first.page.getByRole('button', { name: 'Save rules' }).click()
      await entry.getByText('b777').waitFor()
      assert.is(await first.page.getByLabel('Reference').inputValue(), 'L-7')
      await entry.getByLabel('Band').fill('b7')
      await first.page.getByRole('button', { name: 'Save rules' }).click()
      await first.page.getByText('The rules are saved as revision').waitFor()
      await second.page.getByText('Somebody else changed the rules in the meantime.').waitFor()
      await second.page.getByText('You entered 70.').waitFor()
      assert.is(await typed.inputValue(), '500')
      await isAccessible(second.page, 'rules that are stale')
      await second.page.getByRole('button', { name: 'Keep my values' }).click()
      await second.page.getByRole('button', { name: 'Save rules' }).click()
      await second.page.getByText('The rules are saved as revision').waitFor()
      const { body } = await mast.ask('GET', '/v1/policy')
      const { spectrum, retention_days: days, rate_limits: limits } = body
      assert.equal([days.audit, limits.tx_arm_per_hour], [500, 70])
      assert.equal([spectrum.license.acknowledged, spectrum.license.reference], [true, 'L-7'])
      assert.equal(spectrum.allow_list, [{ technology: 'lte', band: 'b7', country: 'DE' }])
      assert.equal([...first.problems, ...second.problems], [])
      await visits.leave(first.page)
      await visits.leave(second.page)
    },
    LIMIT,
  )

  pages(
    'shows the rules to a viewer, and gives no way to change them',
    async () => {
      const { page } = await openAs('viewer', '/rules')
      await page.getByText('You can only read these rules.').waitFor()
      assert.ok(await page.getByLabel('Keep audit trail, days').isDisabled())
      await seesNo(page, 'Add entry')
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['driver-ran'], pages)(
    'puts a profile on the air after each point of the list, and takes it off with Stop',
    async () => {
      const { page, problems } = await openAs('admin', '/radio')
      await page.getByRole('button', { name: 'Arm mast' }).click()
      const dialog = page.getByRole('dialog')
      const confirm = dialog.getByRole('button', { name: 'Start transmitting' })
      await dialog.getByText('L-7').waitFor()
      const points = [
        'The box is in this country',
        'The licence is valid for this place and this carrier',
        'The licence allows this carrier',
        'Antenna and power are right',
      ]
      for (const point of points) {
        assert.ok(await confirm.isDisabled(), point)
        await dialog.getByLabel(point).check()
      }
      await confirm.click()
      await page.getByRole('banner').getByText('On the air', { exact: true }).waitFor()
      await air.isOn()
      await page.getByText('The box is on the air with profile mast.').waitFor()
      await isAccessible(page, 'radio on the air')
      await page.getByRole('button', { name: 'Stop transmitting' }).first().click()
      await page.getByRole('dialog').getByRole('button', { name: 'Stop transmitting' }).click()
      await page.getByRole('banner').getByText('Off the air', { exact: true }).waitFor()
      assert.is((await mast.ask('GET', '/v1/tx/arm')).body.transmitter, 'off')
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['driver-ran'], pages)(
    'shows that the radio goes on and off because it is told, and not because time goes by',
    async () => {
      const { page, problems } = await openAs('viewer', '/radio')
      const { moment } = await withoutTime(page, async () => {
        await page
          .getByText('the TX gate')
          .or(page.getByText(/^off: /))
          .first()
          .waitFor()
        await page.getByRole('banner').getByText('Off the air', { exact: true }).waitFor()
      })
      const armed = await mast.ask('POST', '/v1/tx/arm', { arm: true, profile_id: 'mast' })
      assert.is(armed.status, 200, JSON.stringify(armed.body))
      await air.isOn()
      await eventually(async () => {
        const { components } = (await mast.ask('GET', '/v1/health')).body
        const ran = components.find(({ name }: { name: string }) => name === 'driver-ran.ran')
        assert.match(ran?.detail, /is on air/)
      })
      const banner = page.getByRole('banner')
      await eventually(async () => {
        await moment()
        assert.is(await banner.getByText('On the air', { exact: true }).count(), 1)
        assert.is(await page.getByText(/^radio with profile mast is on air/).count(), 1)
      })
      assert.is((await mast.ask('POST', '/v1/tx/disarm', {})).status, 200)
      await eventually(async () => {
        await moment()
        assert.is(await banner.getByText('Off the air', { exact: true }).count(), 1)
        assert.is(await page.getByText(/^off: /).count(), 1)
      })
      assert.equal(problems, [])
      // Its clock stands.
      await page.close()
    },
    LIMIT,
  )

  pages(
    'says of channels whether they may be used here',
    async () => {
      const { page } = await openAs('operator', '/radio')
      await page.getByLabel('Channels', { exact: true }).fill('3350, 1300')
      await page.getByRole('button', { name: 'Check channels' }).click()
      const results = page.getByRole('table', { name: 'Results by channel' })
      await results.getByRole('row').filter({ hasText: '3350' }).getByText('yes').waitFor()
      await results.getByRole('row').filter({ hasText: '1300' }).getByText('no', { exact: true }).waitFor()
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['core-config', 'driver-core-a'], pages)(
    'shows what a change of the core would do, to operators alone',
    async () => {
      const { page, problems } = await openAs('operator', '/core')
      await page.getByText('The core must change').waitFor()
      const file = page.getByRole('group').filter({ has: page.getByText('mme.yaml', { exact: true }) })
      await file.getByText('mme.yaml', { exact: true }).click()
      await file.getByText('network_name:').waitFor()
      await page.getByRole('table', { name: 'Daemons' }).getByText('mme', { exact: true }).waitFor()
      await page.getByText('This box has not restarted any part of the core.').waitFor()
      await isAccessible(page, 'core')
      const viewer = await openAs('viewer', '/core')
      await viewer.page.getByRole('heading', { name: 'State of this box' }).waitFor()
      assert.is(await viewer.page.getByRole('heading', { name: 'Planned change' }).count(), 0)
      await seesNo(viewer.page, /^Move to/)
      assert.equal([...problems, ...viewer.problems], [])
      await visits.leave(page)
      await visits.leave(viewer.page)
    },
    LIMIT,
  )

  about(['mesh'], pages)(
    'invites a box, which joins by what is shown, and approves the route that it offers',
    async () => {
      await change({ mesh: { allow_route_advertise: true } })
      const { page, problems } = await openAs('admin', '/mesh')
      await page.getByRole('button', { name: 'Invite a box' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Create invitation' }).click()
      await dialog.getByRole('img', { name: 'QR code of the invitation' }).waitFor()
      await dialog.getByRole('timer').getByText('Valid for').waitFor()
      await isAccessible(page, 'invitation')
      const command = (await dialog.getByText('svc node join').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'Done' }).click()
      assert.is(await page.getByText('svc node join').count(), 0, 'an invitation is shown once')
      const [, token = '', url = ''] = /^echo (\S+) \| svc node join - (\S+)$/.exec(command) ?? []
      const joined = await hill.ask('POST', '/v1/mesh/join', { token, url })
      assert.is(joined.status, 200, 'the box joins by what was shown')
      const links = page.getByRole('table', { name: 'Links' })
      await links.getByText('1 to approve').waitFor()
      await links.getByRole('button', { name: 'hill' }).click()
      await dialog.getByLabel(ROUTE).check()
      await dialog.getByRole('button', { name: 'Approve selected' }).click()
      await page.getByText('The routes of hill are approved.').waitFor()
      await isAccessible(page, 'link with a route')
      await eventually(async () => {
        const { body } = await mast.ask('GET', '/v1/peers')
        assert.equal(body.peers[0].approved, [ROUTE])
      })
      await dialog.getByRole('button', { name: 'Close', exact: true }).click()
      await page.getByRole('table', { name: 'Members of mast' }).getByText('hill').waitFor()
      await isAccessible(page, 'mesh')
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['mesh'], pages)(
    'says what it means to remove a box from the mesh, and does it',
    async () => {
      const { page } = await openAs('admin', '/mesh')
      await page.getByRole('button', { name: 'Remove hill from the mesh' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('are revoked at once').waitFor()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('button', { name: 'Remove hill from the mesh' }).waitFor({ state: 'detached' })
      assert.is((await mast.ask('GET', '/v1/mesh/members')).body.members.length, 1)
      const viewer = await openAs('viewer', '/mesh')
      await viewer.page.getByRole('heading', { name: 'This box' }).waitFor()
      for (const name of ['Invite a box', 'Join a mesh', 'Change key']) await seesNo(viewer.page, name)
      await visits.leave(page)
      await visits.leave(viewer.page)
    },
    LIMIT,
  )

  about(['mesh'], pages)(
    'has no page of a mesh while there is no plugin for it, and another one when it is back',
    async () => {
      const { page, problems } = await openAs('viewer', '/radio')
      const link = page.getByRole('navigation').getByRole('link', { name: 'Mesh', exact: true })
      await link.waitFor()
      assert.is((await mast.ask('POST', '/v1/plugins/mesh/unload', {})).status, 200)
      await link.waitFor({ state: 'detached' })
      assert.is((await mast.ask('POST', '/v1/plugins/mesh/load', {})).status, 200)
      await link.click()
      await page.getByRole('heading', { name: 'Mesh', level: 1 }).waitFor()
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )
}

pages.run()
