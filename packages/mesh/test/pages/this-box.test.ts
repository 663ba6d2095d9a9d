import { type Answers, h, inBrowser, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { ThisBox } = await import('../../pages/this-box.tsx')

/** What is done about the mesh of a box: others are invited, it joins, links by hand, and changes its key. */
const box = suite('mesh/pages/this-box')
inBrowser(box)

const SELF = {
  ...{ problem: null, address: '10.90.0.1', listen_port: 51_820, interface: 'svc0', public_key: 'mine' },
  ...{ next_public_key: null, waiting_for: [] },
}
const MEMBERS = { mesh: { name: 'mast', root_node_id: 'n1' }, members: [{ node_id: 'n1' }] }

async function shown(answers: Answers) {
  let changes = 0
  const props = { members: MEMBERS as never, nodeId: 'n1', onChange: () => (changes += 1) }
  const page = await show(() => h(ThisBox, props), { 'GET /v1/peers/self': SELF, ...answers })
  return { page, changes: () => changes }
}

box('shows an invitation once it is made, and keeps the name that was refused', async () => {
  const { page } = await shown({ 'POST /v1/mesh/invite': new Refusal(409, 'capacity_exceeded') })
  await page.press('Invite a box')
  await page.put(page.labels().at(-1) ?? '', ' hill ')
  await page.press('Create invitation')
  assert.match(page.text(), 'capacity_exceeded')
  const [url, token] = ['https://10.90.0.1:8443', 'a'.repeat(43)]
  const command = `echo ${token} | svc node join - ${url}`
  page.answer({
    'POST /v1/mesh/invite': { command, expires_at: '2999-01-01T00:00:00Z', ca_words: 'one two three' },
  })
  await page.press('Create invitation')
  assert.equal(page.changes(), [
    ['POST /v1/mesh/invite', { name: 'hill' }],
    ['POST /v1/mesh/invite', { name: 'hill' }],
  ])
  for (const part of [command, 'one two three']) assert.match(page.text(), part)
})

box('joins by a whole command that was pasted, and sends nothing that is none', async () => {
  const joined = { mesh: { name: 'mast' }, overlay_address: '10.90.0.2', ca_words: 'one two three' }
  const { page, changes } = await shown({ 'POST /v1/mesh/join': joined })
  await page.press('Join a mesh')
  await page.put('Invitation', 'mast, please')
  await page.press('Join')
  assert.match(page.complaint('Invitation'), 'https://')
  assert.equal(page.changes(), [])
  const token = 'b'.repeat(43)
  await page.put('Invitation', `echo ${token} | svc node join - https://10.90.0.1:8443`)
  await page.press('Join')
  assert.equal(page.changes(), [['POST /v1/mesh/join', { url: 'https://10.90.0.1:8443', token }]])
  assert.match(page.text(), 'one two three')
  assert.is(changes(), 1)
})

box('changes its key, and says for whom the change waits', async () => {
  for (const [names, says] of [
    [[], 'The key'],
    [['hill'], 'hill'],
  ] as const) {
    const { page, changes } = await shown({ 'POST /v1/peers/rotate': { waiting_for: names } })
    await page.press('Change key')
    await page.press('Change key')
    assert.equal(page.changes(), [['POST /v1/peers/rotate', {}]])
    assert.is(page.dialog(), undefined)
    assert.match(page.text(), says)
    assert.is(changes(), 1)
  }
})

box.run()
