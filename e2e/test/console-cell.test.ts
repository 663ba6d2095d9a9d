import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, listen, suite } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import { OPEN } from '../harness/radio/box.ts'
import { type Service, startService } from '../harness/service.ts'

enterOwnNetwork(import.meta.filename)

/** A vendor's cell, from the form of the console to the moment that it is on another channel. */
const cell = suite('e2e/console-cell')
const LIMIT = { limitMs: 600_000 }
const executable = findBrowser()
const folder = mkdtempSync(join(tmpdir(), 'steeple-console-cell-'))
const config = join(folder, 'control.yaml')

let plug: Awaited<ReturnType<typeof startPlug>>
let service: Service
let browser: Browser
let visits: Visits

/** A plug with a meter, and the interface of the cell behind it. */
async function startPlug() {
  const state = { isOn: false, channel: 3_350 }
  const server = createServer(({ url }, response) => {
    if (url === '/on' || url === '/off') state.isOn = url === '/on'
    response.writeHead(200, { 'content-type': 'application/json' })
    const { isOn, channel } = state
    response.end(JSON.stringify({ output: isOn, apower: isOn ? 11 : 0, ...(isOn ? { channel } : {}) }))
  })
  return { state, ...(await listen(server)) }
}

if (executable !== undefined) {
  cell.before(async () => {
    plug = await startPlug()
    writeFileSync(config, 'server: {mode: rf, country: DE}\nhss: {driver: none}\n')
    service = await startService({ flags: ['--config', config], dataDir: join(folder, 'data') })
    assert.is((await service.request('PUT', '/v1/policy', { body: OPEN })).status, 200)
    browser = await openBrowser(executable)
    visits = makeVisits(browser, service.url, () => service.adminToken)
  }, LIMIT)
  cell.after(async () => {
    await browser?.close()
    await service?.stop()
    await plug?.close()
    rmSync(folder, { recursive: true, force: true })
  }, LIMIT)

  about(['driver-ran'], cell)(
    'sets up a cell with an HTTP switch, its fallback and its profile',
    async () => {
      const { page, problems } = await visits.enter('admin', '/radio')
      await page.getByRole('button', { name: 'Set up a cell' }).click()
      const dialog = page.getByRole('dialog')
      const fields: readonly (readonly [string, string])[] = [
        ['eNB or gNB ID', '411'],
        ['URL that turns on', `${plug.url}/on`],
        ['URL that turns off', `${plug.url}/off`],
        ['URL that is read', `${plug.url}/status`],
        ['JSON pointer of its state', '/output'],
        ['Value while on', 'true'],
        ['Value while off', 'false'],
        ['JSON pointer of the watts', '/apower'],
        ['JSON pointer of the channel', '/channel'],
        ['Name of the profile', 'mast'],
        ['EARFCN or NR-ARFCN (downlink)', '3350'],
        ['Band', 'b7'],
        ['Width, MHz', '5'],
      ]
      for (const [label, value] of fields) await dialog.getByLabel(label, { exact: true }).fill(value)
      await dialog.getByLabel('I accept that the cell stays on').check()
      await isAccessible(page, 'the form of a cell')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The cell is saved.').waitFor()
      await page.getByRole('button', { name: 'Change the cell' }).waitFor()
      const text = readFileSync(config, 'utf8')
      for (const part of ['program: external', `${plug.url}/on`, 'pointer: /channel', 'stays_on: true'])
        assert.ok(text.includes(part), part)
      const card = page.getByRole('article', { name: 'Profile mast' })
      await card.getByText('the cell stays on').waitFor()
      await card.getByText('Ready to arm').waitFor()
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )

  about(['driver-ran'], cell)(
    'shows what is in force, and asks again for what it may not show',
    async () => {
      const { page } = await visits.enter('admin', '/radio')
      await page.getByRole('button', { name: 'Change the cell' }).click()
      const dialog = page.getByRole('dialog')
      const shownIn = (label: string) => dialog.getByLabel(label, { exact: true }).inputValue()
      assert.equal(
        [await shownIn('JSON pointer of its state'), await shownIn('Value while off')],
        ['/output', 'false'],
      )
      assert.is(await shownIn('URL that turns on'), '', 'behind the host of a URL may be a token')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await visits.leave(page)
      // A page starts no program that nobody has put into the folder.
      const change = {
        'ran.external.switch': { command: { on: ['/bin/sh'], off: ['/bin/sh'], status: ['/bin/sh'] } },
      }
      const { status, body } = await service.request('PUT', '/v1/settings', { body: { settings: change } })
      assert.is(status, 400)
      assert.match(JSON.stringify(body), /only with programs and files of \/etc\/svc\/switch\.d/)
    },
    LIMIT,
  )

  about(['driver-ran'], cell)(
    'arms it with a warning, and tells when it is on another channel',
    async () => {
      const { page, problems } = await visits.enter('admin', '/radio')
      await page.getByRole('button', { name: 'Arm mast' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('If this box fails, the cell stays on').waitFor()
      for (const point of await dialog.getByRole('listitem').getByRole('checkbox').all()) await point.check()
      await dialog.getByRole('button', { name: 'Start transmitting' }).click()
      await eventually(() => assert.ok(plug.state.isOn))
      plug.state.channel = 3_400
      await eventually(() => assert.not.ok(plug.state.isOn), 60_000)
      await page
        .getByText(/the cell reports channel 3400, and the profile says 3350/)
        .filter({ visible: true })
        .first()
        .waitFor()
      await page.goto(`${service.url}/`)
      await page.getByText('The cell is set to another channel').first().waitFor()
      assert.is((await service.request('GET', '/v1/tx/arm')).body.armed, false)
      assert.equal(problems, [])
      await visits.leave(page)
    },
    LIMIT,
  )
}

cell.run()
