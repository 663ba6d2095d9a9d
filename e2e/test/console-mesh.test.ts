import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { isAccessible, signInWithToken } from '../harness/console-page.ts'
import { type Box, makeBox } from '../harness/mesh/box.ts'
import { joinMesh, membersAt } from '../harness/mesh/mesh.ts'
import { boxPlace, makeLan } from '../harness/mesh/places.ts'

enterOwnMachine(import.meta.filename)

/** Two boxes, and the console of each: how one joins the mesh of the other and leaves it, how they are linked by hand, and
 * how one accepts a third that it hears of. */
const mesh = suite('e2e/console-mesh')
const LIMIT = { limitMs: 900_000 }
const executable = findBrowser()
const folder = mkdtempSync(join(tmpdir(), 'steeple-console-mesh-'))

let mast: Box
let hill: Box
let field: Box
let browser: Browser
let atMast: OpenPage
let atHill: OpenPage

/** Invites a person to all boxes by the page of the root, which shows a token for each. */
async function inviteToGroup(root: Page): Promise<void> {
  const group = { members: { all: true }, state: {} }
  assert.is((await mast.ask('PUT', '/v1/groups/villages', group)).status, 200)
  const row = root.getByRole('table', { name: 'Groups of boxes' })
  await row.getByRole('button', { name: 'Invite', exact: true }).click()
  const dialog = root.getByRole('dialog')
  await dialog.getByLabel('Name of the person').fill('grace')
  await dialog.getByLabel('operator').check()
  await isAccessible(root, 'inviting a person to a group')
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  const tokens = root.getByRole('dialog', { name: 'Links for grace' })
  await tokens
    .getByRole('listitem')
    .getByText(/^svci_/)
    .waitFor()
  await isAccessible(root, 'the tokens of a person')
  await tokens.getByRole('button', { name: 'Close', exact: true }).click()
  const { groups } = (await mast.ask('GET', '/v1/groups')).body
  assert.equal(groups[0].invitations[0].roles, ['viewer', 'operator'])
  await mast.ask('DELETE', '/v1/groups/villages')
}

/** What a page says of a box in a list of facts. */
const fact = async (page: Page, term: string): Promise<string> =>
  (await page
    .getByRole('region', { name: 'This box' })
    .getByRole('term')
    .filter({ hasText: new RegExp(`^${term}$`) })
    .locator('xpath=following-sibling::dd[1]')
    .getByRole('code')
    .textContent()) ?? ''

/** The page of the mesh of a box, for who may do all. */
async function entered(box: Box): Promise<OpenPage> {
  const opened = await browser.open(`${box.url}/mesh`)
  await signInWithToken(opened.page, box.adminToken)
  return opened
}

const selfOf = async (box: Box) => (await box.ask('GET', '/v1/peers/self')).body
const peersOf = async (box: Box): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await box.ask('GET', '/v1/peers')).body.peers

