import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { misfits } from '../harness/console-look.ts'
import { goTo } from '../harness/console-page.ts'
import { type ConsoleWorld, consoleWorld } from '../harness/console-world.ts'
import { createClient } from '../harness/http-client.ts'
import { addPerson } from '../harness/people.ts'

/** What people have stumbled over: names that were cut, words that broke, questions in another language, ways that ended late. */
const layout = suite('e2e/console-layout', { limitMs: 600_000 })
const PHONE = { width: 360, height: 780 }
const DESK = { width: 1_280, height: 900 }
const executable = findBrowser()

let temp: TempDir
let world: ConsoleWorld
let browser: Browser
let person: string

/** A page of the console in German, for who may do all. */
async function german(address: string): Promise<Page> {
  // Any address of the service's: the console is loaded once, when there is a token.
  const { page } = await browser.open(`${world.service.url}/v1/healthz`, 'de')
  await page.evaluate(`sessionStorage.setItem('steeple.token', '${world.service.adminToken}')`)
  await page.goto(world.service.url + address)
  await page.getByRole('button', { name: 'Abmelden' }).waitFor()
  return page
}

/** In how many lines the text of the first thing that fits stands. */
const linesOf = (page: Page, selector: string): Promise<number> =>
  page.evaluate<number>(`(() => {
    const range = document.createRange()
    range.selectNodeContents(document.querySelector('${selector}'))
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 8))).size
  })()`)

