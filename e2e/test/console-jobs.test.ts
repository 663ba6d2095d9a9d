import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Download, Locator, Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { goTo, signInWithToken } from '../harness/console-page.ts'
import { type LabProcess, startLabCore } from '../harness/lab-core.ts'
import { type Service, startService } from '../harness/service.ts'

/** The daily jobs of an operator, from the first screen, with nothing but the screen: each takes no more than it is allowed to. */
const LIMIT = { limitMs: 600_000 }
const jobs = suite('e2e/console-jobs', LIMIT)
const executable = findBrowser()

/** What one job may take: presses of buttons, links, boxes and keys; fields that are filled in or chosen from; seconds. */
interface Allowed {
  readonly presses: number
  readonly fields: number
  readonly seconds: number
}

/** Hands on the screen: everything that they do is counted. */
interface Hands {
  readonly page: Page
  press(what: Locator): Promise<void>
  key(name: string): Promise<void>
  fill(what: Locator, text: string): Promise<void>
  choose(what: Locator, value: string): Promise<void>
  /** Goes to a page by its entry in the menu. */
  menu(entry: string): Promise<void>
  /** Finds a SIM, and is on its page. */
  find(label: string): Promise<void>
}

function button(where: Page | Locator, name: string): Locator {
  return where.getByRole('button', { name, exact: true })
}

let temp: TempDir
let lab: LabProcess
let service: Service
let browser: Browser
let page: Page
/** Whatever the page has complained of. */
let problems: readonly string[] = []
/** A row for each job, as docs/explanation/console-compared.md has them. */
const took: string[] = []

/** Does a job from the first screen on. What comes of it is looked at in `work` too. */
async function job(name: string, allowed: Allowed, work: (hands: Hands) => Promise<void>): Promise<void> {
  await goTo(page, '/')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const count = { presses: 0, fields: 0 }
  const hands: Hands = {
    page,
    press: async (what) => {
      count.presses += 1
      await what.click()
    },
    key: async (key) => {
      count.presses += 1
      await page.keyboard.press(key)
    },
    fill: async (what, text) => {
      count.fields += 1
      await what.fill(text)
    },
    choose: async (what, value) => {
      count.fields += 1
      await what.selectOption(value)
    },
    menu: async (entry) => {
      const link = page.getByRole('navigation').getByRole('link', { name: entry, exact: true })
      await hands.press(link)
      await page.getByRole('heading', { level: 1, name: entry }).waitFor()
    },
    find: async (label) => {
      await hands.key('Control+k')
      await hands.fill(page.getByRole('combobox'), label)
      await page.getByRole('option', { name: new RegExp(`^${label} `) }).waitFor()
      await hands.key('Enter')
      await page.getByRole('heading', { level: 1, name: label }).waitFor()
    },
  }
  const from = performance.now()
  await work(hands)
  const seconds = (performance.now() - from) / 1_000
  took.push(`| ${name} | ${count.presses} | ${count.fields} | ${seconds.toFixed(1)} | ${allowed.seconds} |\n`)
  assert.equal([count.presses, count.fields], [allowed.presses, allowed.fields], name)
  assert.ok(seconds <= allowed.seconds, `${name} took ${seconds.toFixed(1)} s`)
  assert.equal(problems, [])
}

/** What is saved while `work` is done. */
async function saved(work: () => Promise<void>): Promise<{ readonly name: string; readonly text: string }> {
  const waiting: Promise<Download> = page.waitForEvent('download')
  await work()
  const file = await waiting
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'latin1') }
}

async function sim(label: string): Promise<{ readonly hash: string; readonly state: string }> {
  const { body } = await service.request('GET', `/v1/sims?label=${label}`)
  return { hash: body.sims[0].imsi_sha256_12, state: body.sims[0].state }
}

