import { assert, suite } from '@steeple/testkit'
import { newsFrom } from '../../src/agent/answers.ts'

const answers = suite('mesh/answers')

const news = (more: object, overlay_address = '100.64.0.3') =>
  newsFrom({
    status: 200,
    body: {
      ...{ mesh: { name: 'm', root_node_id: 'r' }, subnet: '100.64.0.0/16', revision: 1, crl_pem: null },
      members: [{ node_id: 'n', name: 'n', overlay_address, joined_at: 't' }],
      ...more,
    },
  })

answers('takes the members and the network that a root may have', () => {
  assert.is(news({}).view.members.length, 1)
  // It was changed after members had joined.
  assert.is(news({ subnet: '10.9.0.0/24' }).view.subnet, '10.9.0.0/24')
})

answers('takes nothing of a root for an address or a network that is none', () => {
  for (const address of ['::1', '100.64.0.3/8', 'dev', '', '100.64.0.300'])
    assert.throws(() => news({}, address), /overlay/, address)
  for (const subnet of ['0.0.0.0/0', '0.0.0.0/1', '100.64.0.0', '::/0', '100.64.0.0/40', 'x', '1.2.3/8'])
    assert.throws(() => news({ subnet }), /overlay/, subnet)
})

answers('puts what changed into what is known, and believes no changes of another list', () => {
  const known = news({ revision: 4 }).view
  const other = { node_id: 'o', name: 'o', overlay_address: '100.64.0.4', joined_at: 't' }
  const told = (more: object) =>
    newsFrom(
      {
        status: 200,
        body: {
          ...{ mesh: { name: 'm', root_node_id: 'r' }, subnet: '100.64.0.0/16', revision: 5, crl_pem: null },
          ...{ members: [other], since: 4, gone: ['n'], list: 'x', ...more },
        },
      },
      known,
    )
  assert.equal(
    told({}).view.members.map(({ node_id }) => node_id),
    ['o'],
  )
  assert.equal(
    told({ gone: [] }).view.members.map(({ node_id }) => node_id),
    ['n', 'o'],
  )
  assert.is(told({}).listId, 'x')
  assert.equal(told({ since: null }).view.members, [other])
  for (const wrong of [{ since: 3 }, { gone: 'n' }, { since: 'all' }])
    assert.throws(() => told(wrong), /another list/, JSON.stringify(wrong))
})

answers.run()
