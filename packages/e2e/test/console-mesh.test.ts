import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { isAccessible, signInWithToken } from '../harness/console-page.ts'
import { type Box, makeBox } from '../harness/mesh/box.ts'
import { boxPlace, makeLan } from '../harness/mesh/places.ts'

enterOwnMachine(import.meta.filename)

/** Two boxes, and the console of each: how one joins the mesh of the other and leaves it, and how they are linked by hand. */
const mesh = suite('e2e/console-mesh')
const LIMIT = { limitMs: 900_000 }
const executable = findBrowser()
const folder = mkdtempSync(join(tmpdir(), 'steeple-console-mesh-'))

let mast: Box
let hill: Box
let browser: Browser
let atMast: OpenPage
let atHill: OpenPage

/** What a page says of a box in a list of facts. */
const fact = async (page: Page, term: string): Promise<string> =>
  (await page
    .getByRole('region', { name: 'This box' })
    .getByRole('term')
    .filter({ hasText: new RegExp(`^${term}$`) })
    .locator('xpath=following-sibling::dd[1]')
    .getByRole('code')
    .textContent()) ?? ''

const selfOf = async (box: Box) => (await box.ask('GET', '/v1/peers/self')).body
const peersOf = async (box: Box): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await box.ask('GET', '/v1/peers')).body.peers