if (executable !== undefined) {
  jobs.before(async () => {
    temp = await tempDir()
    lab = await startLabCore(join(temp.path, 'lab'))
    const config = join(temp.path, 'etc', 'control.yaml')
    mkdirSync(join(temp.path, 'etc'))
    writeFileSync(config, '')
    service = await startService({
      dataDir: join(temp.path, 'data'),
      flags: ['--config', config],
      env: {
        ...lab.env,
        SVC_FAIRUSE_ENABLED: 'true',
        SVC_COLLECTOR_ENABLED: 'true',
        SVC_COLLECTOR_INTERVAL: '1s',
      },
    })
    for (const label of ['school', 'mill'])
      assert.is((await service.request('POST', '/v1/sims', { body: { label } })).status, 201)
    browser = await openBrowser(executable)
    const opened = await browser.open(service.url)
    page = opened.page
    problems = opened.problems
    await signInWithToken(page, service.adminToken)
  })
  jobs.after(async () => {
    process.stdout.write(
      `\n| job | presses | fields | s | at most |\n| --- | --- | --- | --- | --- |\n${took.join('')}`,
    )
    await browser?.close()
    await service?.stop()
    await lab?.stop()
    await temp?.[Symbol.asyncDispose]()
  })

  jobs('issues ten SIMs, and prints their handout', () =>
    job('issue ten SIMs and print the handout', { presses: 5, fields: 2, seconds: 60 }, async (hands) => {
      await hands.menu('SIMs')
      await hands.press(button(page, 'Issue SIMs').first())
      await hands.fill(page.getByLabel('Number of SIMs'), '10')
      await hands.fill(page.getByLabel('Label', { exact: true }), 'village')
      await hands.press(button(page, 'Issue 10 SIMs'))
      await hands.press(button(page.getByRole('dialog'), 'Handout'))
      const handout = await saved(() => hands.press(button(page.getByRole('dialog'), 'Download')))
      assert.match(handout.name, /^handout-.*\.html$/)
      assert.is(handout.text.match(/<article /g)?.length, 10)
      assert.match(handout.text, /village 01<.*village 10</s)
      await button(page.getByRole('dialog'), 'Close').click()
    }),
  )

  jobs('finds a person', () =>
    job('find a person', { presses: 2, fields: 1, seconds: 20 }, (hands) => hands.find('school')),
  )

  about(['driver-hss', 'driver-core-a'], jobs)(
    'says why a phone is not on',
    () =>
      job('say why a phone is not on', { presses: 2, fields: 1, seconds: 30 }, async (hands) => {
        const { hash } = await sim('school')
        await hands.find('school')
        const { body } = await service.request('GET', `/v1/sims/${hash}/diagnosis`)
        const why = page.getByRole('region', { name: 'Why is this phone offline?' })
        await why.getByText(body.verdict, { exact: true }).first().waitFor()
      }),
    LIMIT,
  )

  jobs('suspends a SIM, and takes it back', () =>
    job('suspend, and undo it', { presses: 4, fields: 1, seconds: 40 }, async (hands) => {
      await hands.find('school')
      await hands.press(button(page, 'Suspend'))
      await page.getByText(/^school is suspended\./).waitFor()
      assert.is((await sim('school')).state, 'suspended')
      await hands.press(page.getByRole('button', { name: 'Undo' }))
      await eventually(async () => assert.is((await sim('school')).state, 'issued'))
    }),
  )

  about(['fair-use'], jobs)(
    'sets a quota, and tops it up',
    async () => {
      await job('set a quota', { presses: 4, fields: 2, seconds: 40 }, async (hands) => {
        await hands.find('school')
        await hands.press(button(page, 'Set quota'))
        await hands.fill(page.getByLabel('Amount'), '2')
        await hands.press(button(page, 'Save'))
        await page.getByText('0 B of 2 GB this month').waitFor()
        const { body } = await service.request('GET', `/v1/sims/${(await sim('school')).hash}/usage`)
        assert.is(body.quota_bytes, 2_000_000_000)
      })
      await job('top up', { presses: 4, fields: 1, seconds: 40 }, async (hands) => {
        await hands.find('school')
        await hands.press(button(page, 'Top up'))
        await hands.press(button(page.getByRole('dialog'), 'Top up'))
        await page.getByText('0 B of 3 GB this month').waitFor()
      })
    },
    LIMIT,
  )

  jobs('adds a user', () =>
    job('add a user', { presses: 3, fields: 1, seconds: 40 }, async (hands) => {
      await hands.menu('Accounts and tokens')
      await hands.press(button(page, 'Invite a person'))
      await hands.fill(page.getByRole('dialog').getByLabel('Name'), 'night')
      await hands.press(button(page, 'Create link'))
      await page.getByRole('img', { name: 'QR code of Invitation link' }).waitFor()
      const { body } = await service.request('GET', '/v1/users/invitations')
      assert.equal(
        body.invitations.map(({ name }: { readonly name: string }) => name),
        ['night'],
      )
      await page.keyboard.press('Escape')
    }),
  )

  about(['backup'], jobs)(
    'takes a backup',
    () =>
      job('back up', { presses: 3, fields: 0, seconds: 60 }, async (hands) => {
        await hands.menu('Backup and restore')
        const take = page.getByRole('region', { name: 'Take a backup' })
        await hands.press(button(take, 'Generate'))
        const { text } = await saved(() => hands.press(button(take, 'Take a backup')))
        assert.ok(text.length > 10_000)
      }),
    LIMIT,
  )

  jobs('sets country, licence and frequency of a new box, and arms it', async () => {
    await job('set country, licence and frequency', { presses: 6, fields: 5, seconds: 60 }, async (hands) => {
      await hands.press(page.getByRole('link', { name: 'Set up the box' }).first())
      const step = (name: string): Locator => page.getByRole('region', { name })
      const country = step('1. Country')
      await hands.choose(country.getByLabel('Country of the box'), 'DE')
      await hands.press(button(country, 'Save'))
      await country.getByText('The radio follows the rules of Germany').waitFor()
      const license = step('3. Licence')
      await hands.press(license.getByLabel('I have read the licence for this place'))
      await hands.fill(license.getByLabel('Reference'), 'L-7')
      await hands.press(button(license, 'Save rules'))
      await license.getByText('Done').waitFor()
      const spectrum = step('4. Frequencies')
      await hands.press(button(spectrum, 'Add entry'))
      await hands.fill(spectrum.getByLabel('Band'), 'b3')
      await hands.fill(spectrum.getByLabel('From, MHz'), '1815')
      await hands.fill(spectrum.getByLabel('To, MHz'), '1825')
      await hands.press(button(spectrum, 'Save rules'))
      await spectrum.getByText('allowed in DE: 1,815 – 1,825 MHz').first().waitFor()
      const { spectrum: rules } = (await service.request('GET', '/v1/policy')).body
      assert.equal([rules.license.reference, rules.allow_list.length], ['L-7', 1])
    })
    await job('arm, with a new radio profile', { presses: 9, fields: 1, seconds: 60 }, async (hands) => {
      await hands.menu('Radio')
      await hands.press(button(page, 'Add radio profile'))
      const dialog = page.getByRole('dialog')
      await hands.fill(dialog.getByLabel('Profile name'), 'mast')
      await dialog.getByText('Ready to arm').waitFor()
      await hands.press(button(dialog, 'Save'))
      await hands.press(button(page.getByRole('article', { name: 'Profile mast' }), 'Arm mast'))
      for (const point of ['in this country', 'licence is valid', 'licence allows', 'Antenna and power'])
        await hands.press(dialog.getByLabel(point))
      await hands.press(button(dialog, 'Start transmitting'))
      await dialog.waitFor({ state: 'detached' })
      assert.is((await service.request('GET', '/v1/tx/arm')).body.profile, 'mast')
    })
  })

  jobs('follows every key that ? shows, and none of them while somebody types', async () => {
    await goTo(page, '/')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const [titles, keys] = await Promise.all(
      ['dt', 'dd:has(kbd)'].map((part) => help.locator(part).allInnerTexts()),
    )
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    const all = (titles ?? []).map((title, at) => [title, keys?.[at] ?? ''] as const)
    const pages = all.filter(([, key]) => /^[A-Z]$/.test(key))
    assert.ok(pages.length >= 8, JSON.stringify(all))
    for (const [title, key] of pages) {
      await goTo(page, '/account')
      await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
      await page.keyboard.press(key.toLowerCase())
      // What is done on a page stands in a dialog there.
      await page.getByRole('heading', { name: title, exact: true }).first().waitFor()
      if ((await page.locator('dialog[open]').count()) > 0) await page.keyboard.press('Escape')
    }
    await goTo(page, '/sims')
    const typed = `${pages.map(([, key]) => key.toLowerCase()).join('')}/?`
    await page.getByRole('searchbox', { name: 'Search' }).pressSequentially(typed)
    assert.is(await page.getByRole('searchbox', { name: 'Search' }).inputValue(), typed)
    assert.is(new URL(page.url()).pathname, '/sims')
    assert.is(await page.locator('dialog[open]').count(), 0)
    assert.equal(problems, [])
  })

  about(['fair-use'], jobs)(
    'says who uses most',
    async () => {
      const { hash } = await sim('mill')
      const used = { report_id: 'most', source: 'meter', up_bytes: 1_000_000, down_bytes: 7_000_000 }
      assert.is((await service.request('POST', `/v1/sims/${hash}/usage`, { body: used })).status, 200)
      await job('say who uses most', { presses: 1, fields: 0, seconds: 30 }, async (hands) => {
        await hands.menu('Usage')
        const first = page.getByRole('table', { name: 'Top SIMs' }).getByRole('link').first()
        await eventually(async () => assert.is(await first.textContent(), 'mill'))
      })
    },
    LIMIT,
  )
}

jobs.run()
