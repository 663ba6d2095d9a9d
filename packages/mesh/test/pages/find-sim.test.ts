import { h, inBrowser, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { FindSim } = await import('../../pages/find-sim.tsx')

/** The root looks for a SIM on all boxes. */
const find = suite('mesh/pages/find-sim')
inBrowser(find)

const members = {
  members: [
    { node_id: 'hill', address: '192.0.2.7:8443' },
    { node_id: 'vale', address: null },
  ],
}
const sim = (box: string, label: string | null) => ({
  ...{ node_id: box, box, imsi_sha256_12: '0123456789ab', label, state: 'suspended', iccid_last4: '1234' },
})

async function shown(answer: object) {
  const page = await show(() => h(FindSim, { members: members as never }), {
    'POST /v1/mesh/sims/find': answer,
  })
  await page.put('Name, number or card', 'harbour')
  await page.press('Find')
  return page
}

find('shows on which box it is, and which boxes did not answer', async () => {
  const silent = Array.from({ length: 7 }, (_, index) => ({
    node_id: `n${index}`,
    box: `n${index}`,
    problem: '',
  }))
  const page = await shown({
    ...{ sims: [sim('hill', 'harbour 1'), sim('vale', null)], is_more: false, asked: 10, unanswered: silent },
  })
  assert.equal(page.rows(), [
    ['harbour 1', 'hill', 'suspended', '…1234'],
    ['0123456789ab', 'vale', 'suspended', '…1234'],
  ])
  for (const says of ['2 SIMs found.', '7 boxes of 10 did not answer:', 'n0, n1, n2, n3, n4', 'and 2 others'])
    assert.match(page.text(), says)
})

find('says that nobody has it', async () => {
  const page = await shown({ sims: [], is_more: false, asked: 2, unanswered: [] })
  assert.match(page.text(), '0 SIMs found.')
  assert.not.match(page.text(), 'did not answer')
})

find.run()
