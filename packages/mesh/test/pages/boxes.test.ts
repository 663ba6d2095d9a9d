import { h, inBrowser, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Boxes } = await import('../../pages/boxes.tsx')

/** How the boxes of a mesh are, as its root shows them. */
const boxes = suite('mesh/pages/boxes')
inBrowser(boxes)

const member = (id: string, isRoot = false) => ({
  ...{ node_id: id, name: id, is_root: isRoot, overlay_address: '100.64.0.9', address: null },
  ...{ joined_at: '2026-01-01T00:00:00Z', wireguard: null },
})
const node = (id: string, more: object = {}) => ({
  ...{ node_id: id, name: id, degraded_reason: null, incidents: [], on_air: true, channel: 'lte 1575' },
  ...{ phones: 2, sims: 5, octets_today: 1_000_000, backlog: 0, version: '0.2.0', clock_offset_s: 0.1 },
  ...{ last_seen: '2026-01-01T00:00:00Z', ...more },
})
const OUTAGE = { kind: 'no_radio', severity: 'critical', title: 'No radio', since: '2026-01-01T00:00:00Z' }
const NODES = [
  node('root', { clock_offset_s: null }),
  node('hill', { incidents: [OUTAGE], phones: 0, clock_offset_s: -90 }),
  node('valley', { degraded_reason: 'no heartbeat' }),
  node('ship', { on_air: false, channel: null, phones: null }),
]

async function shown(nodes = NODES, nodeId = 'root') {
  const members = {
    mesh: { name: 'mast', root_node_id: 'root' },
    members: ['root', 'hill', 'valley', 'ship', 'new'].map((id) => member(id, id === 'root')),
  }
  const props = { members: members as never, nodeId, onChange: () => undefined }
  return await show(() => h(Boxes, props), { 'GET /v1/nodes': { nodes, next_cursor: null } })
}

boxes('tell what ails each, how many phones and SIMs it has, and how its clock goes', async () => {
  const page = await shown()
  const rows = new Map(page.rows().map((row) => [row[0]?.split(' ')[0], row]))
  assert.equal(rows.get('hill')?.slice(1, 7), ['No radio', 'lte 1575', '0', '5', '1 MB', '0'])
  assert.match(rows.get('hill')?.join(' ') ?? '', '90 s behind')
  assert.is(rows.get('valley')?.[1], 'silent')
  assert.equal(rows.get('ship')?.slice(1, 4), ['off the air', '–', '–'])
  assert.is(rows.get('new')?.[1], 'not heard yet')
  for (const says of [
    '1 box is silent',
    '1 box is not well',
    '1 box is on the air',
    '4 phones are on',
    '20 SIMs',
  ])
    assert.match(page.text(), says)
})

boxes('are found by name and by state, which stand in the address', async () => {
  const page = await shown()
  await page.put('Find a box', 'HIL')
  assert.equal(
    page.rows().map(([name]) => name),
    ['hill'],
  )
  assert.match(page.address(), 'box=HIL')
  await page.put('Find a box', '')
  await page.press('1 box is silent')
  assert.equal(
    page.rows().map(([name]) => name),
    ['valley'],
  )
  await page.put('State', '')
  assert.is(page.rows().length, 5)
})

boxes('are shown by name alone on a member, which hears of nobody', async () => {
  const page = await shown([node('hill')], 'hill')
  assert.is(page.rows().length, 5)
  assert.not.match(page.text(), 'Phones')
  assert.not(page.buttons().some((name) => name.startsWith('Remove')))
})

boxes.run()