if (executable !== undefined) {
  mesh.before(async () => {
    makeLan()
    const [first, second] = [await boxPlace(1), await boxPlace(2)]
    mast = await makeBox({ name: 'mast', place: first, folder: join(folder, 'mast') })
    hill = await makeBox({ name: 'hill', place: second, folder: join(folder, 'hill') })
    await Promise.all([mast.start(), hill.start()])
    browser = await openBrowser(executable, [
      '--ignore-certificate-errors',
      `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${first.address}, EXCLUDE ${second.address}`,
    ])
    const entered = async (box: Box): Promise<OpenPage> => {
      const opened = await browser.open(`${box.url}/mesh`)
      await signInWithToken(opened.page, box.adminToken)
      return opened
    }
    atMast = await entered(mast)
    atHill = await entered(hill)
  }, LIMIT)
  mesh.after(async () => {
    await browser?.close()
    await Promise.all([mast?.kill(), hill?.kill()])
    rmSync(folder, { recursive: true, force: true })
  }, LIMIT)

  mesh(
    'shows a box that was heard of nearby, and says why one of another mesh is not taken',
    async () => {
      const { page } = atMast
      const heard = page.getByRole('article', { name: 'hill' })
      await heard.getByText('Fingerprint of its certificate').waitFor()
      await isAccessible(page, 'a box nearby')
      await heard.getByRole('button', { name: 'Accept' }).click()
      await heard.getByRole('alert').getByText('peer_untrusted').waitFor()
      assert.ok((await peersOf(mast)).every(({ state }) => state === 'suggested'))
    },
    LIMIT,
  )

  mesh(
    'lets a box join by what is pasted, change its key, and leave',
    async () => {
      const [{ page: root }, { page: guest }] = [atMast, atHill]
      await root.getByRole('button', { name: 'Invite a box' }).click()
      await root.getByRole('dialog').getByRole('button', { name: 'Make the invitation' }).click()
      const command = (await root.getByRole('dialog').getByText('svc node join').textContent()) ?? ''
      await guest.getByRole('button', { name: 'Join a mesh' }).click()
      const dialog = guest.getByRole('dialog')
      await dialog.getByLabel('Invitation').fill('mast, please')
      await dialog.getByRole('button', { name: 'Join', exact: true }).click()
      await dialog.getByText('An address that begins with https:// and a token are needed.').waitFor()
      await dialog.getByLabel('Invitation').fill(command)
      await dialog.getByRole('button', { name: 'Join', exact: true }).click()
      await guest.getByRole('dialog', { name: 'This box is in mast' }).waitFor()
      await isAccessible(guest, 'a box that has joined')
      await dialog.getByRole('button', { name: 'Close', exact: true }).click()
      await root.getByRole('dialog').getByRole('button', { name: /^Done/ }).click()
      await root.getByRole('table', { name: 'Members of mast' }).getByText('hill').waitFor()
      const before = (await selfOf(hill)).public_key
      await guest.getByRole('button', { name: 'Change the key' }).click()
      await dialog.getByRole('button', { name: 'Change the key' }).click()
      await eventually(async () => assert.is.not((await selfOf(hill)).public_key, before), 180_000)
      await eventually(async () =>
        assert.is(await fact(guest, 'Public key'), (await selfOf(hill)).public_key),
      )
      await guest.getByRole('button', { name: 'Leave the mesh' }).click()
      await dialog.getByText('are revoked at once').waitFor()
      await isAccessible(guest, 'leaving')
      await dialog.getByRole('button', { name: 'Leave', exact: true }).click()
      await guest.getByRole('button', { name: 'Join a mesh' }).waitFor()
      assert.is((await mast.ask('GET', '/v1/mesh/members')).body.members.length, 1)
      await root.getByText('of which this box is the root, with 1 member').waitFor()
    },
    LIMIT,
  )

  mesh(
    'links two boxes by hand, tells one the next key of the other, and parts them',
    async () => {
      const sides = [
        { page: atMast.page, other: hill, network: '10.22.0.1/32', seen: atHill.page },
        { page: atHill.page, other: mast, network: '10.21.0.1/32', seen: atMast.page },
      ]
      for (const { page, other, network, seen } of sides) {
        await page.getByRole('button', { name: 'Link a box by hand' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Name').fill(other.name)
        await dialog.getByLabel('Reached at').fill(`wg://${other.place.address}:51820`)
        await dialog.getByLabel('Its public key').fill(await fact(seen, 'Public key'))
        await dialog.getByLabel('Networks behind it').fill(network)
        await dialog.getByRole('button', { name: 'Link', exact: true }).click()
        await page.getByText(`${other.name} is linked.`).waitFor()
      }
      for (const { page } of sides)
        await page.getByRole('table', { name: 'Links' }).getByText('active', { exact: true }).waitFor()
      await isAccessible(atMast.page, 'a link by hand')
      await changeKeyByHand()
      for (const { page, other } of sides) {
        await page.getByRole('table', { name: 'Links' }).getByRole('button', { name: other.name }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
        await page
          .getByRole('dialog')
          .getByRole('button', { name: /^Remove/ })
          .click()
        await page.getByText('No other box is linked.').waitFor()
      }
      assert.equal([...atMast.problems, ...atHill.problems], [])
    },
    LIMIT,
  )
}

/** The key of the first box changes: its operator reads the next one, and that of the other box types it. */
async function changeKeyByHand(): Promise<void> {
  const [{ page: mine }, { page: theirs }] = [atMast, atHill]
  await mine.getByRole('button', { name: 'Change the key' }).click()
  await mine.getByRole('dialog').getByRole('button', { name: 'Change the key' }).click()
  await mine.getByText('The key changes once these know of it: hill.').first().waitFor()
  const next = await fact(mine, 'Next key')
  await theirs.getByRole('table', { name: 'Links' }).getByRole('button', { name: 'mast' }).click()
  const dialog = theirs.getByRole('dialog')
  await dialog.getByLabel('Its next key').fill(next)
  await dialog.getByRole('button', { name: 'Prepare for it' }).click()
  await theirs.getByText('The next key of mast is awaited.').waitFor()
  await isAccessible(theirs, 'a next key')
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  await mine.getByRole('button', { name: 'Change the key' }).click()
  await mine.getByRole('dialog').getByLabel('Go over now, whoever knows of it').check()
  await mine.getByRole('dialog').getByRole('button', { name: 'Change the key' }).click()
  await eventually(async () => assert.is((await selfOf(mast)).public_key, next), 180_000)
  const known = async () =>
    (await peersOf(hill)).find(({ name, source }) => name === 'mast' && source === 'static')
  await eventually(async () => assert.is((await known())?.public_key, next), 180_000)
  await eventually(async () => assert.is((await known())?.state, 'active'), 180_000)
}

mesh.run()
