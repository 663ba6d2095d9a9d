import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { assert, eventually, listen, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Dialog, Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { signInAs, signInWithToken } from '../harness/console-page.ts'
import { addPerson, totpAt } from '../harness/people.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

/** What is typed or shown once is not lost, whatever keys are pressed, whoever comes, and whatever fails. */
const kept = suite('e2e/console-kept', { limitMs: 600_000 })
const executable = findBrowser()
/** A name that is not this machine's own: what browsers give to pages of TLS alone, they do not give there. */
const AFAR = 'box.example'
const ROUNDS = 8

/** A page of a plugin that says where it is, and one that cannot be drawn. */
const NOTES = `
const MODULE = \`export function mount(root, { params }) {
  if (params.place === 'nowhere') throw new Error('there is no such place')
  root.append(Object.assign(document.createElement('h1'), { textContent: 'Notes of ' + params.place }))
}\`
const PANEL = \`import { jsx, t, word } from '/console-files/kit.js'
export const Panel = () => jsx('p', { children: t('notes.kept', { count: 2 }) + ' ' + word('event', 'note.write') })\`
export const plugin = {
  setup: async () => ({
    routes: [{
      method: 'GET', path: '/notes-files/:file', role: 'public', summary: 'files', produces: ['text/javascript'],
      schema: { params: { type: 'object', properties: { file: { type: 'string' } } } },
      handle: async ({ params }) => ({
        body: params.file === 'panel.js' ? PANEL : MODULE,
        headers: { 'Content-Type': 'text/javascript; charset=utf-8' } }),
    }],
  }),
}
`
const PAGES = [
  { path: '/notes/:place', title: { en: 'Note' }, role: 'viewer', module: '/notes-files/page.js' },
]

let temp: TempDir
let service: Service
let browser: Browser

/** A page for who may do all. */
async function asAdmin(path: string): Promise<OpenPage> {
  const opened = await browser.open(service.url + path)
  await signInWithToken(opened.page, service.adminToken)
  return opened
}

/** Answers what the page asks before it is left, and counts how often it did. */
function answering(page: Page, isLeft: boolean): { asked: number } {
  const questions = { asked: 0 }
  page.on('dialog', (dialog: Dialog) => {
    questions.asked += 1
    void (isLeft ? dialog.accept() : dialog.dismiss())
  })
  return questions
}

if (executable !== undefined) {
  kept.before(async () => {
    temp = await tempDir()
    service = await startService({ dataDir: temp.path, env: { SVC_HSS_DRIVER: 'none' } })
    browser = await openBrowser(executable)
  })
  kept.after(async () => {
    await browser?.close()
    await service?.stop()
    await temp?.[Symbol.asyncDispose]()
  })

  kept('asks before Back leaves what is typed behind, and stays with all of it', async () => {
    const { page, problems } = await asAdmin('/')
    const menu = page.getByRole('navigation')
    await menu.getByRole('link', { name: 'Rules' }).click()
    const days = page.getByLabel('Keep audit trail, days')
    await days.fill('512')
    const questions = answering(page, false)
    await page.goBack()
    await eventually(() => assert.is(questions.asked, 1))
    await eventually(() => assert.is(new URL(page.url()).pathname, '/rules'))
    assert.is(await days.inputValue(), '512')
    page.removeAllListeners('dialog')
    const second = answering(page, true)
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    assert.is(second.asked, 1)
    assert.equal(problems, [])
    await page.close()
  })

  kept('asks before pasted cards are left behind with the tab', async () => {
    const { page } = await asAdmin('/sims/import')
    await page.getByText('Paste rows instead').click()
    await page.getByLabel('Rows', { exact: true }).fill('imsi,ki,opc\n999990000004711,00,00')
    const questions = answering(page, true)
    await page.reload()
    assert.is(questions.asked, 1)
    await page.close()
  })

  kept('keeps a link that is shown once, however often Escape is pressed', async () => {
    const { page, problems } = await asAdmin('/people')
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('grace')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const shown = dialog.getByRole('img', { name: /QR code/ })
    await shown.waitFor()
    // The browser itself closes a dialog that has refused to be closed.
    for (let press = 0; press < 6; press++) await page.keyboard.press('Escape')
    await eventually(async () => assert.ok(await shown.isVisible()))
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(problems, [])
    await page.close()
  })

  kept('gives the focus back to what opened a dialog when Escape closes it', async () => {
    // One that is there while it is open, two that are there and opened, one in the frame of all pages.
    const openers = [
      ['/people', /^Invite a person$/],
      ['/sims', /^Issue SIMs$/],
      ['/system', /^Check the time$/],
      ['/system', /^Search/],
    ] as const
    for (const [path, name] of openers) {
      const { page, problems } = await asAdmin(path)
      const opener = page.getByRole('button', { name }).first()
      const dialog = page.getByRole('dialog')
      for (const open of [() => opener.click(), () => opener.press('Enter')]) {
        await open()
        await dialog.waitFor()
        assert.not.ok(await opener.evaluate((one) => one.ownerDocument.activeElement === one))
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        const hasFocus = await opener.evaluate((one) => one.ownerDocument.activeElement === one)
        assert.ok(hasFocus, `${path} ${name}`)
      }
      assert.equal(problems, [])
      await page.close()
    }
  })

  kept(
    'shows every place of the page of a plugin, and goes on when one cannot be drawn, or an address says nonsense',
    async () => {
      const panels = [{ on: 'system', role: 'viewer', module: '/notes-files/panel.js' }]
      const manifest = { paths: { '/notes-files': {} }, metrics: {}, pages: PAGES, panels, texts: './texts' }
      const dir = installVersion(service.dataDir, { id: 'notes', version: '1.0.0', code: NOTES, manifest })
      mkdirSync(join(dir, 'texts'))
      const texts = { 'notes.kept': '{count} {count|note is|notes are} kept.', 'event.note.write': 'A note' }
      writeFileSync(join(dir, 'texts/en.json'), JSON.stringify(texts))
      assert.is((await service.request('POST', '/v1/plugins/notes/load', { body: {} })).status, 200)
      const { page, problems } = await asAdmin('/notes/harbour')
      const at = async (path: string): Promise<void> => {
        await page.evaluate(
          `document.body.append(Object.assign(document.createElement('a'), { href: '${path}', id: 'there' }))`,
        )
        await page.evaluate(
          `document.getElementById('there').click(); document.getElementById('there').remove()`,
        )
      }
      await page.getByRole('heading', { name: 'Notes of harbour' }).waitFor()
      await at('/notes/mast')
      await page.getByRole('heading', { name: 'Notes of mast' }).waitFor()
      assert.is(await page.getByRole('heading', { name: 'Notes of harbour' }).count(), 0)
      await at('/notes/nowhere')
      await page.getByText('there is no such place').waitFor()
      await at('/audit?from=yesterday&to=never')
      await page.getByRole('table', { name: 'Audit trail' }).waitFor()
      await at('/system')
      const panel = page.getByText('2 notes are kept. A note')
      await panel.waitFor()
      assert.is((await service.request('POST', '/v1/plugins/notes/unload', { body: {} })).status, 200)
      await panel.waitFor({ state: 'detached' })
      assert.equal(problems, [])
      await page.close()
    },
  )

  kept('belongs to who has signed in last in this browser, in each of its tabs', async () => {
    const [ada, ben] = [
      await addPerson(service, 'ada', ['admin']),
      await addPerson(service, 'ben', ['viewer']),
    ]
    const { page, problems } = await browser.open(`${service.url}/people`)
    await signInAs(page, ada)
    await page.getByRole('button', { name: 'Invite a person' }).waitFor()
    const opening = page.waitForEvent('popup')
    await page.evaluate("void open('/')")
    const other = await opening
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    await signInAs(other, ben)
    await page.getByRole('banner').getByText('Signed in as ben').waitFor()
    assert.is(await page.getByRole('button', { name: 'Invite a person' }).count(), 0)
    assert.equal(problems, [])
    await page.context().clearCookies()
    await other.close()
    await page.close()
  })
  kept(
    'is not of the one and by the cookie of another, when that has come into the browser meanwhile',
    async () => {
      const [emil, fay] = [
        await addPerson(service, 'emil', ['admin']),
        await addPerson(service, 'fay', ['viewer']),
      ]
      const { page } = await browser.open(`${service.url}/people`)
      await signInAs(page, emil)
      await page.getByRole('button', { name: 'Invite a person' }).waitFor()
      const login = { username: 'fay', password: fay.password, code: totpAt(fay.totp_uri, Date.now()) }
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(login),
      }
      assert.is(
        await page.evaluate(`fetch('/v1/auth/login', ${JSON.stringify(init)}).then((r) => r.status)`),
        200,
      )
      const { body } = await service.request('GET', '/v1/auth/sessions?limit=500')
      for (const { id, user_name: name } of body.sessions)
        if (name === 'emil') await service.request('DELETE', `/v1/auth/sessions/${id}`)
      await page.getByRole('banner').getByText('Signed in as fay').waitFor()
      assert.is(await page.getByRole('button', { name: 'Invite a person' }).count(), 0)
      await page.context().clearCookies()
      await page.close()
    },
  )

  kept(
    'keeps the session of two tabs that go on with it at once, from afar without TLS, where browsers give no locks',
    async () => {
      const rules = `MAP ${AFAR} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`
      await using fromAfar = await openBrowser(executable, [`--host-resolver-rules=${rules}`])
      const { page } = await fromAfar.open(service.url.replace('127.0.0.1', AFAR))
      assert.is(await page.evaluate('typeof navigator.locks'), 'undefined')
      await signInAs(page, await addPerson(service, 'cleo', ['viewer']))
      const opening = page.waitForEvent('popup')
      await page.evaluate("void open('/')")
      const other = await opening
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all([page, other].map((tab) => tab.reload()))
        for (const tab of [page, other]) {
          await tab.getByRole('heading', { level: 1 }).waitFor()
          assert.is(await tab.getByRole('heading', { level: 1 }).textContent(), 'Overview')
        }
      }
    },
  )

  kept('keeps the session of a page that is loaded again while its refresh is under way', async () => {
    const { hostname, port } = new URL(service.url)
    let isHeld = false
    const held: (() => void)[] = []
    const between = createServer((asked, answer) => {
      const { url: path = '', method, headers } = asked
      const onward = request({ hostname, port, path, method, headers }, (from) => {
        const pass = (): void => void from.pipe(answer.writeHead(from.statusCode ?? 0, from.headers))
        if (isHeld && path === '/v1/auth/refresh') held.push(pass)
        else pass()
      })
      asked.pipe(onward)
    })
    const way = await listen(between, hostname)
    const { page } = await browser.open(`${way.url}/`)
    try {
      await signInAs(page, await addPerson(service, 'dora', ['viewer']))
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      isHeld = true
      await page.reload()
      // The service has made the next cookie, and the browser has not got it.
      await eventually(() => assert.is(held.length, 1))
      await page.reload()
      isHeld = false
      for (const pass of held) pass()
      await page.getByRole('heading', { level: 1, name: /Overview|Sign in/ }).waitFor()
      assert.is(await page.getByRole('heading', { level: 1 }).textContent(), 'Overview')
    } finally {
      await page.context().clearCookies()
      await page.close()
      await way.close()
    }
  })
}

kept.run()