if (executable !== undefined) {
  layout.before(async () => {
    temp = await tempDir()
    world = await consoleWorld(temp.path)
    person = `/people/${(await addPerson(world.service, 'krbb', ['operator'])).id}`
    browser = await openBrowser(executable)
  })
  layout.after(async () => {
    await browser?.close()
    await world?.close()
    await temp?.[Symbol.asyncDispose]()
  })

  layout(
    'keeps the name of the box readable on a phone, dates whole, and cards ordered by a choice',
    async () => {
      const page = await german(person)
      await page.setViewportSize(PHONE)
      const since = page.getByRole('main').getByRole('time').first()
      await since.waitFor()
      const name = page.locator('.box-name')
      assert.ok(((await name.boundingBox())?.width ?? 0) > 150, 'the name has room')
      assert.ok((await linesOf(page, 'main time')) <= 2)
      assert.match((await since.textContent()) ?? '', /\d{2}\.\d{2}\.\d{4}/)
      assert.equal(await misfits(page), [])
      await goTo(page, '/plugins')
      const names = page.getByRole('table').getByRole('link')
      await names.first().waitFor()
      const [first] = await names.allTextContents()
      assert.is(await page.getByRole('table').getByRole('button', { name: 'Name' }).count(), 0)
      // Before what a card holds stands what that is.
      const said = await page.evaluate<readonly (readonly [string, string])[]>(
        `[...document.querySelectorAll('.rows tbody td[data-title]:not(.wide-only)')].map((cell) =>
          [JSON.stringify(cell.dataset.title), getComputedStyle(cell, '::before').content])`,
      )
      assert.ok(said.length > 0)
      for (const [title, content] of said) assert.ok(content.startsWith(title), `${title}: ${content}`)
      await page.getByLabel('Ordnen nach').selectOption({ label: 'Name ↓' })
      await eventually(async () => assert.is((await names.allTextContents()).at(-1), first))
      assert.equal(await misfits(page), [])
      await page.close()
    },
  )

  layout('breaks no card number and no id at a desk, and says of a session that it goes on', async () => {
    const page = await german('/sims')
    await page.setViewportSize(DESK)
    await page.getByRole('link', { name: 'School' }).waitFor()
    for (const cell of await page.locator('td.tight').all())
      assert.ok(((await cell.boundingBox())?.height ?? 0) < 60, (await cell.textContent()) ?? undefined)
    assert.is(await linesOf(page, 'td code'), 1)
    assert.equal(await misfits(page), [])
    await goTo(page, '/sessions')
    await page.getByTitle('Noch nicht beendet').waitFor()
    assert.equal(await misfits(page), [])
    await page.close()
  })

  layout('keeps the menu in sight on a long page, and a light on the line of its row', async () => {
    const page = await german('/rules')
    await page.setViewportSize(DESK)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const first = page.getByRole('navigation').getByRole('link').first()
    await page.getByRole('heading', { level: 2 }).last().scrollIntoViewIfNeeded()
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await eventually(async () => assert.ok((await page.evaluate<number>('scrollY')) > 300))
    await eventually(async () => assert.ok(((await first.boundingBox())?.y ?? -1) >= 0, 'it scrolled away'))
    await goTo(page, '/sims')
    await page.getByRole('link', { name: 'School' }).click()
    await page.locator('dl.facts dd .lamp').first().waitFor()
    const above = await page.evaluate<
      readonly number[]
    >(`[...document.querySelectorAll('dl.facts dd .lamp')].map((lamp) => {
      const topOf = (node) => {
        const range = document.createRange()
        range.selectNodeContents(node)
        return range.getBoundingClientRect().top
      }
      return Math.abs(topOf(lamp.lastChild) - topOf(lamp.closest('dd').previousElementSibling))
    })`)
    assert.ok(above.length > 0 && above.every((pixels) => pixels <= 1), above.join(' '))
    await page.close()
  })

  layout(
    "asks for what is missing at the field and in the reader's language, and takes a suspension back by a key",
    async () => {
      const { page } = await browser.open(world.service.url, 'de')
      await page.getByRole('button', { name: 'Anmelden', exact: true }).click()
      const name = page.getByLabel('Name')
      assert.is(await name.getAttribute('aria-invalid'), 'true')
      assert.is(await name.evaluate((one) => one.ownerDocument.activeElement === one), true)
      const described = (await name.getAttribute('aria-describedby')) ?? ''
      assert.is(await page.locator(`#${described}`).textContent(), 'Füllen Sie das aus.')
      assert.is(await page.getByText('Füllen Sie das aus.').count(), 3)
      await name.fill('ada')
      assert.is(await name.getAttribute('aria-invalid'), 'false')
      await page.close()
      const own = await german(`/sims/${world.subscriber}`)
      const stateNow = async () =>
        (await world.service.request('GET', `/v1/sims/${world.subscriber}`)).body.state
      const before = await stateNow()
      await own.getByRole('button', { name: 'Sperren' }).click()
      await own.getByRole('button', { name: 'Rückgängig' }).waitFor()
      assert.is(await stateNow(), 'suspended')
      await own.keyboard.press('Control+z')
      await eventually(async () => assert.is(await stateNow(), before))
      await own.close()
    },
  )

  layout('says that nobody can be invited without TLS before anything is filled in', async () => {
    const page = await german('/mesh')
    await page.getByRole('link', { name: 'Wie man das setzt' }).waitFor()
    assert.is(await page.getByRole('button', { name: 'Eine Box einladen' }).isDisabled(), true)
    await page.getByRole('link', { name: 'Wie man das setzt' }).click()
    await page.getByText('tls.enabled', { exact: true }).first().waitFor()
    await page.close()
  })

  layout('shows a page of its own at what looks like another host, and leads nobody there', async () => {
    const { url } = world.service
    const { page } = await browser.open(`${url}//evil.example/`)
    await page.getByRole('button', { name: 'New box? Enter its token' }).waitFor()
    assert.is(new URL(page.url()).origin, url)
    await page.close()
    const client = createClient(url, 1)
    for (const path of [
      '//evil.example/',
      '//evil.example/docs',
      '/%5Cevil.example',
      '//evil.example/%2e%2e',
    ]) {
      const answer = await client.send({ method: 'GET', path, headers: { accept: 'text/html' } })
      assert.is(answer.headers.location, undefined, path)
      assert.is(answer.status, 200, path)
      assert.match(String(answer.headers['content-type']), 'text/html', path)
    }
    client.close()
  })
}

layout.run()