if (executable !== undefined) {
  mesh.before(async () => {
    makeLan()
    const [first, second] = [await boxPlace(1), await boxPlace(2)]
    mast = await makeBox({ name: 'mast', place: first, folder: join(folder, 'mast') })
    hill = await makeBox({
      name: 'hill',
      place: second,
      folder: join(folder, 'hill'),
      env: { SVC_PEERING_BACKHAUL_CAP_BYTES: '2000' },
    })
    await Promise.all([mast.start(), hill.start()])
    browser = await openBrowser(executable, [
      '--ignore-certificate-errors',
      `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${first.address}, EXCLUDE ${second.address}`,
    ])
    atMast = await entered(mast)
    atHill = await entered(hill)
  }, LIMIT)
  mesh.after(async () => {
    await browser?.close()
    await Promise.all([mast?.kill(), hill?.kill(), field?.kill()])
    rmSync(folder, { recursive: true, force: true })
  }, LIMIT)

  mesh(
    'shows a box that was heard of nearby, and says why one of another mesh is not taken',
    async () => {
      const { page } = atMast
      const heard = page.getByRole('article', { name: 'hill' })
      await heard.getByText('Certificate fingerprint').waitFor()
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
      await root.getByRole('dialog').getByRole('button', { name: 'Create invitation' }).click()
      const command = (await root.getByRole('dialog').getByText('svc node join').textContent()) ?? ''
      await guest.getByRole('button', { name: 'Join a mesh' }).click()
      const dialog = guest.getByRole('dialog')
      await dialog.getByLabel('Invitation').fill('mast, please')
      await dialog.getByRole('button', { name: 'Join', exact: true }).click()
      await dialog.getByText('Enter an address that begins with https:// and a token.').waitFor()
      await dialog.getByLabel('Invitation').fill(command)
      await dialog.getByRole('button', { name: 'Join', exact: true }).click()
      await guest.getByRole('dialog', { name: 'This box is in mast now' }).waitFor()
      await isAccessible(guest, 'a box that has joined')
      await dialog.getByRole('button', { name: 'Close', exact: true }).click()
      await root.getByRole('dialog').getByRole('button', { name: /^Done/ }).click()
      await root.getByRole('table', { name: 'Members of mast' }).getByText('hill').waitFor()
      const before = (await selfOf(hill)).public_key
      await guest.getByRole('button', { name: 'Change key' }).click()
      await dialog.getByRole('button', { name: 'Change key' }).click()
      await eventually(async () => assert.is.not((await selfOf(hill)).public_key, before), 180_000)
      await eventually(async () =>
        assert.is(await fact(guest, 'Public key'), (await selfOf(hill)).public_key),
      )
      await inviteToGroup(root)
      await guest.getByRole('button', { name: 'Leave mesh' }).click()
      await dialog.getByText('are revoked at once').waitFor()
      await isAccessible(guest, 'leaving')
      await dialog.getByRole('button', { name: 'Leave', exact: true }).click()
      await guest.getByRole('button', { name: 'Join a mesh' }).waitFor()
      assert.is((await mast.ask('GET', '/v1/mesh/members')).body.members.length, 1)
      await root.getByText('this box is the root; 1 member').waitFor()
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
        await dialog.getByLabel('Address').fill(`wg://${other.place.address}:51820`)
        await dialog.getByLabel('Public key').fill(await fact(seen, 'Public key'))
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
        await page.getByText('No other box is linked').waitFor()
      }
      assert.equal([...atMast.problems, ...atHill.problems], [])
    },
    LIMIT,
  )

  mesh(
    'shows by month what the way out has carried, and that it is all that it may carry',
    async () => {
      const carried = async (box: Box): Promise<number> =>
        (await box.ask('GET', '/v1/mesh/backhaul')).body.months[0]?.total_bytes ?? 0
      for (const box of [mast, hill])
        await eventually(async () => assert.ok((await carried(box)) > 2_000), 180_000)
      const seen = async ({ page }: OpenPage) => {
        await page.reload()
        const months = page.getByRole('region', { name: 'Backhaul by month' })
        await months.getByText('e0', { exact: true }).waitFor()
        assert.is(await months.getByRole('table').getByRole('row').count(), 2)
        return months
      }
      const allowance = 'The monthly limit is reached.'
      assert.is(await (await seen(atMast)).getByText(allowance).count(), 0)
      await (await seen(atHill)).getByText(allowance).waitFor()
      await isAccessible(atHill.page, 'a backhaul that is used up')
      const { components } = (await hill.ask('GET', '/v1/health')).body
      const found = components.find(({ name }: { readonly name: string }) => name === 'mesh.backhaul')
      assert.is(found?.status, 'degraded')
    },
    LIMIT,
  )

  mesh(
    'accepts a box of the same mesh that it hears of while the root is away',
    async () => {
      field = await makeBox({ name: 'field', place: await boxPlace(3), folder: join(folder, 'field') })
      await field.start()
      await joinMesh(hill, mast)
      await eventually(async () => {
        const told = (await membersAt(mast)).find(({ name }) => name === 'hill')
        assert.ok(told?.wireguard, 'the root knows how hill is linked')
      }, 180_000)
      await atHill.page.close()
      // Its list knows nobody who joins from now on.
      await hill.stop()
      await joinMesh(field, mast)
      await eventually(async () => {
        const told = (await membersAt(field)).filter(({ wireguard }) => wireguard !== null)
        assert.equal(told.map(({ name }) => name).toSorted(), ['field', 'hill', 'mast'])
      }, 180_000)
      await mast.stop()
      await hill.start()
      const itsPeer = async () => (await peersOf(hill)).find(({ node_id: id }) => id === field.nodeId)
      await eventually(async () => assert.is((await itsPeer())?.state, 'suggested'), 180_000)
      const { page, problems } = await entered(hill)
      const heard = page.getByRole('article', { name: 'field' })
      const shown = (await heard.getByRole('code').textContent()) ?? ''
      assert.is(shown.replaceAll(/[^0-9a-f]/g, ''), (await itsPeer())?.fingerprint)
      await heard.getByRole('button', { name: 'Accept' }).click()
      await page.getByText('field is linked now.').waitFor()
      await heard.waitFor({ state: 'detached' })
      const link = page.getByRole('table', { name: 'Links' }).getByRole('row', { name: /field/ })
      await eventually(async () => assert.is((await itsPeer())?.state, 'active'), 180_000)
      await link.getByText('active', { exact: true }).waitFor()
      assert.is((await itsPeer())?.source, 'mdns')
      assert.equal(problems, [])
    },
    LIMIT,
  )
}

/** The key of the first box changes: its operator reads the next one, and that of the other box types it. */
async function changeKeyByHand(): Promise<void> {
  const [{ page: mine }, { page: theirs }] = [atMast, atHill]
  await mine.getByRole('button', { name: 'Change key' }).click()
  await mine.getByRole('dialog').getByRole('button', { name: 'Change key' }).click()
  await mine.getByText('The key changes when these boxes know the next one: hill.').first().waitFor()
  const next = await fact(mine, 'Next key')
  await theirs.getByRole('table', { name: 'Links' }).getByRole('button', { name: 'mast' }).click()
  const dialog = theirs.getByRole('dialog')
  await dialog.getByLabel('Its next key').fill(next)
  await dialog.getByRole('button', { name: 'Set next key' }).click()
  await theirs.getByText('This box waits for the next key of mast.').waitFor()
  await isAccessible(theirs, 'a next key')
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  await mine.getByRole('button', { name: 'Change key' }).click()
  await mine.getByRole('dialog').getByLabel('Change now, without waiting for all boxes').check()
  await mine.getByRole('dialog').getByRole('button', { name: 'Change key' }).click()
  await eventually(async () => assert.is((await selfOf(mast)).public_key, next), 180_000)
  const known = async () =>
    (await peersOf(hill)).find(({ name, source }) => name === 'mast' && source === 'static')
  await eventually(async () => assert.is((await known())?.public_key, next), 180_000)
  await eventually(async () => assert.is((await known())?.state, 'active'), 180_000)
}

mesh.run()
